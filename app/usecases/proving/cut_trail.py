"""Cut the old part of a trail off: export it as a segment, record that, and only then delete it.

Whatever is killed where, no event is lost: until the segment stands whole on the disk and was read back, nothing is
recorded; until the record is committed, the database itself refuses to delete an event. The same command goes on.
"""

from __future__ import annotations

import hashlib
from asyncio import to_thread
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import AssentError, ConflictError
from app.domain.trail.audit import Kind, Record
from app.failpoints import failpoint
from app.storage.trail.audit_chain import get_head, list_kept
from app.storage.trail.cuts import (
    Cut,
    count_left,
    drop_events,
    find_cut,
    first_since,
    first_standing,
    put_cut,
    who_may_not,
)
from app.storage.trail.segments import SegmentError, SegmentWriter, segment_name
from app.storage.trail.webhook_cursors import list_cursors
from app.usecases.proving.trail_walk import Walk
from app.usecases.proving.verify_trail import VerifyTrail
from app.usecases.proving.walk_segments import walk_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime
    from pathlib import Path

    from app.domain.identity.seals import Seals
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.trail.segments import Segment

_PAGE = 2_000


class Bound(Struct, frozen=True, kw_only=True):
    """How far a trail may be cut, and what keeps it from being cut further."""

    last: int
    why: str | None


class Done(Struct, frozen=True, kw_only=True):
    """What came of it: the new cut, if there is one; what was deleted; and what kept it from more."""

    cut: Cut | None
    deleted: int
    why: str | None


class CutTrail:
    """The use case. It does not verify the trail: whoever calls it does so before, and refuses a broken one."""

    def __init__(self, *, store: Store, seals: Seals, folder: Path, tell: Callable[[str, int], None]) -> None:
        """Take what it works on; `tell` hears again and again what it is at, and how many events it has come."""
        self._store = store
        self._seals = seals
        self._folder = folder
        self._tell = tell

    async def __call__(self, org: str, *, before: datetime, by: str, webhooks: Collection[str]) -> Done:
        """Cut off what is older than `before` and nobody needs any more. Raises ConflictError, with nothing lost.

        `webhooks` are the receivers that the file names: what one of them was not told of is not cut.
        """
        await self._check(org)
        cut = await self._store.read(find_cut, org=org, long=True)
        deleted = await self._delete(org, cut) if cut is not None else 0
        bound = await self._store.read(lambda tx: _bound(tx, cut, before, webhooks), org=org, long=True)
        if bound.last <= (cut.last if cut else -1):
            return Done(cut=None, deleted=deleted, why=bound.why or "no event is older")
        segment, carried = await self._export(org, cut, bound.last)
        failpoint("cut.exported")
        made = await self._store.write(lambda tx: self._record(tx, segment, carried, cut, by), org=org)
        failpoint("cut.recorded")
        deleted += await self._delete(org, made)
        return Done(cut=made, deleted=deleted, why=bound.why)

    async def _check(self, org: str) -> None:
        """Refuse a role that may not, and a trail that is broken."""
        role = await self._store.read(who_may_not, org=org, long=True)
        if role is not None:
            owner = "connect as the role that migrates, who owns the tables (assent_owner in deploy/roles.sh)"
            raise ConflictError(f"the database lets {role} delete no event of the trail: {owner}")
        found = await VerifyTrail(store=self._store, head_file=None)(
            org, tell=lambda seen: self._tell("verified", seen)
        )
        if found.faults:
            raise ConflictError(f"the trail is broken, and nothing is cut off: {found.faults[0].text}")

    async def _export(self, org: str, cut: Cut | None, last: int) -> tuple[Segment, str]:
        walk = _walk_from(cut)
        first, prev = walk.last[0] + 1, walk.last[1]
        path = self._folder / segment_name(org, first, last)
        try:
            writer = await to_thread(SegmentWriter, path, org=org, first=first, prev=prev)
            try:
                await self._write(writer, walk, org, last)
                made = await to_thread(writer.finish, self._seals)
            finally:
                await to_thread(writer.close)
            again = _walk_from(cut)
            digest = await walk_segment(
                again, path, org=org, seals=self._seals, tell=lambda seen: self._tell("read back", seen)
            )
        except OSError as error:
            raise ConflictError(f"{path} cannot be written, and nothing is cut off: {error.strerror}") from None
        except SegmentError as error:
            raise ConflictError(f"nothing is cut off: {error}") from None
        if (digest, again.last, again.carried()) != (made.digest, walk.last, walk.carried()):
            raise ConflictError(f"{path} reads otherwise than it was written, and nothing is cut off")
        return made, walk.carried()

    async def _write(self, writer: SegmentWriter, walk: Walk, org: str, last: int) -> None:
        while walk.last[0] < last:
            most = min(_PAGE, last - walk.last[0])
            events = await self._store.read(
                lambda tx, after=walk.last[0], most=most: list_kept(tx, after=after, most=most), org=org, long=True
            )
            walk.take(events)
            if walk.broken:
                raise SegmentError(walk.faults[0].text)
            await to_thread(writer.add, events)
            failpoint("cut.writing")
            self._tell("exported", walk.seen)

    def _record(self, tx: Tx, segment: Segment, carried: str, behind: Cut | None, by: str) -> Cut | AssentError:
        if find_cut(tx) != behind:
            return ConflictError("somebody else has cut the trail meanwhile: look at it with `assent audit verify`")
        made = Cut(
            first=segment.first,
            prev=segment.prev,
            last=segment.last,
            hash=segment.hash,
            file=segment_name(tx.org, segment.first, segment.last),
            digest=segment.digest,
            carried=carried,
            by=by,
            at=tx.now(),
        )
        put_cut(tx, made, self._seals)
        tx.append(Record(kind=Kind.TRAIL_CUT, actor=by, facts=made.facts()))
        return made

    async def _delete(self, org: str, cut: Cut) -> int:
        """Delete what a recorded cut covers, if its segment is here, as it was written."""
        left = await self._store.read(lambda tx: count_left(tx, cut.last), org=org, long=True)
        if not left:
            return 0
        path = self._folder / cut.file
        if await to_thread(_digest, path) != cut.digest:
            gone = f"{path} is not the file that the events until {cut.last} were cut into"
            raise ConflictError(f"{gone}: {left} of them are still there, and stay until it is in this folder")
        deleted = 0
        while done := await self._store.write(lambda tx: drop_events(tx, cut.last), org=org):
            failpoint("cut.deleting")
            deleted += done
            self._tell("deleted", deleted)
        return deleted


def _walk_from(cut: Cut | None) -> Walk:
    walk = Walk()
    if cut is not None:
        walk.begin_behind(cut)
    return walk


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _bound(tx: Tx, cut: Cut | None, before: datetime, webhooks: Collection[str]) -> Bound:
    """Find the last event that may go: it is old enough, of no request whose rows stand, and every receiver has it."""
    behind = cut.last if cut else -1
    since = first_since(tx, before, behind=behind)
    last, why = (since - 1 if since is not None else get_head(tx)[0]), None
    standing = first_standing(tx, behind=behind)
    if standing is not None and standing[0] <= last:
        last, why = standing[0] - 1, f"event {standing[0]} is of {standing[1]}, whose rows stand"
    for cursor in list_cursors(tx):
        if cursor.name in webhooks and cursor.seq < last:
            last, why = cursor.seq, f"the webhook {cursor.name} was told until event {cursor.seq} only"
    return Bound(last=last, why=why)
