"""A store to test with: any database, a clock that is moved by hand, and plain SQL to look behind the store's back."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa

from app.clock import SystemClock
from app.domain.identity.seals import Seals
from app.domain.lifecycle.lifecycle import opened
from app.domain.trail.audit import Kind, Record
from app.domain.trail.chain import GENESIS, first_fault
from app.identifiers import RandomIds
from app.storage.engine.dialect import Sqlite
from app.storage.engine.postgres import Postgres
from app.storage.identity.vault import ValueKey, number_of
from app.storage.make_store import dialect_for, make_store
from app.storage.requests.requests import lock_request
from app.storage.tables.request_columns import EXECUTION, REQUEST
from app.storage.trail.audit_chain import get_head, list_events
from app.usecases.proving.seal_standing import SealStanding
from app.usecases.writing.carry_out import carry_out, open_request
from tests.domain.samples import START, a_call, a_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime, timedelta

    from app.domain.lifecycle.lifecycle import Step
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.dialect import Dialect
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

ORG = "acme"


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        """Start at a fixed instant."""
        self._now = now

    def now(self) -> datetime:
        """Return the instant it stands at."""
        return self._now

    def advance(self, span: timedelta) -> None:
        """Move it, forward or back."""
        self._now += span


class ManualPostgres(Postgres):
    """PostgreSQL as it is, but with the time of a manual clock."""

    def __init__(self, url: str, clock: ManualClock) -> None:
        super().__init__(url)
        self._clock = clock

    def instant(self, microseconds: int) -> datetime:
        """Tell the manual time instead of what the database says."""
        del microseconds
        return self._clock.now()


def manual_dialect(url: str, clock: ManualClock) -> Dialect:
    """Return the dialect of a URL at a manual clock's time."""
    real = dialect_for(url, clock)
    return real if isinstance(real, Sqlite) else ManualPostgres(real.url, clock)


class Overheard:
    """A connection that says what it is told, before it is told it; a rollback is said as one."""

    def __init__(self, real: Any, hear: Callable[[str], None]) -> None:
        self._real, self._hear = real, hear

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def rollback(self) -> None:
        self._hear("ROLLBACK")
        self._real.rollback()

    def execute(self, statement: str, *arguments: Any) -> Any:
        self._hear(statement)
        return self._real.execute(statement, *arguments)


def overhear_writer(dialect: Dialect, hear: Callable[[str], None]) -> None:
    """Let the writing lane of a store to be made of this dialect be overheard."""
    connect = dialect.connect
    main = threading.current_thread()

    def overheard() -> Any:
        assert threading.current_thread() is not main
        real = connect()
        return Overheard(real, hear) if "write" in threading.current_thread().name else real

    dialect.connect = overheard  # type: ignore[method-assign]


def note(name: str) -> Callable[[Tx], str]:
    """Return a unit that says something in the trail, in a name."""

    def unit(tx: Tx) -> str:
        tx.append(Record(kind=Kind.POLICY_LOADED, actor=name, facts={}))
        tx.changed(name, None)
        return name

    return unit


async def notes(store: Store, org: str = ORG) -> list[str]:
    """Return who says something in an org's trail, which is whole, and its head the last of it."""
    events = await store.read(lambda tx: list_events(tx, after=-1, most=1_000), org=org)
    assert first_fault(events) is None
    head = (events[-1].seq, events[-1].hash) if events else (-1, GENESIS)
    assert await store.read(get_head, org=org) == head
    return [event.record.actor for event in events]


@asynccontextmanager
async def open_store(url: str, clock: ManualClock | None = None, *, seals: Seals | None = None) -> AsyncIterator[Store]:
    """Run a store; without a clock it has the real one, without `seals` it seals nothing."""
    dialect = manual_dialect(url, clock) if clock else dialect_for(url, SystemClock())
    store = make_store(dialect, RandomIds(), seals=seals)
    store.start()
    try:
        yield store
    finally:
        await store.stop()


@contextmanager
def behind(url: str, *, scope: str | None = "*") -> Iterator[Any]:
    """Connect past the store, as somebody with a console would. `scope`: which org's rows PostgreSQL shows."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        connection = sqlite3.connect(str(parsed.database), isolation_level=None, timeout=5)
        connection.execute("PRAGMA foreign_keys=ON")
    else:
        connection = psycopg.connect(url, autocommit=True)
        if scope is not None:
            connection.execute("SELECT set_config('assent.org', %s, false)", (scope,))
    try:
        yield connection
    finally:
        connection.close()


def look(url: str, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a plain query over all orgs."""
    with behind(url) as connection:
        return [tuple(row) for row in connection.execute(query).fetchall()]


WAITING_FOR_A_LOCK = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)
"""How many of PostgreSQL's sessions do, in one database."""

REFUSED = (sqlite3.IntegrityError, psycopg.Error)
"""What the two drivers raise when the database itself says no."""


def opening(request: ConfirmationRequest) -> Callable[[Tx], None]:
    """Return the unit that opens a request."""

    def unit(tx: Tx) -> None:
        open_request(tx, opened(request), targets=dict.fromkeys(request.card_channels, "C1"))

    return unit


def stepping(request_id: str, step: Callable[[ConfirmationRequest, datetime], Step]) -> Callable[[Tx], Step]:
    """Return the unit that locks a request, asks a machine, and carries its step out."""

    def unit(tx: Tx) -> Step:
        locked = lock_request(tx, request_id)
        assert locked is not None
        made = step(*locked)
        carry_out(tx, locked[0], made)
        return made

    return unit


async def given_request(store: Store, request_id: str = "req_1", **changes: Any) -> ConfirmationRequest:
    """Put a pending request into a store, in a session of its own."""
    changes.setdefault("call", a_call(session=f"s-{request_id}"))
    request = a_request(request_id, **changes)
    await store.write(opening(request), org=request.call.org, about=request.id)
    return request


async def sealed_anew(url: str, seals: Seals) -> None:
    """Seal what stands, as an operator can: a test has moved its times in the database itself."""
    async with open_store(url, seals=seals) as store:
        await SealStanding(store=store, seals=seals).again(ORG, by="test", reason="its times were moved")


def in_clear(url: str, secret: str) -> None:
    """Make of a database one from before values were encrypted; a stranger to its fences, with the secret."""
    seals = Seals([secret])
    mark = "?" if url.startswith("sqlite") else "%s"
    with behind(url) as connection:
        wrapped = connection.execute("SELECT org, number, wrapped FROM value_keys").fetchall()
        keys: dict[tuple[str, int | None], ValueKey] = {
            (org, number): ValueKey.unwrapped(seals, org, number, text) for org, number, text in wrapped
        }
        connection.execute("DELETE FROM value_keys")
        guard = _without_guard(connection, lite=mark == "?")
        for table, columns, of in (("requests", REQUEST, "id"), ("executions", EXECUTION, "request_id")):
            names = list(columns.hidden)
            rows = connection.execute(f"SELECT org, {of}, id, {', '.join(names)} FROM {table}").fetchall()
            found = [(*row[:3], name, value) for row in rows for name, value in zip(names, row[3:], strict=True)]
            for org, request_id, row_id, name, value in found:
                key = keys.get((org, number_of(value or "")))
                clear = key.read(value, f"{request_id}\n{row_id}\n{name}") if key else value
                connection.execute(f"UPDATE {table} SET {name} = {mark} WHERE id = {mark}", (clear, row_id))
        connection.execute(guard)


def _without_guard(connection: Any, *, lite: bool) -> str:
    """Let rows be changed without another version; return what ends that."""
    if not lite:
        connection.execute("ALTER TABLE requests DISABLE TRIGGER requests_versioned")
        return "ALTER TABLE requests ENABLE TRIGGER requests_versioned"
    made = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'requests_versioned'").fetchone()[0]
    connection.execute("DROP TRIGGER requests_versioned")
    return made
