"""A request as a row of a list, and which rows stand together, or may be approved together. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.shown_call import ShownCall
from app.domain.people.assurance import Assurance
from app.domain.request.request import Risk, State
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.cards.compose import around, terms_for, title_in
from app.usecases.console.glance import left_text, progress_text
from app.usecases.reading.warned import warned_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.call.switch import Switch
    from app.domain.card.card import Fact
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language

MOST_TOGETHER = 240
"""Characters of a call that a row shows whole. What is longer is read, and approved, on a page of its own."""

_LONGEST = 90


class Item(Struct, frozen=True, kw_only=True):
    """One request in a list. Every text is visible, masked and in the reader's language."""

    id: str
    amount: str
    payee: str
    title: str
    left: str  # "27 min left"; "" once it is settled
    stands: str  # how it stands, or how many have approved
    tone: str
    high: bool
    warnings: int
    level: str
    agent: str
    facts: tuple[Fact, ...] = ()  # the whole call, where the row is all that is read of it
    press: str = ""  # what approves it from the list, together with others
    why_not: str = ""  # why its reader can only deny it
    asks: str = ""  # that a question waits for its reader's answer


class Group(Struct, frozen=True, kw_only=True):
    """Rows that stand together: like requests, as they share a message in a chat; most stand alone."""

    items: tuple[Item, ...]


def item_of(
    request: ConfirmationRequest, policy: Policy, language: Language, now: datetime, *, warned: bool = False
) -> Item:
    """Return a request as a row of a list."""
    terms = terms_for(request, policy, language)
    amounts, payees = ShownCall(request, terms).large()
    pending = request.state is State.PENDING
    headline = say(language, f"headline.{request.state.value}")
    return Item(
        id=request.id,
        amount=_short(" · ".join(fact.value for fact in amounts)),
        payee=_short(", ".join(fact.value for fact in payees)),
        title=_short(title_in(around(request), policy.tools.get(request.call.tool), language)),
        left=left_text(request.expires_at - now, language) if pending else "",
        stands=_short(progress_text(request, policy, terms)) if pending else headline,
        tone="waiting" if pending else _tone(request),
        high=request.risk is Risk.HIGH,
        warnings=len(warned_of(request, policy, None)) if warned else 0,
        level=request.assurance.value,
        agent=_short(visible(request.call.agent)),
    )


def facts_together(
    request: ConfirmationRequest, policy: Policy, language: Language, pause: Switch | None
) -> tuple[Fact, ...]:
    """Return all of a call that may be approved in a list beside others; none: it wants a page of its own.

    It wants one wherever a card would look different: a level above L1, a warning, a high risk, a question or a change
    of somebody; and where not all of it can be read at a glance.
    """
    plain = request.assurance is Assurance.L1 and request.risk is not Risk.HIGH and request.state is State.PENDING
    if not plain or request.questions or request.proposed is not None or warned_of(request, policy, pause):
        return ()
    shown = ShownCall(request, terms_for(request, policy, language))
    whole = tuple(dict.fromkeys((*shown.highlights(), *shown.pinned(), *shown.rest())))
    long = sum(len(fact.label) + len(fact.value) for fact in whole) > MOST_TOGETHER
    return () if long or shown.unseen() or shown.count_hidden() else whole


def groups_of(found: Sequence[tuple[ConfirmationRequest, Item]], policy: Policy) -> tuple[Group, ...]:
    """Put like requests beside the first of them, by what makes them share a message in a chat."""
    groups: list[list[tuple[ConfirmationRequest, Item]]] = []
    open_to: dict[object, list[tuple[ConfirmationRequest, Item]]] = {}
    span = policy.attention.group or timedelta(0)
    for request, item in found:
        kind = _kind(request, policy)
        mates: list[tuple[ConfirmationRequest, Item]] | None = open_to.get(kind) if kind is not None else None
        if mates is None or abs(request.created_at - mates[0][0].created_at) > span:
            mates = []
            groups.append(mates)
            open_to[kind] = mates
        mates.append((request, item))
    return tuple(Group(items=tuple(item for _, item in mates)) for mates in groups)


def _kind(request: ConfirmationRequest, policy: Policy) -> tuple[object, ...] | None:
    """Name what requests are alike in that share a message. None: this one shares none."""
    call = request.call
    if policy.attention.group is None or request.risk is Risk.HIGH or call.session is None:
        return None
    return (call.agent, call.session, call.tool, request.rule_id, request.stages)


def _tone(request: ConfirmationRequest) -> str:
    if request.state in {State.APPROVED, State.EXECUTING, State.SUCCEEDED}:
        return "good"
    return "bad" if request.state in {State.DENIED, State.FAILED, State.UNKNOWN} else "neutral"


def _short(text: str) -> str:
    """Return what a row has room for; all of it stands on the request's own page."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
