"""Writes are impossible: refused within the bound and not once for each, seen by readiness, healed by themselves."""

from __future__ import annotations

import asyncio
import resource
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa

from app.domain.errors import UnavailableError
from app.storage.engine.transaction import Statement
from app.storage.engine.trouble import Trouble, said_of
from app.usecases.reading.read import Read
from app.usecases.upkeep.watch_writes import WatchWrites
from tests.domain.samples import a_call, a_request
from tests.requirements import requirement
from tests.storage.rig import ORG, behind, given_request, open_store, opening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.storage.engine.store import Store

QUEUED = 300
BOUND = 12.0
"""Seconds, on a busy machine, for as many as wait in three batches; a patience of a second each would take 300."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for dialect in ("app.storage.engine.dialect", "app.storage.engine.postgres"):
        monkeypatch.setattr(f"{dialect}.LOCK_SECONDS", 1)
        monkeypatch.setattr(f"{dialect}.LITTLE_SECONDS", 0.1)


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Hold what every write needs: the file, or one table."""
    with behind(url) as holder:
        holder.execute("BEGIN IMMEDIATE" if url.startswith("sqlite") else "BEGIN")
        if not url.startswith("sqlite"):
            holder.execute("LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE")
        yield
        holder.execute("ROLLBACK")


@contextmanager
def without_a_table(url: str) -> Iterator[None]:
    """Take one away, as a restore of half a backup does."""
    with behind(url) as owner:
        owner.execute("ALTER TABLE audit_heads RENAME TO heads_elsewhere")
    yield
    with behind(url) as owner:
        owner.execute("ALTER TABLE heads_elsewhere RENAME TO audit_heads")


@contextmanager
def without_room(url: str) -> Iterator[None]:
    """Let no file of this process grow: what the kernel then answers SQLite is what it says of a broken disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = Path(f"{sa.make_url(url).database}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


_READ_ONLY = "ALTER DATABASE {} SET default_transaction_read_only = {}"


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """Make it what a standby is: whoever connects may only read."""
    name = sa.make_url(url).database
    for state in ("on", "off"):
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("SET default_transaction_read_only = off")
            owner.execute(_READ_ONLY.format(name, state))  # type: ignore[arg-type]
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        if state == "on":
            yield


WAYS: dict[str, Any] = {"locked": locked, "schema": without_a_table, "failed": without_room, "read_only": read_only}


async def _burst(store: Store, many: int, name: str) -> list[Any]:
    requests = [a_request(f"req_{name}_{n}", call=a_call(session=f"{name}-{n}")) for n in range(many)]
    writes = [store.write(opening(each), org=ORG, about=each.id) for each in requests]
    return await asyncio.gather(*writes, return_exceptions=True)


@requirement("F-44")
@pytest.mark.timeout(90)
@pytest.mark.may_block  # the test itself reaches past the store
@pytest.mark.parametrize("why", ["locked", "schema"])
@pytest.mark.heavy
@pytest.mark.sampled(2)
async def test_while_nothing_can_be_written_all_are_refused_soon_and_then_it_heals(database_url: str, why: str) -> None:
    await _all_are_refused_until_it_heals(database_url, why)


@requirement("F-44", "F-26")
@pytest.mark.timeout(90)
@pytest.mark.may_block  # the test itself reaches past the store
async def test_a_disk_that_takes_no_more_is_told_of_and_heals(sqlite_url: str) -> None:
    await _all_are_refused_until_it_heals(sqlite_url, "failed")


@requirement("F-44")
@pytest.mark.timeout(90)
@pytest.mark.may_block  # the test itself reaches past the store
async def test_a_server_that_takes_no_writes_is_told_of_and_heals(postgres_url: str) -> None:
    await _all_are_refused_until_it_heals(postgres_url, "read_only")


async def _all_are_refused_until_it_heals(url: str, why: str) -> None:
    async with open_store(url) as store:
        await given_request(store)
        watch, read = WatchWrites(store=store), Read(store=store, book=None)  # type: ignore[arg-type]
        await watch()
        await read.answers()
        with WAYS[why](url):
            began = time.monotonic()
            said = await _burst(store, QUEUED, "during")
            assert time.monotonic() - began < BOUND
            assert {type(each) for each in said} == {UnavailableError}
            assert {each.detail for each in said} == {said_of(Trouble(why))}
            assert all(each.more["retry_after"] for each in said)
            await watch()
            assert store.trouble is Trouble(why)
            with pytest.raises(UnavailableError, match=said_of(Trouble(why))):
                await read.answers()
        with suppress(UnavailableError):  # a connection that was ended may be found out here
            await watch()
        await watch()
        assert store.trouble is None
        await read.answers()
        assert await _burst(store, 5, "after") == [None] * 5


@requirement("F-44")
@pytest.mark.may_block  # the test itself reaches past the store
async def test_one_row_that_somebody_holds_keeps_neither_its_neighbours_nor_readiness(postgres_url: str) -> None:
    async with open_store(postgres_url) as store:
        held = await given_request(store, "req_held")
        with behind(postgres_url) as holder:
            holder.execute("BEGIN")
            holder.execute("SELECT 1 FROM requests WHERE id = %s FOR UPDATE", (held.id,))
            touch = sa.text("UPDATE requests SET version = version WHERE id = 'req_held'")
            stuck = store.write(lambda tx: tx.write(Statement(touch)), org=ORG)
            said = await asyncio.gather(stuck, _burst(store, 20, "beside"), return_exceptions=True)
            assert isinstance(said[0], UnavailableError)
            assert said[1] == [None] * 20
            assert store.trouble is None
