"""Walk the part of a chain that was cut off, through the files into which it was exported."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING

from app.domain.lifecycle.replayed import Fault
from app.storage.trail.segments import SegmentError, SegmentReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from app.domain.identity.seals import Seals
    from app.storage.trail.cuts import Cut
    from app.usecases.proving.trail_walk import Walk

_PAGE = 2_000


async def walk_segments(
    walk: Walk, cuts: Sequence[Cut], folder: Path, *, org: str, seals: Seals | None, tell: Callable[[int], None]
) -> None:
    """Walk every segment that the records of cuts name, in order; what does not fit is a fault of the walk."""
    for cut in cuts:
        if (cut.first - 1, cut.prev) != walk.last:
            begins = f"the cut at event {cut.last} begins at event {cut.first}"
            walk.stop(walk.last[0] + 1, f"{begins}, and what was cut before it ends at {walk.last[0]} {walk.last[1]}")
            return
        path = folder / cut.file.rpartition("/")[2]
        try:
            digest = await walk_segment(walk, path, org=org, seals=seals, tell=tell)
        except SegmentError as error:
            walk.stop(walk.last[0] + 1, f"event {walk.last[0] + 1}: {error}")
        else:
            if not walk.broken and (digest, walk.last) != (cut.digest, cut.end):
                walk.stop(cut.last, f"{path.name} is not the file that the events until {cut.last} were cut into")
        if walk.broken:
            return
        if walk.carried() != cut.carried:
            carried = (
                f"the record of the cut at event {cut.last} says otherwise what stands than the events until there"
            )
            walk.faults.append(Fault(cut.last, carried))


async def walk_segment(walk: Walk, path: Path, *, org: str, seals: Seals | None, tell: Callable[[int], None]) -> str:
    """Walk one segment to its end; return the digest of its file. Raises SegmentError."""
    with await to_thread(SegmentReader, path) as reader:
        if (reader.org, reader.first - 1, reader.prev) != (org, *walk.last):
            raise SegmentError(f"{path.name} is not what follows event {walk.last[0]} of {org}")
        while events := await to_thread(reader.page, _PAGE, seals):
            walk.take(events)
            if walk.broken:
                return ""
            tell(walk.seen)
        return reader.end.digest if reader.end else ""
