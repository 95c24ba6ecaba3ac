"""What people see of new requests: which there are, as soon as they are committed.

The agent that is held has no answer yet, so somebody else must tell the approvers: in use a card does. Here the
approvers look into the database, with one small statement for all that is new, after each commit: PostgreSQL tells of
it as it tells the replicas, SQLite says with one number whether there was one. (To ask for requests a thousand times a
second took a tenth to a quarter of the rate on PostgreSQL, and was no work of the gateway's.)
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from app.storage.statements.payloads import CHANNEL

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_NEW = "SELECT id, digest, created_at FROM requests WHERE created_at >= {} AND status = 'pending'"
_EVERY = 0.001
_OVERLAP = 1_000_000
"""Microseconds for which it looks back: requests are not committed in the order of their instants."""
_AT_THE_LATEST = 0.02
"""Seconds after which it looks, though nobody told of a commit: replicas are not told of what is only asked."""


class Births:
    """Looks at a database from outside."""

    def __init__(self, url: str) -> None:
        """Connect."""
        self._connection: Any
        self._commit: Any
        self._heard = asyncio.Event()
        if url.startswith("sqlite"):
            self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
            self._statement = _NEW.format("?")
            self._commit = self._counted
        else:
            plain = url.replace("postgresql+psycopg://", "postgresql://")
            self._connection = psycopg.connect(plain, autocommit=True)
            self._connection.execute("SET assent.org = '*'")
            self._connection.execute(f"LISTEN {CHANNEL}")
            self._connection.add_notify_handler(lambda _: self._heard.set())  # also of what comes while it looks
            self._statement = _NEW.format("%s")
            self._commit = self._told
        self._version = 0
        self._last = max((at for *_, at in self._look(0)), default=0)
        self._seen: dict[str, int] = {}

    def _look(self, since: int) -> list[tuple[str, str, int]]:
        return self._connection.execute(self._statement, (since,)).fetchall()

    async def come(self) -> AsyncGenerator[tuple[str, str]]:
        """Yield the id and digest of each new request, for ever."""
        while True:
            for request_id, digest, at in self._look(self._last - _OVERLAP):
                if request_id not in self._seen:
                    self._seen[request_id] = at
                    self._last = max(self._last, at)
                    yield request_id, digest
            if len(self._seen) > 10_000:
                old = self._last - _OVERLAP
                self._seen = {name: at for name, at in self._seen.items() if at >= old}
            with suppress(TimeoutError):
                async with asyncio.timeout(_AT_THE_LATEST):
                    await self._commit()

    async def _counted(self) -> None:
        """Wait for a commit to SQLite: the number changes with those of other connections."""
        before = self._version
        while before == self._version:
            await asyncio.sleep(_EVERY)
            self._version = self._connection.execute("PRAGMA data_version").fetchone()[0]

    async def _told(self) -> None:
        """Wait for a commit to PostgreSQL that tells the replicas something, and take what was told with it."""
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._connection.fileno(), readable.set)
        try:
            while not self._heard.is_set():
                readable.clear()
                await readable.wait()
                self._connection.pgconn.consume_input()
                while self._connection.pgconn.notifies():
                    self._heard.set()
        finally:
            loop.remove_reader(self._connection.fileno())
            self._heard.clear()

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
