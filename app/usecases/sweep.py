"""Do what the clock has made due: expire, lapse, give executions up as unknown, post ageing cards anew, forget.

The rows say what is due; nothing is kept in memory, so a process that was down catches up at once. Each row goes
through its state machine under its own lock: a sweep that comes late, twice, or beside another one changes nothing it
should not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.execution import lapse, lose
from app.domain.lifecycle import DeadlinePassed, Step, advance
from app.storage import due
from app.storage.deliveries import find_delivery, revise
from app.storage.outbox import Errand, enqueue
from app.storage.requests import lock_request
from app.storage.transaction import EVERY_ORG
from app.usecases.carry_out import carry_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.request import ConfirmationRequest
    from app.storage.store import Store
    from app.storage.transaction import Tx

_MOST = 500
"""Rows of a kind that one round looks at; the next round takes the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many rows one round settled."""

    expired: int
    lapsed: int
    lost: int
    reposted: int
    more: bool  # as many were due as one round looks at: there may be more

    @property
    def total(self) -> int:
        """All of them."""
        return self.expired + self.lapsed + self.lost + self.reposted


class Sweep:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(self) -> Swept:
        """Do one round."""
        expiring, lapsing, silent, ageing = await self._store.read(_list_due, org=EVERY_ORG, long=True)
        return Swept(
            expired=await self._settle(expiring, lambda request, now: advance(request, DeadlinePassed(), now=now)),
            lapsed=await self._settle(lapsing, lambda request, now: lapse(request, now=now)),
            lost=await self._settle(silent, lambda request, now: lose(request, now=now)),
            reposted=await self._repost(ageing),
            more=any(len(rows) == _MOST for rows in (expiring, lapsing, silent, ageing)),
        )

    async def forget(self) -> int:
        """Drop what need not be remembered any longer."""
        return await self._store.write(lambda tx: due.forget(tx, tx.now()), org=EVERY_ORG)

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

        return await self._each(rows, unit_for)

    async def _repost(self, rows: due.Due) -> int:
        def unit_for(delivery_id: str) -> Callable[[Tx], int]:
            def unit(tx: Tx) -> int:
                delivery = find_delivery(tx, delivery_id)
                if delivery is None or not revise(tx, delivery, handle=tx.ids.new("h").removeprefix("h_")):
                    return 0
                enqueue(tx, Errand.POST, delivery.id, delivery.channel)
                return 1

            return unit

        return await self._each(rows, unit_for)

    async def _each(self, rows: due.Due, unit_for: Callable[[str], Callable[[Tx], int]]) -> int:
        """Run a unit a row; handed in together, they share commits."""
        return sum(await asyncio.gather(*(self._store.write(unit_for(row), org=org, about=row) for org, row in rows)))


def _list_due(tx: Tx) -> tuple[due.Due, due.Due, due.Due, due.Due]:
    now = tx.now()
    return (
        due.list_expiring(tx, now, _MOST),
        due.list_lapsing(tx, now, _MOST),
        due.list_silent(tx, now, _MOST),
        due.list_ageing(tx, now, _MOST),
    )
