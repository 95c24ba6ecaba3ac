"""Connections: how many there may be, and how long one may take to say what it wants.

Anybody can open a connection, and a process has only so many. So the head of a call has its time and its size, and so
has a body that goes on after its answer; where the last place is taken, those go that have been asking for nothing for
longest: whoever says at once what he wants is never among them. Nothing here waits for anybody, and a call that is
being answered is never cut.

What is no call of HTTP is answered with a problem document. Whoever is still sending then would lose it with the
connection, so that one is ended on our side alone, and what still comes is thrown away for a moment.
"""

from __future__ import annotations

import asyncio
import resource
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import structlog
from uvicorn.protocols.http.httptools_impl import HEADER_VALUE_RE, STATUS_LINE, HttpToolsProtocol

from app.api.wire.problems import render_problem

if TYPE_CHECKING:
    from httptools import HttpRequestParser
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

    Headers = list[tuple[bytes, bytes]]

HEAD_SECONDS = 10.0
"""How long the head of a call may take, from its first byte, or from the connection's beginning; and what is left of a
body once its call was answered."""

HEAD_BYTES = 64 * 1024
"""How much of a head is taken in. A key, an idempotency key and a platform's signature have 2 KiB together."""

LEAVING_SECONDS = 2.0
LEAVING_BYTES = 1024 * 1024
"""What is thrown away of whoever still sends after an answer that ends the connection."""

_FOR_THE_REST = 128
"""Files that a process needs besides its connections: the database, platforms, hooks, logs."""

_LOOK_EVERY = 1.0
_AT_ONCE = 32
"""One part in so many is closed where there is no place: looking for the oldest must not cost more than answering."""

log = structlog.get_logger(__name__)


def connections_allowed(most: int) -> int:
    """Let this process have as many files as the system allows it; return how many connections it may then hold."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _FOR_THE_REST
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - _FOR_THE_REST)
    return most


class Corked:
    """A transport that sends once a turn of the loop: an answer's head and body, written apart, leave together.

    Each write of uvicorn's is a system call, and wakes whoever waits for the answer: twice for one answer.
    """

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Stand before a transport."""
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it with whatever else is written in this turn."""
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)

    def _send(self) -> None:
        held, self._held = self._held, []
        if held and not self._transport.is_closing():  # it may have been cut off in between
            self._transport.write(b"".join(held))

    def write_whole(self, data: bytes) -> None:
        """Send it at once, behind whatever was written in this turn: nothing of it is to come."""
        if self._held:
            self.write(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Send what was written, and close."""
        self._send()
        self._transport.close()

    def end(self) -> None:
        """Send what was written, and nothing more; what comes is still read."""
        self._send()
        self._transport.write_eof()

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own."""
        return getattr(self._transport, name)


def write_whole(cycle: RequestResponseCycle, status: int, headers: Headers, body: bytes) -> bool:
    """Write an answer in one go, as uvicorn does in two; return whether it was, and nothing was done if not.

    Only the plain ones are. Whoever is gone or takes nothing in just now, what ends the connection, and what may not
    stand in a head are left to uvicorn: it knows what to do, and refuses the last.
    """
    corked = cycle.transport
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused or not cycle.keep_alive:
        return False
    if cycle.access_log or cycle.scope["method"] == "HEAD" or not isinstance(corked, Corked):
        return False
    lines = [b"%b: %b" % header for header in headers]
    own = b"".join(lines)
    if HEADER_VALUE_RE.search(own) or b"connection: " in own:
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    lines[:0] = [b"%b: %b" % header for header in cycle.default_headers]
    corked.write_whole(STATUS_LINE[status] + b"\r\n".join([*lines, b"", body]))
    cycle.message_event.set()
    cycle.on_response()
    return True


class Connection(HttpToolsProtocol):
    """uvicorn's, with a watch over its beginning."""

    watch: ConnectionWatch
    in_head = True
    """Whether it is to say what it wants: from the first byte of a head to its last, and before the first head."""
    head_bytes = 0
    refused = False
    """Whether what came was no call, and was answered so: nothing is read of it any more."""
    wrong = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; somebody else may have to go."""
        super().connection_made(cast("asyncio.Transport", Corked(transport, self.loop)))
        self.since = self.loop.time()
        self.watch.admit(self)

    def data_received(self, data: bytes) -> None:
        """Take what came: of a head no more than its bound, of the body that came along with it all there is."""
        while self.in_head and data:
            if self.refused:
                self._throw_away(data)
                return
            part = data[: HEAD_BYTES - self.head_bytes]
            if not part:
                self._refuse(431, "headers_too_large", f"the head of a call may have {HEAD_BYTES} bytes")
                return
            data = data[len(part) :]
            self.head_bytes += len(part)
            super().data_received(part)
            if self.transport.is_closing():
                return
        if data:
            super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin a head."""
        super().on_message_begin()
        self.in_head, self.head_bytes, self.since = True, 0, self.loop.time()

    def on_headers_complete(self) -> None:
        """End a head: from here on it is a call. Raises ValueError, which is answered 400 (RFC 9112, 3.2)."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) != 1 and (hosts or cast("HttpRequestParser", self.parser).get_http_version() != "1.0"):
            self.wrong = "there is no Host header" if not hosts else "there is more than one Host header"
            raise ValueError(self.wrong)
        self.in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a body, also one that nobody waits for any more."""
        super().on_message_complete()
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None:  # a call that is to become a websocket has none
            cycle.more_body = False

    def on_response_complete(self) -> None:
        """End an answer: from here on what is left of the body has its time."""
        if self.cycle.more_body:
            self.since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(400, "bad_http", self.wrong or msg)

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Answer what is no call, and end the connection."""
        answer = render_problem(status, code, HTTPStatus(status).phrase, detail, "")
        heads = b"".join(b"%b: %b\r\n" % head for head in answer.raw_headers)
        self.transport.write(b"%b%bconnection: close\r\n\r\n%b" % (STATUS_LINE[status], heads, answer.body))
        if self.answering:  # that answer has not gone out yet, and is none to what came after it
            self.transport.close()
            return
        self.refused = self.in_head = True
        self.since, self.head_bytes = self.loop.time(), 0
        cast("Corked", self.transport).end()

    def _throw_away(self, data: bytes) -> None:
        self.head_bytes += len(data)
        if self.head_bytes > LEAVING_BYTES:
            self.transport.abort()

    def is_late(self, now: float) -> bool:
        """Whether its time is up."""
        if self.refused:
            return self.since < now - LEAVING_SECONDS
        if self.answering or self.since >= now - HEAD_SECONDS:
            return False
        return self.in_head or self.cycle.more_body

    @property
    def answering(self) -> bool:
        """Whether a call is being answered here."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # none before the first call, whatever its type says
        return cycle is not None and not cycle.response_complete


class ConnectionWatch:
    """All connections of a server. What they are is made by uvicorn, of the class that `protocol` returns."""

    def __init__(self, most: int) -> None:
        """`most` at once."""
        self._most = most
        self._open: set[Any] = set()
        self._looking: asyncio.TimerHandle | None = None

    def protocol(self) -> type[Connection]:
        """Return the class of this server's connections."""
        return type("WatchedConnection", (Connection,), {"watch": self})

    def admit(self, new: Connection) -> None:
        """Give a new connection a place."""
        state: ServerState = new.server_state
        self._open = state.connections
        if self._looking is None:
            self._look_again()
        if len(self._open) > self._most:
            self._make_room(new)

    def _make_room(self, new: Connection) -> None:
        idle = [each for each in self._open if isinstance(each, Connection) and not each.answering and each is not new]
        idle.sort(key=lambda each: (not each.in_head, each.since))
        going = idle[: max(1, self._most // _AT_ONCE)] or [new]
        for each in going:
            each.transport.abort()
        log.warning("connections.full", most=self._most, closed=len(going))

    def _look_again(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(_LOOK_EVERY, self._look)

    def _look(self) -> None:
        """Close those whose head, or the rest of whose body, has not come in its time."""
        self._looking = None
        now = asyncio.get_running_loop().time()
        for each in list(self._open):
            if isinstance(each, Connection) and each.is_late(now):
                each.transport.abort()
        if self._open:
            self._look_again()
