"""Lines of bytes from a stream, of a bounded length."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Receive = Callable[[], Awaitable[bytes]]

LONGEST = 64 * 1024 * 1024


class TooLongError(ValueError):
    """A line is longer than what is kept of one."""


async def lines(receive: Receive, *, most: int = LONGEST) -> AsyncIterator[bytes | None]:
    """Each line with its end, None in the place of one that is too long (it is skipped, and not kept).

    `receive` returns no bytes at the end. A last line that has no end is one all the same.
    """
    kept, skipping = bytearray(), False
    while part := await receive():
        *ended, rest = part.split(b"\n")
        for piece in ended:
            whole = not skipping and len(kept) + len(piece) < most
            line = bytes(kept) + piece + b"\n" if whole else None
            kept.clear()
            skipping = False
            yield line
        if not skipping:
            kept += rest
            if len(kept) >= most:
                kept.clear()
                skipping = True
    if skipping:
        yield None
    elif kept:
        yield bytes(kept)
