"""Server-sent events as they pass: each event's bytes, and the message in it.

Lines end as the standard has it (CRLF, LF or CR, mixed as they come, also between two parts of a stream), and an empty
one ends an event: where we saw one event and the client two, we would have read neither. Each byte is looked at once,
in however many parts it comes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from assent.proxy.reading import written

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from assent.proxy.reading import Object

_END = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"
"""The byte order mark that a stream may begin with: its readers skip it."""
_LONGEST_NAME = 16
"""Bytes of a field's name: a longer one is none that we know."""
MOST_LINES = 20_000
"""Lines of one event; a message is one."""


class Event(NamedTuple):
    """One event: as it came, and its data; None where it has none, such as a comment that keeps a line open."""

    raw: bytes
    data: bytes | None
    id: bytes | None

    def with_data(self, message: Object) -> bytes:
        """The same event with another message."""
        raw = self.raw
        kept = [raw[begin:end] for begin, end in _lines(raw) if begin < end and _field(raw, begin, end)[0] != b"data"]
        return b"".join(line + b"\n" for line in kept) + of(message)


class TooLargeError(ValueError):
    """An event is larger than what is kept of one."""


async def events(parts: AsyncIterator[bytes], *, most: int) -> AsyncIterator[Event]:
    """Split a stream into its events. Raises `TooLargeError`. What no empty line ends is no event, and dropped."""
    kept, empty, lines, ended_by_cr = bytearray(), True, 0, False
    async for part in parts:
        begun = at = 1 if ended_by_cr and part.startswith(b"\n") else 0  # the other half of a line's end
        kept += part[:at]
        for end in _END.finditer(part, at):
            empty = empty and end.start() == at
            at, lines = end.end(), lines + 1
            if empty:
                kept += part[begun:at]
                _bounded(kept, lines, most)
                yield _event(bytes(kept))
                kept, lines, begun = bytearray(), 0, at
            empty = True
        kept += part[begun:]
        empty = empty and at == len(part)
        ended_by_cr = part.endswith(b"\r") if part else ended_by_cr
        _bounded(kept, lines, most)


def _bounded(kept: bytearray, lines: int, most: int) -> None:
    if len(kept) > most or lines > MOST_LINES:
        raise TooLargeError(f"an event is larger than {most} bytes, or has more than {MOST_LINES} lines")


def _event(raw: bytes) -> Event:
    data: list[bytes] = []
    name: bytes | None = None
    for begin, end in _lines(raw):
        field, value = _field(raw, begin, end)
        if field == b"data":
            data.append(raw[value:end])
        elif field == b"id":
            name = raw[value:end]
    return Event(raw, b"\n".join(data) if data else None, name)


def _lines(raw: bytes) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends: a large one is copied no oftener than needed."""
    begin = len(_MARK) if raw.startswith(_MARK) else 0
    for end in _END.finditer(raw, begin):
        yield begin, end.start()
        begin = end.end()


def _field(raw: bytes, begin: int, end: int) -> tuple[bytes, int]:
    """The field's name, and where its value begins."""
    colon = raw.find(b":", begin, min(end, begin + _LONGEST_NAME))
    if colon < 0:
        return raw[begin : min(end, begin + _LONGEST_NAME)], end
    return raw[begin:colon], colon + 1 + raw.startswith(b" ", colon + 1, end)


def of(message: Object) -> bytes:
    """An event of our own."""
    return b"data: " + written(message) + b"\n"
