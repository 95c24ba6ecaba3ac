"""Declare that the database was restored from a backup: fence off everything that it says of the past.

One commit begins the new epoch; from then on nothing that was asked before can be claimed, on any replica. The rest is
clearing up, in batches, and may be stopped and run again: requests are cancelled, approvals taken back, executions made
unknown, cards refreshed, repeated calls let ask anew, standing approvals and broken glass ended.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.lifecycle.restored import RESTORED, fence
from app.domain.people.people import email_key
from app.domain.request.request import ExecutionStatus, Status
from app.domain.trail.audit import Kind, Record
from app.storage.engine.transaction import EVERY_ORG
from app.storage.identity.api_keys import list_keys
from app.storage.requests.requests import lock_request
from app.storage.sessions.switches import list_orgs
from app.storage.trail.audit_chain import get_head
from app.storage.trail.restores import (
    begin_epoch,
    find_newest_open,
    forget_keys_of,
    get_epoch,
    list_open,
    take_standing_back,
)
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_MOST = 200
"""Requests of one batch: they share a few commits."""


class Fenced(Struct, frozen=True, kw_only=True):
    """What was fenced off in one org."""

    org: str
    epoch: int
    head: tuple[int, str]  # of the restored trail, before the declaration
    cancelled: int  # questions; also those whose time was over
    revoked: int  # approvals
    unknown: int  # executions
    standing: int  # standing approvals and broken glass
    live_keys: int


def fence_org(
    tx: Tx, epoch: int, *, by: str, reason: str, after: datetime | None
) -> tuple[datetime, tuple[int, str], int]:
    """Begin an epoch in an org: return since when, where its trail ended, and how many permissions this ended."""
    at = begin_epoch(tx, epoch, by=by, reason=reason, after=after)
    seq, digest = get_head(tx)
    facts = {"epoch": epoch, "head_seq": seq, "head_hash": digest, "reason": reason}
    tx.append(Record(kind=Kind.RESTORED, actor=by, facts=facts))
    taken = take_standing_back(tx, at, by=by)
    for each in taken:
        kind = Kind.GLASS_ENDED if each.is_glass else Kind.STANDING_REVOKED
        about: dict[str, object] = {"standing": each.id, "why": RESTORED, "was_active": each.was_active}
        tx.append(Record(kind=kind, actor=by, facts=about))
    return at, (seq, digest), len(taken)


class DeclareRestored:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(self, *, by: str, reason: str) -> list[Fenced]:
        """Fence off the past in every org that the database knows. Safe to run again, and beside a gateway."""
        orgs = await self._store.read(list_orgs, org=EVERY_ORG, long=True)
        epoch = await self._store.read(get_epoch, org=EVERY_ORG) + 1
        who = f"cli:{email_key(by)}"
        # A clock that was set back must not leave anything of the past on this side of the fence.
        newest = await self._store.read(find_newest_open, org=EVERY_ORG, long=True)
        # Every org first: no claim of one may slip through while another is being cleared up.
        begun = [await self._begin(org, epoch, by=who, reason=reason, after=newest) for org in orgs]
        if not orgs:
            await self._store.write(
                lambda tx: begin_epoch(tx, epoch, by=who, reason=reason, after=newest), org=EVERY_ORG
            )
        return [await self.clear(org, epoch, *at) for org, at in zip(orgs, begun, strict=True)]

    async def _begin(
        self, org: str, epoch: int, *, by: str, reason: str, after: datetime | None
    ) -> tuple[datetime, tuple[int, str], int]:
        def unit(tx: Tx) -> tuple[datetime, tuple[int, str], int]:
            return fence_org(tx, epoch, by=by, reason=reason, after=after)

        return await self._store.write(unit, org=org)

    async def clear(self, org: str, epoch: int, at: datetime, head: tuple[int, str], standing: int) -> Fenced:
        """Go through the rows of before, in batches. Safe to run again."""
        counts: Counter[str] = Counter()
        behind = ""
        while True:
            batch = await self._store.read(self._page(at, behind), org=org, long=True)
            if not batch:
                break
            done = await asyncio.gather(
                *(self._store.write(_unit(request_id), org=org, about=request_id) for request_id in batch)
            )
            counts.update(done)
            behind = batch[-1]
        now = await self._store.read(lambda tx: tx.now(), org=org)
        keys = await self._store.read(list_keys, org=org, long=True)
        return Fenced(
            org=org,
            epoch=epoch,
            head=head,
            cancelled=counts["cancelled"],
            revoked=counts["revoked"],
            unknown=counts["unknown"],
            standing=standing,
            live_keys=sum(key.live(now) for key in keys),
        )

    @staticmethod
    def _page(at: datetime, behind: str) -> Callable[[Tx], list[str]]:
        return lambda tx: list_open(tx, behind=behind, most=_MOST, until=at)


def _unit(request_id: str) -> Callable[[Tx], str]:
    def unit(tx: Tx) -> str:
        locked = lock_request(tx, request_id)
        if locked is None:
            return "gone"
        request, now = locked
        after = carry_out(tx, request, fence(request, now=now))
        if after.execution is None:  # of one that has run a repeated call is told; of the others it asks anew
            forget_keys_of(tx, request_id)
        if after.version == request.version:
            return "closed"
        if after.execution is not None:
            return "unknown" if after.execution.status is ExecutionStatus.UNKNOWN else "closed"
        return "revoked" if request.status is Status.APPROVED else "cancelled"

    return unit
