"""Notice a database that was restored from a backup: its trail is behind what this gateway has seen of it.

What it has seen is kept in a small file (`storage/head_file.py`), written every few seconds and at the end, never in
the way of a call. A restored database calls spent approvals unspent, so nothing starts on one before it was declared.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from app.domain.errors import UnavailableError, UnsealedError
from app.storage.engine.transaction import EVERY_ORG
from app.storage.trail.head_file import (
    Doubted,
    HeadFileError,
    Heads,
    find_heads,
    find_lost,
    look_at_heads,
    read_heads,
    write_heads,
)

if TYPE_CHECKING:
    from pathlib import Path

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

log = structlog.get_logger(__name__)

_MEND = (
    "stop every gateway of it, run `assent restored --by E-MAIL --reason …`, then start again: see docs/operations.md"
)
_PUT_RIGHT = (
    "`assent audit verify` says more; put the row right: the file keeps what was seen last, and nothing is lost"
)


class RestoredError(Exception):
    """The database may have been restored and nobody has declared it; the text says so, and what to do."""


class WatchHeads:
    """The use case. Without a `path` it knows nothing and refuses nothing."""

    def __init__(self, *, store: Store, path: Path | None) -> None:
        """Take what it works on."""
        self._store = store
        self.path = path
        self._noted: Heads | None = None

    async def check(self) -> None:
        """Refuse to go on with a database that has lost what it once had. Raises RestoredError."""
        if self.path is None:
            return
        try:
            known = await asyncio.to_thread(read_heads, self.path)
        except HeadFileError as error:
            told = f"{self.path} cannot be read: {error}. It shows whether the database was restored from a backup"
            raise RestoredError(f"{told}. If it was, or if you are not sure: {_MEND}") from None
        if known is None:
            return
        try:
            lost = await self._store.read(lambda tx: find_lost(tx, known), org=EVERY_ORG, long=True)
        except UnsealedError as error:
            told = f"whether the database was restored from a backup cannot be told: {error.detail}"
            raise RestoredError(f"{told}. Put that row right: `assent audit verify` says more") from None
        if lost is not None:
            told = f"the database is older than what this gateway has seen of it: {lost}"
            raise RestoredError(f"{told}. It was restored from a backup, and calls spent approvals unspent: {_MEND}")
        self._noted = known

    async def note(self) -> None:
        """Write down how far the trail has come, if it has moved on; never anything older than what stands there.

        Nor what another gateway has seen that shares the file: this one may be left behind on an old primary. Nor what
        nothing bears out: of that the file keeps what was seen last, and the log says so for as long as it is so.
        """
        if self.path is None:
            return
        try:
            noted = await asyncio.to_thread(read_heads, self.path) or self._noted
        except HeadFileError:
            noted = self._noted

        def unit(tx: Tx) -> tuple[Heads, list[Doubted], str | None]:
            heads, doubted = look_at_heads(tx, noted)
            return heads, doubted, None if noted is None or heads == noted else find_lost(tx, noted)

        try:
            heads, doubted, lost = await self._store.read(unit, org=EVERY_ORG, long=True)
        except UnavailableError:
            return  # there is a next time
        except UnsealedError as error:
            heads, doubted, lost = noted, [Doubted(EVERY_ORG, error.detail)], None
        for each in doubted:
            log.error("head.doubted", org=each.org, why=each.why, mend=_PUT_RIGHT)
        if lost is not None:
            log.error("database.went_back", why=lost, mend=_MEND)
        elif heads is not None and heads != noted:
            await self._write(heads)

    async def renew(self) -> None:
        """Take the database as it is for the truth: after a restore was declared. Raises OSError."""
        if self.path is not None:
            heads = await self._store.read(find_heads, org=EVERY_ORG, long=True)
            await asyncio.to_thread(write_heads, self.path, heads)
            self._noted = heads

    async def _write(self, heads: Heads) -> None:
        path = self.path
        if path is None:
            return
        try:
            await asyncio.to_thread(write_heads, path, heads)
        except OSError as error:
            why = error.strerror
        else:
            self._noted = heads
            return
        log.error("heads.unwritten", file=str(path), why=why)
