"""A card without the call: for a platform that refuses what the whole one says.

A company's data-loss prevention, or a platform's list of words, looks at what a card says. So nothing stays that came
from the agent, from its arguments, or from what people wrote; names go too, for an e-mail address is often refused.
What stays is the gateway's own: that somebody is asked, about which of the file's tools, until when, and the way to the
whole. As on every card that does not show the call whole, there is no Approve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.card.budget import withheld
from app.domain.words.say import say

if TYPE_CHECKING:
    from app.domain.card.card import Card, Control


def bare(card: Card, *, tool: str | None, review: str) -> Card:
    """Return the card without a word of its call.

    `tool` is its name as the file has it, None where it is the agent's own word. `review` says where the call is seen
    whole.
    """
    language = card.language
    emptied = replace(
        card,
        title=say(language, "bare.title", tool=tool) if tool else say(language, "bare.title.unnamed"),
        tool=tool or say(language, "bare.tool"),
        highlights=(),
        warnings=(),  # what it is warned of, by kind, still stands in the line that a phone shows
        facts=(),
        arguments=(),
        hidden=None,
        agent_says=None,
        outcome=None,
        progress=None,
        withheld=None,
        changes=(),
        dialogue=(),
        details=(),
        controls=tuple(_unquoting(each) for each in card.controls),
        buttons=replace(card.buttons, typed=None, confirm_text="") if card.buttons else None,
    )
    # With Approve goes the form in which arguments are changed: it is filled with them beforehand.
    return withheld(emptied, say(language, "bare.withheld" if card.buttons else "bare.elsewhere", review=review))


def _unquoting(control: Control) -> Control:
    """Take out of a form what it quotes, such as the question that it answers."""
    return replace(control, form=replace(control.form, note="")) if control.form else control
