"""One connection of an HTTP client, by h11: a request, its body, and the answer in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import anyio
import h11

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import ByteStream

_LARGEST_HEAD = 64 * 1024
_PART = 65536
IDLE = 75.0
"""Seconds for the next request on an open connection, and for each part of one."""
_SEND_WITHIN = 30.0


class GoneError(Exception):
    """The client is gone, or does not write what it began."""


class Refusal(Exception):  # noqa: N818 - an answer, given early
    """A request that is answered with a status alone."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Asked(NamedTuple):
    """A request and its body."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Link:
    """A connection. Its answers are whole: what is begun is ended, or the connection is closed.

    A client that is gone, or does not read, is told nothing more: whoever answers goes on all the same.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_HEAD)
        self._more = b""
        self.began = False
        """Whether the answer has begun."""
        self.gone = False

    async def request(self, *, most: int) -> Asked | None:
        """The next request; None at the end. Raises `Refusal`, and `GoneError`."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        self.began = False
        try:
            head = await self._next()
            if not isinstance(head, h11.Request):
                return None
            parts: list[bytes] = []
            size = 0
            while isinstance(part := await self._next(), h11.Data):
                size += len(part.data)
                if size > most:
                    raise Refusal(413, f"the body is larger than {most} bytes")
                parts.append(bytes(part.data))
        except h11.RemoteProtocolError as fault:
            raise Refusal(fault.error_status_hint, str(fault)) from fault
        headers: dict[str, str] = {}
        for name, value in head.headers:
            key = name.decode("latin-1").lower()
            if key in headers and key in _ONCE:
                raise Refusal(400, f"the header {key} stands twice")
            headers[key] = value.decode("latin-1")
        return Asked(head.method.decode(), head.target.decode("latin-1"), headers, b"".join(parts))

    async def _next(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                await self._put(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
            more, self._more = self._more, b""
            self._http.receive_data(more or await self._received())

    async def _received(self) -> bytes:
        try:
            with anyio.fail_after(IDLE):
                return await self._stream.receive(_PART)
        except anyio.EndOfStream:
            return b""
        except (TimeoutError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as fault:
            raise GoneError from fault

    async def until_gone(self) -> None:
        """Return when the client closes the connection; what it sends meanwhile is its next request."""
        while True:
            try:
                part = await self._stream.receive(_PART)
            except (anyio.EndOfStream, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            self._more += part
            if len(self._more) > _LARGEST_HEAD:
                return

    async def begin(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Begin the answer."""
        self.began = True
        await self._put(self._http.send(h11.Response(status_code=status, headers=list(headers))))

    async def send(self, part: bytes) -> None:
        """Send a part of the answer's body."""
        await self._put(self._http.send(h11.Data(data=part)))

    async def end(self) -> None:
        """End the answer."""
        await self._put(self._http.send(h11.EndOfMessage()))

    async def answer(self, status: int, body: bytes = b"", headers: Sequence[tuple[str, str]] = ()) -> None:
        """Give a whole answer."""
        await self.begin(status, [*headers, ("content-length", str(len(body)))])
        if body:
            await self.send(body)
        await self.end()

    @property
    def goes_on(self) -> bool:
        """Whether another request may follow."""
        return not self.gone and self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    @property
    def owes(self) -> bool:
        """Whether the request that came last has no whole answer yet."""
        return not self.gone and self._http.our_state in {h11.SEND_RESPONSE, h11.SEND_BODY}

    async def _put(self, content: bytes | None) -> None:
        if not content or self.gone:
            return
        with anyio.move_on_after(_SEND_WITHIN, shield=True) as scope:  # half an event would be no event
            try:
                await self._stream.send(content)
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.gone = True
        self.gone = self.gone or scope.cancelled_caught


_ONCE = frozenset({"host", "origin", "content-type", "content-encoding", "mcp-session-id", "mcp-method", "mcp-name"})
"""Headers of which two would be two stories."""
