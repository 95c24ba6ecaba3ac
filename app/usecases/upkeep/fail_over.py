"""Go on after a failover: another server answers, and it may lack what the one before had answered as committed.

Looked at in the first transaction of each new connection that writes, before anything else in it. What is lost of this
gateway's own commits is named in the trail and in the log, and the past is fenced off as after a restore: a new epoch
begins, in that very transaction, and nothing that was asked before is ever handed out. Another gateway may have lost
what this one cannot know of; so a promotion alone does the same, unless the standby is synchronous: then a new epoch
begins that fences nothing off, by which executors tell the old primary's grants from the new one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.domain.errors import UnavailableError
from app.domain.trail.audit import Kind, Record
from app.storage.engine.transaction import EVERY_ORG
from app.storage.sessions.switches import list_orgs
from app.storage.trail.restores import begin_epoch, find_newest_open, get_epoch, list_restores
from app.storage.trail.servers import Missing, is_declared, list_missing, list_timelines, put_server
from app.usecases.upkeep.restored import DeclareRestored, fence_org

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.storage.engine.line import Server
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Pending, Tx

log = structlog.get_logger(__name__)

SYSTEM = "system"
_MOST_NAMED = 100
"""Requests that the trail and the log name of those that were lost."""


class FailOver:
    """The use case."""

    def __init__(self, *, store: Store, is_synchronous: bool) -> None:
        """Take what it works on, and whether a COMMIT is answered only once the standby has it."""
        self._store = store
        self._is_synchronous = is_synchronous
        self._declare = DeclareRestored(store=store)
        self._is_clear = False
        store.succession.resume = self.resume

    def resume(self, tx: Tx) -> None:
        """Look at the database through a new connection, in the scope of all orgs; runs on the store's thread."""
        epoch = get_epoch(tx)
        server = self._store.succession.server
        moved = server is not None and _is_new(tx, server, epoch)
        lost = list_missing(tx, self._store.tails())
        if lost:
            tx.forked()
        for each in lost:
            tx.of(each.org).append(Record(kind=Kind.COMMITS_LOST, actor=SYSTEM, facts=_facts(each)))
        if not all(is_declared(tx, each) for each in lost) or (moved and not self._is_synchronous):
            _fence(tx, epoch + 1, server if moved else None)
        elif moved and server is not None:
            for org in list_orgs(tx):
                facts = {"epoch": epoch + 1, "timeline": server.timeline}
                tx.of(org).append(Record(kind=Kind.FAILED_OVER, actor=SYSTEM, facts=facts))
        if moved and server is not None:
            put_server(tx, server, epoch=epoch + 1)

    def alarm_of(self, records: Mapping[str, Iterable[Pending]]) -> None:
        """Raise the alarm about what a commit says of a failover, in the trail of each org."""
        for org, pending in records.items():
            for item in pending:
                self._alarm(org, item.record)

    def _alarm(self, org: str, record: Record) -> None:
        if record.kind is Kind.RESTORED:
            self._is_clear = False
            log.critical("database.fenced", org=org, **record.facts)
        elif record.kind is Kind.COMMITS_LOST:
            log.critical("database.commits_lost", org=org, **record.facts)
        elif record.kind is Kind.FAILED_OVER:
            log.warning("database.failed_over", org=org, **record.facts)

    async def clear(self) -> None:
        """Clear up behind the newest fence, if a gateway has put it there: after a start, and whenever one was put."""
        if self._is_clear:
            return
        self._is_clear = True
        try:
            fences = await self._store.read(list_restores, org=EVERY_ORG, long=True)
            if not fences or fences[-1].by != SYSTEM:
                return
            for org in await self._store.read(list_orgs, org=EVERY_ORG, long=True):
                await self._declare.clear(org, fences[-1].epoch, fences[-1].at, (-1, ""), 0)
        except UnavailableError:
            self._is_clear = False  # there is a next time


def _is_new(tx: Tx, server: Server, epoch: int) -> bool:
    """Whether the database was on this system before, and never on this server. The first one is noted in passing."""
    known = list_timelines(tx, server.system)
    if not known:
        put_server(tx, server, epoch=epoch)
    return bool(known) and server.timeline not in known


def _fence(tx: Tx, epoch: int, server: Server | None) -> None:
    """Begin an epoch. `server` is the one that took over, where it is known that one did."""
    reason = (
        f"a standby of the database took over (timeline {server.timeline})"
        if server
        else "the database lacks what it had committed: a standby took over, or a backup was put back"
    )
    after = find_newest_open(tx)
    begin_epoch(tx, epoch, by=SYSTEM, reason=reason, after=after)
    for org in list_orgs(tx):
        fence_org(tx.of(org), epoch, by=SYSTEM, reason=reason, after=after)


def _facts(missing: Missing) -> dict[str, object]:
    return {
        "first": missing.links[0].seq,
        "last": missing.links[-1].seq,
        "events": len(missing.links),
        "requests": missing.requests[:_MOST_NAMED],
    }
