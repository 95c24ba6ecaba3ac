"""How the gateway does: what waits, what became of things these days, who decides how much; and what is paused."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.call.switch import PAUSE
from app.domain.card.card_for import instant_text
from app.domain.request.request import State
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.storage.searching.count_pulse import (
    count_states,
    count_undelivered,
    count_unknown,
    count_waiting,
    list_decided_in,
    list_votes_in,
)
from app.storage.sessions.switches import list_switches
from app.usecases.console.office.budgets_used import budgets_used
from app.usecases.console.office.timeline import short
from app.usecases.console.rights import Page
from app.usecases.console.sessions import pages_of, refusal_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.errors import AssentError
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.office.budgets_used import Use
    from app.usecases.console.sessions import Right

DAYS = 7
QUICK = timedelta(seconds=10)
OUTCOMES = ("waiting", "good", "bad", "neutral")
_KIND_OF: Mapping[State, str] = {
    State.PENDING: "waiting",
    State.APPROVED: "good",
    State.EXECUTING: "good",
    State.SUCCEEDED: "good",
    State.DENIED: "bad",
    State.FAILED: "bad",
    State.UNKNOWN: "bad",
    State.PENDING_ELSEWHERE: "waiting",
}


class Day(Struct, frozen=True, kw_only=True):
    """What became, until now, of what was asked on a day."""

    day: str
    counts: tuple[int, ...]  # in the order of `OUTCOMES`
    total: int


class Load(Struct, frozen=True, kw_only=True):
    """What one person voted on."""

    who: str
    name: str
    votes: int
    quick: int  # approvals faster than anybody reads


class Paused(Struct, frozen=True, kw_only=True):
    """One pause that is on."""

    what: str
    why: str
    by: str
    at: str


class PulsePage(Struct, frozen=True, kw_only=True):
    """The page. Every text is visible and in the reader's language."""

    waiting: int
    oldest: str
    unknown: int
    undelivered: int
    expired: int  # of what was asked today
    today: str
    days: tuple[Day, ...]
    decided: int
    half: str  # of the decisions came within this
    most: str  # nine of ten
    loads: tuple[Load, ...]
    budgets: tuple[Use, ...]  # none for whom amounts are not for
    budgets_cut: bool  # whether more was paid than was looked at
    pauses: tuple[Paused, ...]
    whole_paused: bool
    pages: frozenset[Page]
    read_at: str


class Pulse:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it reads."""
        self._store = store
        self._book = book

    async def show(self, right: Right, language: Language) -> PulsePage:
        """Return the page. Raises UnauthenticatedError and ForbiddenError."""
        policy = self._book.current(right.org).policy

        def unit(tx: Tx) -> PulsePage | AssentError:
            return refusal_for(tx, right, Page.PULSE) or _page(tx, right, policy, language)

        return await self._store.read(unit, org=right.org, long=True)

    async def may_pause(self, right: Right) -> None:
        """Raise ForbiddenError or UnauthenticatedError for whoever may not pause."""

        def unit(tx: Tx) -> bool | AssentError:
            return refusal_for(tx, right, Page.PAUSE) or True

        await self._store.read(unit, org=right.org)


def _page(tx: Tx, right: Right, policy: Policy, language: Language) -> PulsePage:
    now = tx.now()
    local = now.astimezone(policy.zone).date()
    edges = [
        datetime.combine(local - timedelta(days=back), time(), tzinfo=policy.zone) for back in range(DAYS - 1, -2, -1)
    ]
    by_day = [count_states(tx, since, until) for since, until in itertools.pairwise(edges)]
    waiting, oldest = count_waiting(tx)
    took, votes = sorted(list_decided_in(tx, edges[0])), list_votes_in(tx, edges[0])
    pages = pages_of(right)
    budgets, cut = budgets_used(tx, policy, language, now) if Page.TRAIL in pages else ((), False)
    pauses = [each for each in list_switches(tx) if each.is_on and each.name == PAUSE]
    return PulsePage(
        waiting=waiting,
        oldest=short(now - oldest, language) if oldest else "",
        unknown=count_unknown(tx),
        undelivered=count_undelivered(tx),
        expired=by_day[-1].get(State.EXPIRED.value, 0),
        today=local.isoformat(),
        days=tuple(_day(edge, counts) for edge, counts in zip(edges[:-1], by_day, strict=True)),
        decided=len(took),
        half=short(_within(took, 0.5), language) if took else "",
        most=short(_within(took, 0.9), language) if took else "",
        loads=tuple(_loads(votes, policy)),
        budgets=budgets,
        budgets_cut=cut,
        pauses=tuple(
            Paused(
                what=visible(" · ".join(filter(None, (each.agent, each.tool)))),
                why=visible(each.reason or ""),
                by=visible(each.set_by),
                at=instant_text(each.set_at, policy.zone),
            )
            for each in pauses
        ),
        whole_paused=any(not each.agent and not each.tool for each in pauses),
        pages=pages,
        read_at=instant_text(now, policy.zone),
    )


def _day(edge: datetime, states: Mapping[str, int]) -> Day:
    kinds: Counter[str] = Counter()
    for state, count in states.items():
        kinds[_KIND_OF.get(State(state), "neutral")] += count
    return Day(day=edge.date().isoformat(), counts=tuple(kinds[each] for each in OUTCOMES), total=kinds.total())


def _within(took: Sequence[timedelta], share: float) -> timedelta:
    """Return the time within which a share of them came: the smallest that is true."""
    return took[math.ceil(share * len(took)) - 1]


def _loads(votes: Sequence[tuple[str, str, timedelta]], policy: Policy) -> list[Load]:
    counted = Counter(who for who, _, _ in votes)
    quick = Counter(who for who, verdict, after in votes if verdict == "approve" and after < QUICK)
    return [
        Load(who=visible(who), name=visible(name_of(policy, who)), votes=count, quick=quick[who])
        for who, count in sorted(counted.items(), key=lambda each: (-each[1], each[0]))
    ]
