"""Server-sent events, read as a browser reads them, in whatever parts they come; a stream costs what it is long."""

from __future__ import annotations

import time
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.proxy.http import sse
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

MOST = 1_000_000


async def parted(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def read(parts: Iterable[bytes], most: int = MOST) -> list[sse.Event]:
    return [event async for event in sse.events(parted(parts), most=most)]


def as_the_standard_has_it(stream: bytes) -> list[bytes]:
    """The data of each event, by the letter of the standard: the plain way, a character at a time."""
    found, data, line, at = list[bytes](), list[bytes](), bytearray(), 0
    stream = stream.removeprefix(b"\xef\xbb\xbf")
    while at < len(stream):
        byte = stream[at : at + 1]
        at += 2 if stream[at : at + 2] == b"\r\n" else 1
        if byte not in b"\r\n":
            line += byte
            continue
        if not line:
            found += [b"\n".join(data)] if data else []
            data = []
        field, _, value = bytes(line).partition(b":")
        if line and field == b"data":
            data.append(value[1:] if value.startswith(b" ") else value)
        line.clear()
    return found


PIECES = st.lists(
    st.sampled_from([b"\r", b"\n", b"\r\n", b"data: a", b"data:b", b"data", b":c", b"id: 1", b"datab: x", b" ", b"d"]),
    max_size=25,
)


@requirement("S-61")
@given(pieces=PIECES, mark=st.booleans(), cuts=st.lists(st.integers(0, 80), max_size=6))
async def test_every_reader_of_the_stream_sees_the_same_events(
    pieces: list[bytes], mark: bool, cuts: list[int]
) -> None:
    stream = (b"\xef\xbb\xbf" if mark else b"") + b"".join(pieces)
    at = sorted({0, *(cut for cut in cuts if cut < len(stream)), len(stream)})
    in_some, in_bytes = [stream[begin:end] for begin, end in pairwise(at)], [bytes([byte]) for byte in stream]
    for parts in (in_some, in_bytes, [stream]):
        found = await read(parts)
        assert [event.data for event in found if event.data is not None] == as_the_standard_has_it(stream)
        assert stream.startswith(b"".join(event.raw for event in found))  # and the client gets the very bytes


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_an_event_is_there_as_soon_as_its_empty_line_is(end: bytes) -> None:
    seen = list[bytes | None]()

    async def parts() -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"data: %d" % number + end + end
            assert seen[-1] == b"%d" % number  # it waits for nothing that comes behind it

    async for event in sse.events(parts(), most=MOST):
        seen.append(event.data)
    assert seen == [b"0", b"1", b"2"]


@pytest.mark.parametrize("mixed", [b"\r\n\n", b"\n\r\n", b"\n\r", b"\r\r\n"])
async def test_two_events_are_two_however_their_lines_end(mixed: bytes) -> None:
    assert [event.data for event in await read([b"data: 1" + mixed + b"data: 2\n\n"])] == [b"1", b"2"]


async def test_a_mark_before_the_first_line_hides_nothing() -> None:
    assert [event.data for event in await read([b"\xef", b"\xbb\xbfdata: 1\n", b"\ndata: 2\n\n"])] == [b"1", b"2"]


async def test_another_message_takes_the_place_of_the_data_alone() -> None:
    (event,) = await read([b"id: 7\r\ndatabase: x\r\nda", b"ta: {\r\ndata: }\r\n\r\n"])
    assert (event.data, event.id) == (b"{\n}", b"7")
    assert event.with_data({"a": 1}) == b'id: 7\ndatabase: x\ndata: {"a":1}\n\n'


@requirement("S-61")
@pytest.mark.parametrize(
    "parts", [[b"data: " + b"x" * 2_000], [b"data: "] + [b"x"] * 2_000, [b"x\n"] * 800, [b":"] * 2_000]
)
async def test_what_no_empty_line_ends_is_kept_up_to_a_bound(parts: list[bytes]) -> None:
    with pytest.raises(sse.TooLargeError):
        await read(parts, most=1_000)


@requirement("S-61")
async def test_an_event_of_too_many_lines_is_refused() -> None:
    lines = [b"data\n"] * sse.MOST_LINES
    with pytest.raises(sse.TooLargeError):
        await read([b"".join(lines), b"\n"])
    assert len(await read([*lines[2:], b"\n"])) == 1


@requirement("S-61")
async def test_what_ends_within_one_part_is_bounded_as_well() -> None:
    with pytest.raises(sse.TooLargeError):
        await read([b"data: " + b"x" * 1_001 + b"\n\n"], most=1_000)


WORST = {
    "one event in parts of a byte": lambda size: [b"data: ", *[b"x"] * size, b"\n\n"],
    "one event in parts of forty": lambda size: [b"data: ", *[b"x" * 40] * (size // 40), b"\n\n"],
    "a line that never ends": lambda size: [b"x" * 16] * (size // 16),
    "many events in one part": lambda size: [b"data: 1\n\n" * (size // 9)],
    "many events in one part, ended by CR": lambda size: [b"data: 1\r\r" * (size // 9)],
    "nothing but ends of lines": lambda size: [b"\n" * size],
    "CR and LF, each by itself": lambda size: [b"\r", b"\n"] * (size // 2),
    "many lines": lambda size: [b"data:\n" * (size // 6), b"\n"],
}
LONG = {"nothing but ends of lines", "CR and LF, each by itself"}
"""Of all shapes the two that take seconds."""


def cost(parts: list[bytes]) -> float:
    """This thread's time for a stream, the least of three."""

    def once() -> float:
        started = time.thread_time()
        reading = read(parts, most=2**30)
        try:
            reading.send(None)  # nothing in it waits
        except StopIteration:
            return time.thread_time() - started
        raise AssertionError("it waited for something")

    return min(once() for _ in range(3))


@requirement("S-61")
@pytest.mark.heavy
@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=pytest.mark.whole if shape in LONG else ()) for shape in WORST]
)
def test_a_stream_of_twice_the_size_takes_twice_as_long(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MOST_LINES", 10**9)
    small, large = (cost(WORST[shape](size)) for size in (25_000, 200_000))  # squared, eightfold is 64 times
    assert large < 24 * max(small, 0.001)


@requirement("S-61")
async def test_an_event_is_copied_no_oftener_than_needed() -> None:
    parts = [b"data: ", *[b"x" * 1_000] * 8_000, b"\n\n"]
    tracemalloc.start()
    (event,) = await read(parts, most=2**30)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert event.data is not None
    assert most < 4 * len(event.data)
