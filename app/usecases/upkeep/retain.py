"""Remove what is over and older than the file's `retention` says: in small transactions, for a bounded time a round.

Each transaction removes a few rows and says so in the trail, so that nobody who finds them gone later need guess. A
round gives the writing lane away for as long as it has just used it; what it has not come to, the next one finds.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct
from msgspec.structs import replace

from app.domain.trail.audit import Kind, Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime

    from app.domain.trail.retention import Retention
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.retention.removals import Removed, Seen

log = structlog.get_logger(__name__)

_LONGEST = 20.0
"""Seconds that one org's round may take."""


class Retained(Struct, frozen=True, kw_only=True):
    """What one round removed."""

    requests: int = 0
    deliveries: int = 0
    outbox: int = 0
    more: bool = False  # its time was over before it had come to the end

    def with_more(self, one: Removed) -> Retained:
        """Add what one transaction removed."""
        return replace(
            self,
            requests=self.requests + len(one.requests),
            deliveries=self.deliveries + one.deliveries,
            outbox=self.outbox + one.outbox,
        )


class Retain:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        counted: Callable[[str, Mapping[str, int], bool], None],
        longest: float = _LONGEST,
    ) -> None:
        """Take what it works on; `counted` hears what each org's round removed, and if more is left."""
        self._store = store
        self._book = book
        self._counted = counted
        self._longest = longest

    async def __call__(self) -> None:
        """Do one round for every org that keeps something for a time only."""
        for org in self._book.orgs():
            retention = self._book.current(org).policy.retention
            done = await self._round(org, retention)
            removed = {"requests": done.requests, "deliveries": done.deliveries, "outbox": done.outbox}
            self._counted(org, removed, done.more)
            if any(removed.values()) or done.more:
                log.info("retention.done", org=org, **removed, more=done.more)

    async def _round(self, org: str, retention: Retention) -> Retained:
        done = Retained()
        clock = asyncio.get_running_loop()
        began = clock.time()
        async for one in self._removing(org, retention):
            done = done.with_more(one)
            if clock.time() - began >= self._longest:
                return replace(done, more=True)
        return done

    async def _removing(self, org: str, retention: Retention) -> AsyncIterator[Removed]:
        """Remove, one transaction after the other, with a pause as long as each of them took."""
        clock = asyncio.get_running_loop()

        async def write(before: datetime, remove: Callable[[Tx], Removed]) -> Removed:
            began = clock.time()
            removed = await self._store.write(lambda tx: _said(tx, remove(tx), before), org=org)
            await asyncio.sleep(clock.time() - began)
            return removed

        if retention.requests is retention.deliveries is retention.outbox is None:
            return
        from app.storage.retention import removals  # no start waits for its statements, which are long

        now = await self._store.read(lambda tx: tx.now(), org=org, long=True)
        if retention.outbox is not None:
            before = now - retention.outbox
            removed = removals.Removed(outbox=removals.MOST_ERRANDS)
            while removed.outbox == removals.MOST_ERRANDS:
                yield (removed := await write(before, lambda tx, at=before: removals.remove_errands(tx, before=at)))
        for kept, listed, remove in (
            (retention.deliveries, removals.list_shown, removals.remove_shown),
            (retention.requests, removals.list_over, removals.remove_requests),
        ):
            if kept is None:
                continue
            before = now - kept
            behind, full = removals.BEGINNING, True
            while full:
                found: list[Seen] = await self._store.read(
                    lambda tx, at=before, seen=behind, listed=listed: listed(tx, before=at, behind=seen),
                    org=org,
                    long=True,
                )
                full = len(found) == removals.MOST
                if not found:
                    break
                behind = found[-1]
                yield await write(before, lambda tx, page=found, at=before, remove=remove: remove(tx, page, before=at))


def _said(tx: Tx, removed: Removed, before: datetime) -> Removed:
    """Say in the trail what was removed; the requests by name, so that nobody else can have removed another one."""
    if removed.requests or removed.deliveries or removed.outbox:
        facts: dict[str, object] = {
            "until": before.isoformat(),
            "requests": len(removed.requests),
            "deliveries": removed.deliveries,
            "outbox": removed.outbox,
            "ids": list(removed.requests),
        }
        tx.append(Record(kind=Kind.ROWS_REMOVED, actor="system", facts=facts))
    return removed
