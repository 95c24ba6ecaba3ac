"""What people can do about a request: each verb is one row, which cards, clicks, routes and commands go by.

To add one: its row here, what it does (a function of `lifecycle.wishes`), its words (`control.<action>` and the rest
that its row names), its test.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from app.domain.trail.audit import Kind


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


class Who(StrEnum):
    """Who may do something about a request. Whether this person may is looked up when they do it."""

    APPROVER = "approver"  # whoever may decide it
    REQUESTER = "requester"
    AGENT = "agent"
    ADMIN = "admin"


class Blank(StrEnum):
    """What is filled in before something is done, as the field of a card's form is called."""

    PERSON = "person"
    NOTE = "note"  # may stay empty
    TEXT = "text"


class Verb(Struct, frozen=True, kw_only=True):
    """One row: what is said once of something that people can do about a request."""

    action: Action
    letter: str  # its name in the token of a control
    who: tuple[Who, ...]
    kinds: tuple[Kind, ...] = ()  # what the trail says once it is done; none: it changes nothing
    blanks: tuple[Blank, ...] = ()
    done: str = ""  # `consult` carries it out, and a click is answered with `click.<done>`
    always: bool = False  # every card of those people offers it while the request waits
    route: str = ""  # under /v1/requests/{request_id}/
    command: str = ""  # of `assent requests`
    does: str = ""  # what the API's description says, and the command's own help where it is `plain`

    @property
    def plain(self) -> bool:
        """Whether it takes a text at most, so that its command is made of this row."""
        return bool(self.done and self.does) and self.blanks in {(), (Blank.TEXT,)}


VERBS = (
    Verb(
        action=Action.APPROVE,
        letter="y",
        who=(Who.APPROVER,),
        kinds=(Kind.VOTE, Kind.APPROVED),
        route="decisions",
        command="approve",
    ),
    Verb(
        action=Action.DENY,
        letter="n",
        who=(Who.APPROVER,),
        kinds=(Kind.VOTE, Kind.DENIED),
        route="decisions",
        command="deny",
    ),
    Verb(
        action=Action.WITHDRAW,
        letter="w",
        who=(Who.APPROVER,),
        kinds=(Kind.VOTE,),
        route="decisions",
        command="withdraw",
    ),
    Verb(
        action=Action.EDIT,
        letter="e",
        who=(Who.APPROVER,),
        kinds=(Kind.EDITED,),
        always=True,
        route="decisions",
        command="approve",  # with --set
    ),
    Verb(
        action=Action.ASK,
        letter="q",
        who=(Who.APPROVER,),
        kinds=(Kind.ASKED_BACK,),
        blanks=(Blank.TEXT,),
        done="asked",
        always=True,
        route="questions",
        command="ask",
        does="Ask the agent and the requester; the answer stands on the cards and in the request.",
    ),
    Verb(
        action=Action.HAND_OVER,
        letter="h",
        who=(Who.APPROVER,),
        kinds=(Kind.HANDED_OVER,),
        blanks=(Blank.PERSON, Blank.NOTE),
        done="handed_over",
        always=True,
        route="handover",
        command="hand-over",
        does="Hand one's own place over: that person decides, and one's own vote is taken back.",
    ),
    Verb(
        action=Action.ADD,
        letter="a",
        who=(Who.APPROVER,),
        kinds=(Kind.APPROVER_ADDED,),
        blanks=(Blank.PERSON, Blank.NOTE),
        done="added",
        always=True,
        route="approvers",
        command="add",
        does="Add a person who must approve as well, in the step that is asked now.",
    ),
    Verb(
        action=Action.REMIND,
        letter="r",
        who=(Who.AGENT, Who.REQUESTER, Who.APPROVER, Who.ADMIN),
        kinds=(Kind.REMINDED,),
        done="reminded",
        always=True,
        route="remind",
        command="remind",
        does="Remind those who have not decided yet; five minutes at least lie between two reminders.",
    ),
    Verb(
        action=Action.EXTEND,
        letter="x",
        who=(Who.REQUESTER, Who.APPROVER, Who.ADMIN),
        kinds=(Kind.EXTENDED,),
        always=True,
        route="extend",
        command="extend",
    ),
    Verb(
        action=Action.ANSWER,
        letter="s",
        who=(Who.AGENT, Who.REQUESTER),
        kinds=(Kind.ANSWERED,),
        blanks=(Blank.TEXT,),
        done="answered",
        route="questions/{question_id}/answer",
        command="answer",
    ),
    Verb(
        action=Action.REOPEN,
        letter="o",
        who=(Who.REQUESTER, Who.APPROVER),
        kinds=(Kind.REOPENED,),
        route="reopen",
        command="reopen",
    ),
    Verb(
        action=Action.REVIEW,
        letter="v",
        who=(Who.REQUESTER, Who.APPROVER),
        route="review-link",
        command="review",
    ),
    Verb(action=Action.MORE, letter="m", who=(Who.APPROVER,)),
)
"""Every verb, in the order in which a card offers them."""

VERB_OF = {verb.action: verb for verb in VERBS}

ACTIONS = {verb.letter: verb.action for verb in VERBS}
"""Which action a letter of a token stands for."""
