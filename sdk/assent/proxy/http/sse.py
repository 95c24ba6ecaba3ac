"""Server-sent events as they pass: each event's bytes, and the message in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from assent.proxy.reading import written

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from assent.proxy.reading import Object

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event: as it came, and its data; None where it has none, such as a comment that keeps a line open."""

    raw: bytes
    data: bytes | None
    id: bytes | None

    def with_data(self, message: Object) -> bytes:
        """The same event with another message."""
        kept = [line for line in _LINE.split(self.raw) if line and not line.startswith(b"data")]
        return b"".join(line + b"\n" for line in kept) + of(message)


class TooLargeError(ValueError):
    """An event is larger than what is kept of one."""


async def events(parts: AsyncIterator[bytes], *, most: int) -> AsyncIterator[Event]:
    """Split a stream into its events. Raises `TooLargeError`."""
    kept = b""
    async for part in parts:
        kept += part
        while found := _END.search(kept):
            raw, kept = kept[: found.end()], kept[found.end() :]
            yield _event(raw)
        if len(kept) > most:
            raise TooLargeError(f"an event is larger than {most} bytes")


def _event(raw: bytes) -> Event:
    data: list[bytes] = []
    name: bytes | None = None
    for line in _LINE.split(raw):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"id":
            name = value
    return Event(raw, b"\n".join(data) if data else None, name)


def of(message: Object) -> bytes:
    """An event of our own."""
    return b"data: " + written(message) + b"\n"
