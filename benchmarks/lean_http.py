"""A load generator's HTTP/1.1: keep-alive, hand-written requests, just enough parsing.

A complete client costs more time a call than the gateway that is measured. This one knows only what uvicorn answers:
a status line, a `content-length`, a body. One call is in flight on a connection at a time.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, NamedTuple, cast

_LENGTH = b"content-length: "


class Answer(NamedTuple):
    """What came back, and when (`time.perf_counter`): written to the socket at `sent_at`, complete at `at`."""

    status: int
    content: bytes
    sent_at: float
    at: float

    def body(self) -> Any:
        """Parse the JSON body."""
        return json.loads(self.content)


def encode(method: str, path: str, *, key: str = "", body: object = None, brief: bool = False) -> bytes:
    """Write a request down; `brief`: its answer is not read."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    authorization = f"authorization: Bearer {key}\r\n" if key else ""
    prefer = "prefer: return=minimal\r\n" if brief else ""
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\n{authorization}{prefer}content-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


class _Framed(asyncio.Protocol):
    """Cuts the stream into answers."""

    def __init__(self) -> None:
        self._buffer = b""
        self._wanted = 0
        self.transport: asyncio.Transport = None  # pyright: ignore[reportAttributeAccessIssue] - set before any use

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are not registered as such

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data if self._buffer else data
        if not self._wanted:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            at = buffer.find(_LENGTH, 0, end) + len(_LENGTH)
            self._wanted = end + 4 + int(buffer[at : buffer.find(b"\r\n", at)])
        if len(buffer) >= self._wanted:
            self._buffer, self._wanted = b"", 0
            self.answered(int(buffer[9:12]), buffer)

    def answered(self, status: int, whole: bytes) -> None:
        """Take a complete answer."""
        raise NotImplementedError


class Connection(_Framed):
    """One keep-alive connection with awaitable calls."""

    def __init__(self) -> None:
        super().__init__()
        self._future: asyncio.Future[Answer] | None = None
        self._sent_at = 0.0
        self._lost = False

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect to the loopback. Raises OSError."""
        _, protocol = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return protocol

    @property
    def idle(self) -> bool:
        """Whether no answer is awaited: it has come, or the other side hung up."""
        return self._future is None or self._future.done()

    def send(self, request: bytes) -> asyncio.Future[Answer]:
        """Write a request; the future holds its answer. Raises ConnectionResetError if the other side is gone."""
        if self._lost:
            raise ConnectionResetError
        self._future = asyncio.get_running_loop().create_future()
        self._sent_at = time.perf_counter()
        self.transport.write(request)
        return self._future

    def close(self) -> None:
        """Hang up; whoever still awaits an answer is cancelled."""
        if self._future is not None:
            self._future.cancel()
        if self.transport is not None:
            self.transport.abort()

    def answered(self, status: int, whole: bytes) -> None:
        future, self._future = self._future, None
        if future is not None and not future.done():
            content = whole[whole.find(b"\r\n\r\n") + 4 :]
            future.set_result(Answer(status, content, self._sent_at, time.perf_counter()))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._future is not None and not self._future.done():
            self._future.set_exception(ConnectionResetError(str(exc)))


class _Repeater(_Framed):
    """Sends the same request again as soon as it is answered, without a future or a task between."""

    def __init__(self, request: bytes, expect: int) -> None:
        super().__init__()
        self._request = request
        self._expect = expect
        self.count = 0
        self.wrong: bytes | None = None

    def answered(self, status: int, whole: bytes) -> None:
        if status != self._expect:
            self.wrong = whole
            return
        self.count += 1
        self.transport.write(self._request)


async def rate(port: int, request: bytes, *, concurrent: int, seconds: float, expect: int = 200) -> float:
    """Return answers per second to one repeated request. Raises RuntimeError if one answer was not `expect`."""
    loop = asyncio.get_running_loop()
    repeaters: list[_Repeater] = []
    for _ in range(concurrent):
        _, repeater = await loop.create_connection(lambda: _Repeater(request, expect), "127.0.0.1", port)
        repeaters.append(repeater)
        repeater.transport.write(request)
    await asyncio.sleep(min(0.5, seconds / 4))  # warm up
    before, started = sum(each.count for each in repeaters), time.perf_counter()
    await asyncio.sleep(seconds)
    measured = (sum(each.count for each in repeaters) - before) / (time.perf_counter() - started)
    for each in repeaters:
        each.transport.abort()
    wrong = next((each.wrong for each in repeaters if each.wrong), None)
    if wrong:
        raise RuntimeError(f"an answer of another kind: {wrong[:400]!r}")
    return measured


def require(answer: Answer, expect: int, what: str) -> Answer:
    """Return the answer. Raises RuntimeError for another status than `expect`: a benchmark must not measure errors."""
    if answer.status != expect:
        raise RuntimeError(f"{what}: {answer.status} {answer.content[:400]!r}")
    return answer
