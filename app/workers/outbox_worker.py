"""Carry cards out: one loop a channel, so that a platform that hangs delays nobody else's cards.

A loop claims what is due, carries it out a few at a time, and sleeps until it is nudged by a commit, or for a while.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from app.storage.cards.outbox import claim_due

if TYPE_CHECKING:
    from app.storage.cards.outbox import OutboxRow
    from app.storage.engine.store import Store
    from app.telemetry.spans import Spans
    from app.usecases.cards.deliver import Deliver

log = structlog.get_logger(__name__)

_AT_ONCE = 4
LEASE = timedelta(seconds=30)
"""How long a worker may take for one row: longer than its turn and its call may last (`Pacing`, `app.bulkhead`)."""


class OutboxWorker:
    """The loop of one channel."""

    def __init__(
        self, *, store: Store, deliver: Deliver, org: str, channel: str, tick: timedelta, spans: Spans | None = None
    ) -> None:
        """Take what it works on; `spans` where the process traces."""
        self._spans = spans
        self._store = store
        self._deliver = deliver
        self._org = org
        self._channel = channel
        self._tick = tick.total_seconds()
        self._nudged = asyncio.Event()

    def nudge(self) -> None:
        """There may be something to do. Call it on the loop."""
        self._nudged.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._nudged.clear()
            while await self.round():
                pass
            with suppress(TimeoutError):
                # Not `wait_for`: before Python 3.12 it may swallow a cancellation that meets a nudge.
                async with asyncio.timeout(self._tick):
                    await self._nudged.wait()

    async def _carry(self, row: OutboxRow) -> None:
        with self._spans.delivering(row.channel, row.errand.value) if self._spans else nullcontext():
            await self._deliver(row)

    async def round(self) -> int:
        """Claim and carry out one handful; return how many there were."""
        rows = await self._store.write(
            lambda tx: claim_due(tx, channel=self._channel, most=_AT_ONCE, lease=LEASE), org=self._org
        )
        for failure in await asyncio.gather(*(self._carry(row) for row in rows), return_exceptions=True):
            if isinstance(failure, BaseException):  # the store is away: the leases run out, and the rows come again
                log.error("delivery.unremembered", channel=self._channel, error=type(failure).__name__)
        return len(rows)
