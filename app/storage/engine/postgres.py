"""PostgreSQL, as the store needs it: several gateway processes on one database."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import psycopg.errors
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app.storage.engine import line
from app.storage.engine.dialect import LITTLE_SECONDS, LOCK_SECONDS, CommitFate, Failure, Seen, from_us
from app.storage.engine.line import Server
from app.storage.engine.trouble import trouble_of
from app.storage.statements.payloads import CHANNEL, payloads
from app.storage.statements.together import LostGuardError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from datetime import datetime

    from sqlalchemy.engine.interfaces import Dialect as SaDialect

_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
_TICKET = "pg_current_xact_id()::text"
_LOOK = f"SELECT {_NOW}, {_TICKET}"
_LOOK_ONLY = f"SELECT {_NOW}"
_SERVER = """\
SELECT system_identifier::text, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
FROM pg_control_system()"""
_TRANSACTION_TIMEOUT_SINCE = 170_000

_BY_KEY = ("enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "jit = off")
"""Rows are found by key. A plan that was made while a table was small must not go on when it is large."""


class Postgres:
    """Several gateway processes on one database; its clock is the one that decides."""

    name = "postgresql"

    def __init__(self, url: str) -> None:
        """Take a libpq connection string or URL."""
        self.sa: SaDialect = postgresql.dialect(paramstyle="pyformat")
        self.beside = (sa.literal_column(_NOW, sa.BigInteger), sa.literal_column(_TICKET, sa.Text))
        self.snapshots = False
        self.url = url
        self.sender = secrets.token_hex(8)  # not the connection's process: a pooler gives that another number

    def connect(self) -> psycopg.Connection[Any]:
        """Open a connection for one thread of the store."""
        return psycopg.connect(self.url, autocommit=True, prepare_threshold=3, **line.bounds_of(self.url))

    def prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Make an opened connection ready for a lane of the store."""
        # A replica that is stopped inside a transaction must not hold its locks: the server ends its session, and what
        # it still wants to write when it comes back is refused.
        for setting in (
            "idle_in_transaction_session_timeout = '5s'",
            "statement_timeout = '15s'",
            *_BY_KEY,
        ):
            connection.execute(f"SET {setting}")
        self.patience(connection, little=False)
        # The first of these is not kept inside a pipeline; this one always is, from PostgreSQL 17 on.
        if connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
            connection.execute("SET transaction_timeout = '8s'")

    def server(self, connection: psycopg.Connection[Any]) -> Server | None:
        """Ask for its system's number and its timeline; a standby, or a relative that has neither, does not say."""
        try:
            row = connection.execute(_SERVER).fetchone()
        except psycopg.Error:
            if connection.closed:
                raise
            return None
        return Server(*row) if row else None

    def cut(self, connection: psycopg.Connection[Any]) -> None:
        """End the connection's socket under whoever waits on it."""
        line.cut(connection)

    def is_silent(self) -> bool:
        """Whether the server says nothing to a new connection either. Blocks for as long as that may take."""
        return line.is_silent(self.url)

    def patience(self, connection: psycopg.Connection[Any], *, little: bool) -> None:
        """Say how long a statement waits for a lock."""
        spans = (f"{LITTLE_SECONDS if little else LOCK_SECONDS}s",)
        connection.execute("SELECT set_config('lock_timeout', %s, false)", spans)

    @contextmanager
    def pipeline(self, connection: psycopg.Connection[Any]) -> Generator[None]:
        """The protocol's pipeline mode: a round trip is paid only where a unit looks at a result.

        Raises LostGuardError where the server has found that a guarded write did not touch its rows (`together.py`).
        """
        try:
            with connection.pipeline():
                yield
        except psycopg.errors.DivisionByZero as error:
            raise LostGuardError from error

    def begin(self, connection: psycopg.Connection[Any], *, write: bool) -> None:
        """Begin a writer's transaction. Each statement of a reader sees what was committed before it in any case.

        Nothing tells who else has committed: that is read, behind the locks.
        """
        if write:
            connection.execute("BEGIN")

    def scope(self, connection: psycopg.Connection[Any], org: str) -> None:
        """Show this connection the rows of one org (``*``: of all), from here on."""
        connection.execute("SELECT set_config('assent.org', %s, false)", (org,))

    def clock(self, connection: psycopg.Connection[Any], *, write: bool) -> Seen:
        """The database's wall clock at this very statement, not at the transaction's start."""
        row = connection.execute(_LOOK if write else _LOOK_ONLY).fetchone()
        return Seen(self.instant(row[0]), *row[1:]) if row else Seen(self.instant(0))

    def select_now(
        self, connection: psycopg.Connection[Any], text: str, bound: Mapping[str, object]
    ) -> tuple[list[Any], Seen]:
        """Run a select with the database's clock in its rows; without any, ask for the clock behind it."""
        found = connection.execute(text, bound).fetchall()  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL
        if not found:
            return [], self.clock(connection, write=True)
        now, ticket = found[-1][-2:]  # the last is the latest: the clock goes on while they are made
        return [row[:-2] for row in found], Seen(self.instant(now), ticket)

    def instant(self, microseconds: int) -> datetime:
        """Return what the clock says."""
        return from_us(microseconds)

    def guard(self, connection: psycopg.Connection[Any], text: str, bound: Mapping[str, object]) -> None:
        """Run a write that fails unless it touches one row: nobody has to look before the COMMIT is sent."""
        checked = f"WITH touched AS ({text} RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM touched"  # noqa: S608 - our own SQL
        connection.execute(checked, bound)  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL

    def hold(self, connection: psycopg.Connection[Any], text: str, bound: Mapping[str, object]) -> None:
        """Run a select that fails unless it finds a row."""
        checked = f"SELECT 1 / (count(*) > 0)::int FROM ({text}) AS found"  # noqa: S608 - our own SQL
        connection.execute(checked, bound)  # pyright: ignore[reportArgumentType, reportCallIssue] - our own SQL

    def notify(self, connection: psycopg.Connection[Any], changed: Iterable[tuple[str, str]]) -> None:
        """Tell the other replicas, once for a whole group commit."""
        for payload in payloads(changed, sender=self.sender):
            connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))

    def failure(self, error: Exception) -> Failure:
        """Say what to do about an error."""
        match error:
            case (
                psycopg.errors.UniqueViolation()
                | psycopg.errors.DeadlockDetected()
                | psycopg.errors.SerializationFailure()
            ):
                return Failure.AGAIN
            case psycopg.errors.QueryCanceled():
                return Failure.FATAL
            case _ if trouble_of(error) is not None:
                return Failure.FATAL
            case (
                psycopg.OperationalError()
                | psycopg.InterfaceError()
                | psycopg.errors.IdleInTransactionSessionTimeout()
                | psycopg.errors.TransactionTimeout()
            ):
                return Failure.LOST
            case _:
                return Failure.FATAL

    def fate(self, ticket: str | None, witness: str | None) -> CommitFate:
        """Ask the server, on a new connection, whether a transaction committed (`pg_xact_status`, PostgreSQL 13)."""
        match line.fate_of(self.url, ticket, witness):
            case "committed":
                return CommitFate.COMMITTED
            case "aborted":
                return CommitFate.ABORTED
            case _:
                return CommitFate.UNKNOWN
