"""What people see of new requests: which there are, as soon as they are committed.

The agent that is held has no answer yet, so somebody else must tell the approvers: in use a card does. Here the
approvers look into the database, with one small statement for all that is new.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_NEW = "SELECT id, digest, created_at FROM requests WHERE created_at >= {} AND status = 'pending'"
_EVERY = 0.001
_OVERLAP = 1_000_000
"""Microseconds for which it looks back: requests are not committed in the order of their instants."""


class Births:
    """Looks at a database from outside."""

    def __init__(self, url: str) -> None:
        """Connect."""
        self._connection: Any
        if url.startswith("sqlite"):
            self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
            self._statement = _NEW.format("?")
        else:
            plain = url.replace("postgresql+psycopg://", "postgresql://")
            self._connection = psycopg.connect(plain, autocommit=True)
            self._connection.execute("SET assent.org = '*'")
            self._statement = _NEW.format("%s")
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
            await asyncio.sleep(_EVERY)

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
