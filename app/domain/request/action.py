"""What a control on a card asks for. The letter of each is sealed into its token."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """Everything that a person can do from a card."""

    APPROVE = "approve"
    DENY = "deny"
    WITHDRAW = "withdraw"  # one's own vote, while the request waits
    EDIT = "edit"  # approve with changes
    HAND_OVER = "hand_over"  # 转交: somebody else decides in my place
    ADD = "add"  # 加签: somebody else must agree as well
    ASK = "ask"  # a question to the agent and the requester
    ANSWER = "answer"  # the requester's answer to the open question
    REMIND = "remind"  # 催办: those who have not decided yet hear of it again
    EXTEND = "extend"  # more time
    REOPEN = "reopen"  # ask again for what expired
    REVIEW = "review"  # the way to the page that shows all of it
    MORE = "more"  # a private copy of the card that has all the other controls


LETTERS = {
    Action.APPROVE: "y",
    Action.DENY: "n",
    Action.WITHDRAW: "w",
    Action.EDIT: "e",
    Action.HAND_OVER: "h",
    Action.ADD: "a",
    Action.ASK: "q",
    Action.ANSWER: "s",
    Action.REMIND: "r",
    Action.EXTEND: "x",
    Action.REOPEN: "o",
    Action.REVIEW: "v",
    Action.MORE: "m",
}
"""How an action is written in a token."""

ACTIONS = {letter: action for action, letter in LETTERS.items()}
