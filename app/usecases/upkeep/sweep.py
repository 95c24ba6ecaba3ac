"""Do what the clock has made due: expire, remind, escalate, lapse, give executions up as unknown, post cards anew.

The rows say what is due; nothing of it is kept in memory, so a process that was down catches up at once. Each row goes
through its state machine under its own lock: a sweep that comes late, twice, or beside another one changes nothing it
should not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from app.domain.lifecycle.consultations import TimersDue
from app.domain.lifecycle.execution import lapse, lose
from app.domain.lifecycle.lifecycle import DeadlinePassed, Step, advance
from app.domain.people.people import email_key
from app.domain.request.request import DeliveryStatus
from app.domain.trail.audit import Kind, Record
from app.storage.cards.deliveries import find_delivery
from app.storage.cards.turns import TURN_RETENTION, forget_turns
from app.storage.cards.undelivered import list_late, mark_late
from app.storage.engine.transaction import EVERY_ORG
from app.storage.requests import due
from app.storage.requests.requests import lock_request
from app.usecases.cards.bundle import post_anew
from app.usecases.cards.next_way import NextWays
from app.usecases.voters.electorate import voters_of
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook

_MOST = 500
"""Rows of a kind that one round looks at; the next round takes the rest."""

_LISTS: Final[tuple[Callable[[Tx, datetime, int, datetime], due.Due], ...]] = (
    lambda tx, now, most, _: due.list_expiring(tx, now, most),
    lambda tx, now, most, _: due.list_lapsing(tx, now, most),
    lambda tx, now, most, _: due.list_silent(tx, now, most),
    lambda tx, now, most, _: due.list_ageing(tx, now, most),
    lambda tx, now, most, _: due.list_timers_due(tx, now, most),
    lambda tx, now, most, awake: list_late(tx, now, most, awake=awake),
)
"""Each a unit of its own, and together one transaction: a row that one of them cannot read stops none of the others."""


class Swept(Struct, frozen=True, kw_only=True):
    """How many rows one round settled."""

    expired: int
    lapsed: int
    lost: int
    reposted: int
    rung: int  # reminders and escalations
    late: int  # cards that should have arrived by now
    more: bool  # as many were due as one round looks at: there may be more

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        """Return how many rows of each kind."""
        return {
            "expired": self.expired,
            "lapsed": self.lapsed,
            "lost": self.lost,
            "reposted": self.reposted,
            "rung": self.rung,
            "late": self.late,
        }


class Sweep:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, channels: ChannelBook) -> None:
        """Take what it works on."""
        self._store = store
        self._ways = NextWays(book=book, channels=channels)
        self._awake: datetime | None = None  # by the store's clock, since the first round

    async def __call__(self) -> Swept:
        """Do one round. Raises what went wrong with one row after all others were looked at."""
        listed = await asyncio.gather(
            *(self._store.read(self._due(each), org=EVERY_ORG, long=True) for each in _LISTS), return_exceptions=True
        )
        rows = [[] if isinstance(each, BaseException) else each for each in listed]
        expiring, lapsing, silent, ageing, ringing, late = rows
        done = await asyncio.gather(
            self._settle(expiring, lambda request, now: advance(request, DeadlinePassed(), now=now)),
            self._settle(lapsing, lambda request, now: lapse(request, now=now)),
            self._settle(silent, lambda request, now: lose(request, now=now)),
            self._repost(ageing),
            self._ring(ringing),
            self._late(late),
            return_exceptions=True,
        )
        counts = [each for each in done if not isinstance(each, BaseException)]
        for each in (*listed, *done):
            if isinstance(each, BaseException):
                raise each
        expired, lapsed, lost, reposted, rung, missed = counts
        more = any(len(each) == _MOST for each in rows)
        return Swept(expired=expired, lapsed=lapsed, lost=lost, reposted=reposted, rung=rung, late=missed, more=more)

    async def forget(self) -> int:
        """Drop what need not be remembered any longer."""

        def unit(tx: Tx) -> int:
            return due.forget(tx, tx.now()) + forget_turns(tx, before=tx.now() - TURN_RETENTION)

        return await self._store.write(unit, org=EVERY_ORG)

    def _due(self, listing: Callable[[Tx, datetime, int, datetime], due.Due]) -> Callable[[Tx], due.Due]:
        def unit(tx: Tx) -> due.Due:
            now = tx.now()
            self._awake = awake = min(self._awake or now, now)  # a clock may be set back
            return listing(tx, now, _MOST, awake)

        return unit

    async def _settle(self, rows: due.Due, step: Callable[[ConfirmationRequest, datetime], Step]) -> int:
        def unit_for(request_id: str) -> Callable[[Tx], int]:
            def unit(tx: Tx) -> int:
                locked = lock_request(tx, request_id)
                if locked is None:
                    return 0
                request, now = locked
                next_step = step(request, now)
                carry_out(tx, request, next_step)
                return int(next_step.refusal is None)

            return unit

        return sum(await self._each(rows, unit_for))

    async def _ring(self, rows: due.Due) -> int:
        """Do what is due of each request, one timer a commit: whom an escalation brings in is asked before the next."""
        rung = 0
        while rows:
            done = await self._each(rows, self._ring_one)
            rung += sum(done)
            rows = [row for row, counted in zip(rows, done, strict=True) if counted]
        return rung

    def _ring_one(self, request_id: str) -> Callable[[Tx], int]:
        def unit(tx: Tx) -> int:
            locked = lock_request(tx, request_id)
            if locked is None:
                return 0
            request, now = locked
            policy = self._ways.policy(tx.org)
            event = TimersDue(voters=voters_of(request, policy, now=now), people=_brought_in(request, policy))
            step = advance(request, event, now=now)
            carry_out(tx, request, step, chats=self._ways.chats(tx.org))
            return int(step.refusal is None)

        return unit

    async def _late(self, rows: due.Due) -> int:
        return sum(await self._each(rows, self._miss))

    def _miss(self, delivery_id: str) -> Callable[[Tx], int]:
        """Open another way for a card that has not arrived in time; it is still tried."""

        def unit(tx: Tx) -> int:
            delivery = find_delivery(tx, delivery_id)
            locked = lock_request(tx, delivery.request_id) if delivery else None
            if delivery is None or locked is None or delivery.status is not DeliveryStatus.QUEUED:
                return 0
            why = mark_late(tx, delivery_id)
            if why is None:
                return 0
            facts = {"channel": delivery.channel, "delivery": delivery_id, "why": why}
            if delivery.person is not None:
                facts["person"] = delivery.person
            tx.append(Record(kind=Kind.CARD_LATE, actor="system", facts=facts), request_id=delivery.request_id)
            self._ways.open_next(tx, *locked, ending=False)
            return 1

        return unit

    async def _repost(self, rows: due.Due) -> int:
        def unit_for(delivery_id: str) -> Callable[[Tx], int]:
            def unit(tx: Tx) -> int:
                delivery = find_delivery(tx, delivery_id)
                if delivery is None or delivery.status is not DeliveryStatus.LIVE:
                    return 0  # it went with another, in whose message it is shown
                return int(post_anew(tx, delivery))

            return unit

        return sum(await self._each(rows, unit_for))

    async def _each(self, rows: due.Due, unit_for: Callable[[str], Callable[[Tx], int]]) -> list[int]:
        """Run a unit a row; handed in together, they share commits. Raises the first failure, once all were run."""
        done = await asyncio.gather(
            *(self._store.write(unit_for(row), org=org, about=row) for org, row in rows), return_exceptions=True
        )
        for each in done:
            if isinstance(each, BaseException):
                raise each
        return [each for each in done if not isinstance(each, BaseException)]


def _brought_in(request: ConfirmationRequest, policy: Policy) -> dict[str, frozenset[str]]:
    """Return whom the names of an escalation stand for today, without those who may decide nothing here."""
    names = {name for timer in request.timers for name in timer.to}
    return {
        name: frozenset(who for who in policy.directory.members(name) if email_key(who) not in request.barred)
        for name in names
    }
