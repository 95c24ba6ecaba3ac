"""A wire between a client and PostgreSQL that can go wrong at a chosen moment.

It understands just enough of the protocol (version 3: one type byte, four bytes of length) to know which statement a
message runs, prepared or not. `swallow_reply("COMMIT")` lets the server do the work and loses its answer: the client's
connection breaks instead. It may also cut every connection, carry nothing (`flows`), or carry each message late.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class FaultProxy:
    """Passes everything on until it is told otherwise."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._armed: str | None = None
        self.swallowed = asyncio.Event()
        self.swallows = 0
        self.port = 0
        self.refusing = False
        self.late = 0.0  # seconds by which each answer of the server is late
        self.breaks_after: int | None = None  # bytes of the server, of all connections: then one breaks, in a message
        self.carried = 0  # bytes of the server
        self.flows = asyncio.Event()  # while it is clear, bytes are lost and the ends stay open
        self.flows.set()
        self._tasks: set[asyncio.Task[None]] = set()

    def swallow_reply(self, statement: str) -> None:
        """Lose the answer to the next message that runs a statement that begins so, and the connection with it."""
        self._armed = statement
        self.swallowed.clear()

    def cut(self) -> None:
        """Break every connection, wherever it stands."""
        for task in list(self._tasks):
            task.cancel()

    async def serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        if self.refusing:
            writer.close()
            return
        try:
            server_reader, server_writer = await asyncio.open_unix_connection(self._socket_path)
        except OSError:  # the server is not there
            writer.close()
            return
        cut = asyncio.Event()
        forward = asyncio.ensure_future(self._forward(reader, server_writer, cut))
        back = asyncio.ensure_future(self._back(server_reader, writer, cut))
        for task in (forward, back):
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await asyncio.wait((forward, back), return_when=asyncio.FIRST_COMPLETED)
        if cut.is_set():
            await asyncio.wait((back,), timeout=5)  # the server finishes; nobody hears it
        for task in (forward, back):
            task.cancel()
        for end in (writer, server_writer):
            end.close()

    async def _forward(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, cut: asyncio.Event) -> None:
        statements: dict[bytes, str] = {}
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            length = struct.unpack("!I", await reader.readexactly(4))[0]
            server.write(struct.pack("!I", length) + await reader.readexactly(length - 4))
            while True:
                kind = await reader.readexactly(1)
                length = struct.unpack("!I", await reader.readexactly(4))[0]
                body = await reader.readexactly(length - 4)
                if self._armed is not None and _runs(kind, body, statements).startswith(self._armed):
                    self._armed = None
                    cut.set()
                if self.flows.is_set():
                    server.write(kind + struct.pack("!I", length) + body)
                    await server.drain()

    async def _back(self, server: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind = await server.readexactly(1)
                length = struct.unpack("!I", await server.readexactly(4))[0]
                message = kind + struct.pack("!I", length) + await server.readexactly(length - 4)
                if self.late:
                    await asyncio.sleep(self.late)
                if cut.is_set() and kind in {b"C", b"Z"}:  # a command is complete: in a pipeline nothing else says so
                    self.swallows += 1
                    self.swallowed.set()
                    return
                if self.flows.is_set() and not cut.is_set() and not await self._carried(message, writer):
                    return

    async def _carried(self, message: bytes, writer: asyncio.StreamWriter) -> bool:
        """Bring a message to the client, or as much of it as may pass; False: that was the last of this connection."""
        left = self.breaks_after
        self.carried += len(message)
        if left is not None:
            self.breaks_after = left - len(message) if left >= len(message) else None
        writer.write(message[:left])
        await writer.drain()
        return left is None or left >= len(message)


def _runs(kind: bytes, body: bytes, statements: dict[bytes, str]) -> str:
    """Return the statement that a message runs, or nothing; remember those that it only prepares."""
    if kind == b"Q":
        return body.rstrip(b"\0").decode()
    if kind == b"P":
        name, query = body.split(b"\0")[:2]
        statements[name] = query.decode()
    if kind == b"B":
        return statements.get(body.split(b"\0")[1], "")
    return ""


@asynccontextmanager
async def fault_proxy(url: str) -> AsyncIterator[tuple[FaultProxy, str]]:
    """Put a proxy before a database; yield it and the URL that leads through it."""
    parsed = sa.make_url(url)
    proxy = FaultProxy(f"{parsed.query['host']}/.s.PGSQL.{parsed.port or 5432}")
    server = await asyncio.start_server(proxy.serve_one, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    through = parsed.set(host="127.0.0.1", port=proxy.port, query={"sslmode": "disable", "gssencmode": "disable"})
    try:
        yield proxy, through.render_as_string(hide_password=False)
    finally:
        server.close()
        for task in list(proxy._tasks):
            task.cancel()
        await asyncio.gather(*proxy._tasks, return_exceptions=True)
