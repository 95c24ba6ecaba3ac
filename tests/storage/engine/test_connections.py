"""What a connection is set to decides what survives: durability, waiting, whose rows are seen."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from app.clock import SystemClock
from app.domain.errors import UnavailableError
from app.storage.engine import dialect
from app.storage.engine import store as engine_store
from app.storage.engine.dialect import Sqlite
from app.storage.engine.postgres import Postgres
from app.storage.engine.transaction import Statement
from app.storage.tables.tables import requests
from tests.domain.samples import a_call
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.storage.rig import given_request, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Sqlite:
    return Sqlite(str(tmp_path / "a.db"), SystemClock())


def prepared(file: Sqlite) -> sqlite3.Connection:
    connection = file.connect()
    file.prepare(connection)
    return connection


@requirement("F-01")
def test_a_commit_of_sqlite_is_on_the_disk_before_it_is_answered(sqlite_file: Sqlite) -> None:
    connection = prepared(sqlite_file)
    names = ("synchronous", "journal_mode", "foreign_keys")
    set_to = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
    connection.close()
    expected = {"synchronous": 2, "journal_mode": "wal", "foreign_keys": 1}
    assert set_to == expected, "2 is FULL: an fsync for each commit"


def test_a_writer_of_sqlite_has_its_lock_from_the_beginning(sqlite_file: Sqlite) -> None:
    one, other = prepared(sqlite_file), prepared(sqlite_file)
    other.execute("PRAGMA busy_timeout=0")
    sqlite_file.begin(one, write=True)
    with pytest.raises(sqlite3.OperationalError, match="locked"):  # what it has read cannot go stale
        sqlite_file.begin(other, write=True)
    sqlite_file.begin(other, write=False)
    one.close()
    other.close()


@requirement("F-13")
def test_a_new_file_is_opened_once_whoever_writes_to_it_has_let_go(
    sqlite_file: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself refuses at once to begin a write-ahead log beside a writer: no wait is set that it would heed."""
    writer = sqlite3.connect(sqlite_file._path, isolation_level=None)
    writer.execute("CREATE TABLE a (b)")
    writer.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(time, "sleep", lambda _: writer.execute("COMMIT"))  # it lets go once it was waited for
    opened = sqlite_file.connect()
    sqlite_file.prepare(opened)
    assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert not writer.in_transaction
    opened.close()
    writer.close()


@requirement("F-13")
def test_a_new_file_that_somebody_goes_on_writing_to_is_refused_in_time(
    sqlite_file: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "LOCK_SECONDS", 0.05)
    writer, opened = sqlite3.connect(sqlite_file._path, isolation_level=None), sqlite_file.connect()
    writer.execute("CREATE TABLE a (b)")
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        sqlite_file.prepare(opened)
    opened.close()
    writer.close()


@pytest.mark.postgres
@requirement("F-13")
def test_a_session_of_postgresql_waits_for_nobody_without_end(postgres_url: str) -> None:
    dialect = Postgres(postgres_url)
    with dialect.connect() as connection:
        dialect.prepare(connection)
        names = ("idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout", "transaction_timeout")
        shown = [connection.execute("SELECT current_setting(%s, true)", (name,)).fetchone() for name in names]
    old = ("5s", "15s", "4s")
    assert [row and row[0] for row in shown] in ([*old, "8s"], [*old, None])


@pytest.mark.postgres
@requirement("F-38")
async def test_rows_are_found_by_key_by_whoever_reads_and_by_whoever_writes(postgres_url: str) -> None:
    names = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit")
    settings = Statement(select(*(func.current_setting(name).label(name) for name in names)))
    async with open_store(postgres_url) as store:
        written = await store.write(lambda tx: tx.one(settings), org="acme")
        read = await store.read(lambda tx: tx.one(settings), org="acme")
        long = await store.read(lambda tx: tx.one(settings), org="acme", long=True)
    assert written == read == long == dict.fromkeys(names, "off")


_EVERY_ORG = Statement(select(requests.c.org).distinct())


@pytest.mark.postgres
@requirement("S-14")
async def test_a_unit_of_one_org_sees_its_rows_alone_whatever_its_statement_forgets(postgres_url: str) -> None:
    async with open_store(postgres_url) as store:
        await given_request(store, "req_1")
        await given_request(store, "req_2", call=a_call(org="globex"))

        def orgs(tx: Tx) -> list[str]:
            return [row["org"] for row in tx.all(_EVERY_ORG)]

        seen = [await store.write(orgs, org=org) for org in ("acme", "globex")]
        read = [await store.read(orgs, org=org) for org in ("acme", "globex")]
        both = await asyncio.gather(*(store.read(orgs, org=org) for org in ("acme", "globex", "acme", "nobody")))
    assert seen == read == [["acme"], ["globex"]]
    assert both == [["acme"], ["globex"], ["acme"], []]


@requirement("F-44", "F-38")
async def test_what_waits_for_the_database_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_store, "_MOST_WAITING", 3)
    begun, gate = threading.Event(), threading.Event()

    def held(_: Tx) -> str:
        begun.set()
        assert gate.wait(HANGS)
        return "done"

    def unit(_: Tx) -> str:
        return "done"

    first = asyncio.ensure_future(store.write(held, org="acme"))
    await asyncio.to_thread(begun.wait, HANGS)
    others = [asyncio.ensure_future(store.write(unit, org="acme")) for _ in range(9)]
    refused, waiting = await asyncio.wait_for(asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED), HANGS)
    gate.set()
    said: list[Any] = await asyncio.gather(first, *others, return_exceptions=True)
    assert waiting
    assert refused
    assert said.count("done") == 5
    assert [type(each) for each in said if each != "done"] == [UnavailableError] * 5
