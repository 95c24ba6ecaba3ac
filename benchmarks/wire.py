"""What goes over the wire to PostgreSQL, counted: a socket between a client and the server that reads along.

It understands what a client sends (protocol 3: a type byte, four bytes of length): which statement each Execute runs,
and how often the client stops to hear an answer (Sync, Flush or a simple query: a round trip each). A statement in a
pipeline counts as much as one alone, and each row of `executemany` counts.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import sqlalchemy as sa

if TYPE_CHECKING:
    from pathlib import Path

_WAITS = {b"S", b"H"}


@dataclass(slots=True, kw_only=True)
class Traffic:
    """What was sent so far: each statement's text with how often it ran, and the round trips."""

    statements: Counter[str] = field(default_factory=Counter[str])
    round_trips: int = 0

    def since(self, before: Traffic) -> Traffic:
        """Return what was sent after a copy was taken."""
        return Traffic(
            statements=self.statements - before.statements, round_trips=self.round_trips - before.round_trips
        )

    def copy(self) -> Traffic:
        """Return what was sent until now."""
        return Traffic(statements=self.statements.copy(), round_trips=self.round_trips)

    @property
    def transactions(self) -> int:
        """How many of them began a transaction."""
        return sum(times for text, times in self.statements.items() if text.startswith("BEGIN"))


class Wire:
    """A counting socket in front of a server's. A context manager; `url` is the database seen through it."""

    def __init__(self, url: str, folder: Path) -> None:
        """Take a URL that names a socket's folder (`?host=`), and an empty folder for the one in front of it."""
        behind = sa.make_url(url)
        self._behind = f"{behind.query['host']}/.s.PGSQL.{behind.port or 5432}"
        self.url = behind.set(port=5432).update_query_dict({"host": str(folder)}).render_as_string(hide_password=False)
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(f"{folder}/.s.PGSQL.5432")
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._traffic = Traffic()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Begin to carry."""
        self._door.listen()
        self._carry(self._let_in)
        return self

    def __exit__(self, *exc: object) -> None:
        """End every connection."""
        for end in (self._door, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join()

    def sent(self) -> Traffic:
        """Return what was sent until now."""
        with self._lock:
            return self._traffic.copy()

    def _carry(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # pyright: ignore[reportArgumentType] - a callable
        self._threads.append(thread)
        thread.start()

    def _let_in(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._behind)
                self._ends += [client, server]
                self._carry(self._forward, client, server)
                self._carry(_back, server, client)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        reader = _Reader()
        with suppress(OSError):
            while received := client.recv(65_536):
                with self._lock:
                    reader.read(received, self._traffic)
                server.sendall(received)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)


class _Reader:
    """Reads what one connection's client sends."""

    def __init__(self) -> None:
        self._left = b""
        self._begun = False
        self._texts: dict[bytes, str] = {}
        self._bound = b""

    def read(self, received: bytes, traffic: Traffic) -> None:
        self._left += received
        while True:
            head = 1 if self._begun else 0  # the first message has no type
            if len(self._left) < head + 4:
                return
            size = head + struct.unpack_from("!I", self._left, head)[0]
            if len(self._left) < size:
                return
            kind, body, self._left = self._left[:head], self._left[head + 4 : size], self._left[size:]
            self._begun = True
            self._count(kind, body, traffic)

    def _count(self, kind: bytes, body: bytes, traffic: Traffic) -> None:
        match kind:
            case b"Q":
                traffic.statements[_said(body[:-1])] += 1
                traffic.round_trips += 1
            case b"P":
                name, text, _ = body.split(b"\0", 2)
                self._texts[name] = _said(text)
            case b"B":
                self._bound = body.split(b"\0", 2)[1]
            case b"E":
                traffic.statements[self._texts[self._bound]] += 1
            case _ if kind in _WAITS:
                traffic.round_trips += 1
            case _:
                pass


def _said(text: bytes) -> str:
    return " ".join(text.decode().split())


def _back(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while received := server.recv(65_536):
            client.sendall(received)
    with suppress(OSError):
        client.shutdown(socket.SHUT_WR)
