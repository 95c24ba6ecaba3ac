"""Files with secrets, arguments or what shows a restore are their owner's alone, whatever the umask is."""

from __future__ import annotations

import os
import sqlite3
import sys
from asyncio import create_subprocess_exec, to_thread
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from app.storage.identity.secret_ids import remember_secret
from app.storage.trail.head_file import Heads, write_heads
from assent.executor.epoch import Epoch
from migrations import run
from tests.requirements import requirement
from tests.storage.rig import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def careless() -> Iterator[None]:
    """Let whatever is made be everybody's."""
    before = os.umask(0)
    yield
    os.umask(before)


def _rights(folder: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir() if path.is_file()}


@requirement("S-67")
@pytest.mark.usefixtures("careless")
async def test_the_database_and_all_that_stands_beside_it_are_its_owners_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    await to_thread(run.upgrade, url)
    async with open_store(url) as store:
        await store.write(lambda tx: tx.now(), org="acme")
        await to_thread(write_heads, tmp_path / "a.db.head", Heads(epoch=0, orgs={}))
        await to_thread(Epoch._write, tmp_path / "epoch", 3)
        found = await to_thread(_rights, tmp_path)
        assert {"a.db", "a.db-wal", "a.db-shm", "a.db.head", "epoch"} <= set(found)
        assert set(found.values()) == {"0o600"}


@requirement("S-67")
@pytest.mark.usefixtures("careless")
async def test_a_database_that_was_everybodys_becomes_its_owners(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE x (y)")
        assert "0o644" in _rights(tmp_path).values()
        async with open_store(url) as store:
            await store.read(lambda tx: tx.now(), org="acme")
            assert set((await to_thread(_rights, tmp_path)).values()) == {"0o600"}


@requirement("S-67", "F-01")
@pytest.mark.process
async def test_a_database_that_is_open_keeps_its_locks_while_others_come_and_go(tmp_path: Path) -> None:
    """Closing any descriptor of a file drops all of a process's locks on it: then a stranger deletes the log."""
    database = tmp_path / "a.db"
    url = f"sqlite:///{database}"
    await to_thread(run.upgrade, url)
    async with open_store(url) as store:  # three lanes: each opens the file while the others have it open
        for read_or_write in (store.read, store.write, store.read):
            await read_or_write(lambda tx: tx.now(), org="acme")
        await store.read(lambda tx: tx.now(), org="acme", long=True)
        await store.write(lambda tx: remember_secret(tx, "k"), org="acme")
        stranger = f"import sqlite3; sqlite3.connect({str(database)!r}).execute('SELECT * FROM secret_ids').fetchall()"
        process = await create_subprocess_exec(sys.executable, "-c", stranger)
        assert await process.wait() == 0
        assert await to_thread((tmp_path / "a.db-wal").exists)
        await store.write(lambda tx: remember_secret(tx, "k2"), org="acme")
    with closing(sqlite3.connect(database)) as seen:
        assert seen.execute("SELECT key_id FROM secret_ids ORDER BY key_id").fetchall() == [("k",), ("k2",)]
