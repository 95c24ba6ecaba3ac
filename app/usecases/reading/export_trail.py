"""Export a trail, or a piece of it, as a segment: nothing is deleted, and whoever may read the trail may do it.

What is exported is walked on the way, and the file is read back: a chain that does not hold, or a file that is not what
was read, is none that anybody should be given.
"""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import ConflictError
from app.domain.trail.chain import GENESIS, first_fault_at
from app.storage.trail.audit_chain import UnreadableEventError, get_head, list_kept
from app.storage.trail.cuts import find_cut, first_since
from app.storage.trail.segments import SegmentError, SegmentReader, SegmentWriter, segment_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from app.domain.identity.seals import Seals
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.trail.cuts import Cut
    from app.storage.trail.segments import Segment

_PAGE = 2_000


class Exported(Struct, frozen=True, kw_only=True):
    """What came of it: the file, if an event was in the span; and behind which cut the database's events begin."""

    path: Path | None
    segment: Segment | None
    cut: Cut | None


class _Span(Struct, frozen=True, kw_only=True):
    """Which events; `after` is the (seq, hash) that the first of them follows."""

    after: tuple[int, str]
    last: int
    cut: Cut | None


class ExportTrail:
    """The use case."""

    def __init__(self, *, store: Store, seals: Seals, folder: Path, tell: Callable[[str, int], None]) -> None:
        """Take what it works on; `tell` hears again and again what it is at, and how many events it has come."""
        self._store = store
        self._seals = seals
        self._folder = folder
        self._tell = tell

    async def __call__(self, org: str, *, since: datetime | None = None, before: datetime | None = None) -> Exported:
        """Export the events from an instant on and before another one. Raises ConflictError, with no file."""
        try:
            span = await self._store.read(lambda tx: _span(tx, since, before), org=org, long=True)
            if span.last <= span.after[0]:
                return Exported(path=None, segment=None, cut=span.cut)
            path = self._folder / segment_name(org, span.after[0] + 1, span.last)
            made = await self._write(path, org, span)
            await to_thread(self._read_back, path, made)
        except OSError as error:
            raise ConflictError(f"nothing is exported to {self._folder}: {error.strerror}") from None
        except (SegmentError, UnreadableEventError) as error:
            raise ConflictError(f"nothing is exported: {error}") from None
        return Exported(path=path, segment=made, cut=span.cut)

    async def _write(self, path: Path, org: str, span: _Span) -> Segment:
        first, (at, digest) = span.after[0] + 1, span.after
        writer = await to_thread(SegmentWriter, path, org=org, first=first, prev=digest)
        try:
            while at < span.last:
                most = min(_PAGE, span.last - at)
                events = await self._store.read(
                    lambda tx, after=at, most=most: list_kept(tx, after=after, most=most), org=org, long=True
                )
                fault = first_fault_at(events, after=(at, digest))
                if fault is not None or not events:
                    raise SegmentError(fault[1] if fault else f"event {at + 1} is missing")
                await to_thread(writer.add, events)
                at, digest = events[-1].seq, events[-1].hash
                self._tell("exported", at - first + 1)
            return await to_thread(writer.finish, self._seals)
        finally:
            await to_thread(writer.close)

    def _read_back(self, path: Path, made: Segment) -> None:
        with SegmentReader(path) as reader:
            seen = 0
            while events := reader.page(_PAGE, self._seals):
                seen += len(events)
                self._tell("read back", seen)
            if reader.end != made:
                raise SegmentError(f"{path} reads otherwise than it was written")


def _span(tx: Tx, since: datetime | None, before: datetime | None) -> _Span:
    """Find the first and the last event; they begin behind the newest cut at the earliest."""
    cut = find_cut(tx)
    after = cut.end if cut else (-1, GENESIS)
    head = get_head(tx)[0]
    last = first_since(tx, before, behind=after[0]) if before else None
    first = first_since(tx, since, behind=after[0]) if since else None
    if since is not None:
        follows = list_kept(tx, after=first - 1, most=1) if first is not None else []
        after = (follows[0].seq - 1, follows[0].prev_hash) if follows else (head, "")
    return _Span(after=after, last=head if last is None else last - 1, cut=cut)
