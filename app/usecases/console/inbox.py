"""What concerns one person: to decide, waiting for others, done, asked by them. Looking at it changes nothing.

What waits is sorted by risk, and then by the time that is left; what came last is not what matters most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.card.shown_call import ShownCall
from app.domain.people.people import email_key
from app.domain.request.request import Risk, State
from app.domain.words.say import say
from app.storage.requests.concerning import list_asked, list_decided, list_waiting
from app.usecases.cards.compose import around, terms_for, title_in
from app.usecases.console.glance import left_text, may_do, progress_text
from app.usecases.reading.review import may_look
from app.usecases.reading.warned import warned_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right

MOST_WAITING = 1_000
"""So many requests that wait are looked through, the next to expire first."""

MOST_SHOWN = 50
"""So many of a kind are shown; how many more there are is said."""

_RISKS = {Risk.HIGH: 0, Risk.NORMAL: 1, Risk.LOW: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """The lists, each in its order; and how many more there are to decide than are shown."""

    to_decide: tuple[Item, ...]
    others: tuple[Item, ...]
    done: tuple[Item, ...]
    asked: tuple[Item, ...]
    counted: int  # to decide, in all


class Inbox:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it reads."""
        self._store = store
        self._book = book

    async def __call__(self, right: Right, language: Language) -> Lists:
        """Return all that concerns the person of a session."""

        def unit(tx: Tx) -> Lists:
            policy = self._book.current(right.org).policy
            return _found(tx, policy, language, right.person)

        return await self._store.read(unit, org=right.org, long=True)


def _found(tx: Tx, policy: Policy, language: Language, person: str) -> Lists:
    now = tx.now()
    mine: list[ConfirmationRequest] = []
    others: list[ConfirmationRequest] = []
    for request in _by_weight(list_waiting(tx, most=MOST_WAITING)):
        if now >= request.expires_at or not may_look(request, policy, person, now=now):
            continue
        may = may_do(tx, request, policy, language, reader=person, now=now)
        asked = email_key(person) in {email_key(who) for who in (request.call.requester, request.call.owner) if who}
        if may.deny:
            mine.append(request)
        elif may.withdraw or not asked:
            others.append(request)

    def items(requests: Iterable[ConfirmationRequest], *, warned: bool = False) -> tuple[Item, ...]:
        return tuple(item_of(each, policy, language, now, warned=warned) for each in list(requests)[:MOST_SHOWN])

    return Lists(
        to_decide=items(mine, warned=True),
        others=items(others),
        done=items(list_decided(tx, person, most=MOST_SHOWN)),
        asked=items(list_asked(tx, person, most=MOST_SHOWN)),
        counted=len(mine),
    )


def _by_weight(requests: Iterable[ConfirmationRequest]) -> list[ConfirmationRequest]:
    return sorted(requests, key=lambda each: (_RISKS[each.risk], each.expires_at, each.id))


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
        amount=" · ".join(fact.value for fact in amounts),
        payee=", ".join(fact.value for fact in payees),
        title=title_in(around(request), policy.tools.get(request.call.tool), language),
        left=left_text(request.expires_at - now, language) if pending else "",
        stands=progress_text(request, policy, terms) if pending else headline,
        tone="waiting" if pending else _tone(request),
        high=request.risk is Risk.HIGH,
        warnings=len(warned_of(request, policy, None)) if warned else 0,
        level=request.assurance.value,
    )


def _tone(request: ConfirmationRequest) -> str:
    if request.state in {State.APPROVED, State.EXECUTING, State.SUCCEEDED}:
        return "good"
    return "bad" if request.state in {State.DENIED, State.FAILED, State.UNKNOWN} else "neutral"
