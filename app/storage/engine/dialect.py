"""Where SQLite and PostgreSQL differ: connecting, beginning, the clock, and what an error means.

The differences are few and all here; statements, tests and use cases are the same on both.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import unquote

import psycopg
import psycopg.errors
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from app.storage.engine import line
from app.storage.engine.address import is_postgres, libpq_url
from app.storage.engine.line import Server
from app.storage.engine.private_files import keep_private
from app.storage.engine.trouble import Trouble, trouble_of
from app.storage.statements.payloads import CHANNEL, payloads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy.engine.interfaces import Dialect as SaDialect

    from app.ports import Clock

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
_TICKET = "pg_current_xact_id()::text"
_LOOK = f"SELECT {_NOW}, {_TICKET}"
_LOOK_ONLY = f"SELECT {_NOW}"
_SERVER = """\
SELECT system_identifier::text, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
FROM pg_control_system()"""
_TRANSACTION_TIMEOUT_SINCE = 170_000
_LOCK_SECONDS = 4
"""How long a statement waits for somebody else's lock."""
_LITTLE_SECONDS = 0.5
"""How long it does once others have waited in vain: a queue must not wait the whole time once for each in it."""


def to_us(instant: datetime) -> int:
    """Microseconds since 1970 UTC, exactly."""
    return (instant - EPOCH) // MICROSECOND


def from_us(microseconds: int) -> datetime:
    """The instant of a stored number, aware, in UTC."""
    return EPOCH + timedelta(microseconds=microseconds)


_BY_KEY = ("enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "jit = off")
"""A writer finds its rows by key. A plan that was made while a table was small must not go on when it is large."""


class Failure(Enum):
    """What the store does about a database error."""

    AGAIN = "again"  # a lost race (unique key, deadlock): the unit decides anew
    LOST = "lost"  # the connection is gone: what was not committed is run again on a new one
    FATAL = "fatal"  # the unit, or the database, is wrong: the caller is told


class CommitFate(Enum):
    """What became of a transaction whose COMMIT was not answered."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Seen(NamedTuple):
    """What a look at the clock tells: the instant that decides, and by what the fate of a COMMIT can be asked."""

    now: datetime
    ticket: str | None = None


class Dialect(Protocol):
    """What the store needs of a database."""

    name: str
    sa: SaDialect
    snapshots: bool
    """Whether a reader holds a snapshot, which its COMMIT lets go."""

    @property
    def beside(self) -> Sequence[sa.ColumnElement[Any]]:
        """What stands behind the columns of a select that `select_now` runs."""
        ...

    def connect(self) -> Any:
        """Open a connection for one thread of the store, within a bound."""
        ...

    def prepare(self, connection: Any, *, write: bool) -> None:
        """Make an opened connection ready for a lane of the store."""
        ...

    def server(self, connection: Any) -> Server | None:
        """Say which server this is, in a life of several; None where that cannot be told."""
        ...

    def cut(self, connection: Any) -> None:
        """End a connection from another thread, where that can be done: whoever waits on it gets an error."""
        ...

    def is_silent(self) -> bool:
        """Whether the database says nothing at all, not even to somebody new."""
        ...

    def patience(self, connection: Any, *, little: bool) -> None:
        """Say how long statements wait for others' locks: as ever, or only a moment, while it is in vain anyway."""
        ...

    def pipeline(self, connection: Any) -> AbstractContextManager[object]:
        """Inside, statements are sent without waiting for each one's answer, where the driver can."""
        ...

    def begin(self, connection: Any, *, write: bool) -> None:
        """Begin."""
        ...

    def scope(self, connection: Any, org: str) -> None:
        """Show this connection the rows of one org, from here on; a transaction that is rolled back takes it back."""
        ...

    def clock(self, connection: Any, *, write: bool) -> Seen:
        """Return the instant that decides; with it what a writer's COMMIT can be asked by."""
        ...

    def select_now(self, connection: Any, text: str, bound: Mapping[str, object]) -> tuple[list[Any], Seen]:
        """Run a writer's select, and read the clock in it, or behind it: after any lock that was taken before."""
        ...

    def notify(self, connection: Any, changed: Iterable[tuple[str, str]]) -> None:
        """Tell other replicas what changed."""
        ...

    def failure(self, error: Exception) -> Failure:
        """Say what to do about an error."""
        ...

    def fate(self, ticket: str | None, witness: str | None) -> CommitFate:
        """Say what became of a transaction whose COMMIT was not answered."""
        ...


def _into_wal(connection: sqlite3.Connection) -> None:
    """Have the file keep a write-ahead log, once another process that writes to it has let go.

    On a file that has none yet SQLite does not wait here, as it does for every other lock: of two that open a new
    database at once, or beside `assent migrate`, one would be told that it is locked.
    """
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)  # whoever opens a connection is a thread of its own
        else:
            return


class Sqlite:
    """One file, WAL, every commit on disk before it is answered. One process writes, through one thread."""

    name = "sqlite"

    def __init__(self, path: str, clock: Clock) -> None:
        """Take the file's path and the process's clock, which is the database's clock here."""
        self.sa: SaDialect = sqlite.dialect(paramstyle="named")
        self.beside = ()
        self.snapshots = True
        self._path = path
        self._clock = clock
        self._unsynced: Exception | None = None

    def connect(self) -> sqlite3.Connection:
        """Open a connection for one thread of the store, unless a sync has failed: then never again.

        The system forgets what a failed sync did not write, and the next one succeeds without it. Whoever begins anew
        reads what is really there.
        """
        if self._unsynced is not None:
            raise self._unsynced
        keep_private(self._path)
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=_LOCK_SECONDS)

    def prepare(self, connection: sqlite3.Connection, *, write: bool) -> None:
        """Make an opened connection ready for a lane of the store."""
        del write
        _into_wal(connection)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    def server(self, connection: sqlite3.Connection) -> Server | None:
        """None: a file has no standby."""

    def cut(self, connection: sqlite3.Connection) -> None:
        """Stop a statement that runs; what waits for the disk cannot be stopped."""
        connection.interrupt()

    def is_silent(self) -> bool:
        """No: a file has nobody behind it who could be asked."""
        return False

    def patience(self, connection: sqlite3.Connection, *, little: bool) -> None:
        """Say how long a statement waits for another process's lock on the file."""
        connection.execute(f"PRAGMA busy_timeout={round(1_000 * (_LITTLE_SECONDS if little else _LOCK_SECONDS))}")

    def pipeline(self, connection: sqlite3.Connection) -> AbstractContextManager[object]:
        """Nothing: there is no way to wait for."""
        del connection
        return nullcontext()

    def begin(self, connection: sqlite3.Connection, *, write: bool) -> None:
        """Begin; a writer takes the lock at once, so that nothing it reads can go stale."""
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def scope(self, connection: sqlite3.Connection, org: str) -> None:
        """Nothing: SQLite has no row security; every statement names its org."""

    def clock(self, connection: sqlite3.Connection, *, write: bool) -> Seen:
        """The process's clock: there is one process."""
        del connection, write
        return Seen(self._clock.now())

    def select_now(
        self, connection: sqlite3.Connection, text: str, bound: Mapping[str, object]
    ) -> tuple[list[Any], Seen]:
        """Run a select, and read the process's clock behind it."""
        return connection.execute(text, bound).fetchall(), Seen(self._clock.now())

    def notify(self, connection: sqlite3.Connection, changed: Iterable[tuple[str, str]]) -> None:
        """Nothing: whoever waits is in this process."""

    def failure(self, error: Exception) -> Failure:
        """Say what to do about an error."""
        if trouble_of(error) is Trouble.UNSYNCED:
            self._unsynced = error
        return Failure.AGAIN if isinstance(error, sqlite3.IntegrityError) else Failure.FATAL

    def fate(self, ticket: str | None, witness: str | None) -> CommitFate:
        """A failed COMMIT of SQLite did not commit, unless its sync failed: then nobody is told that it did not."""
        del ticket, witness
        return CommitFate.ABORTED


class Postgres:
    """Several gateway processes on one database; its clock is the one that decides."""

    name = "postgresql"

    def __init__(self, url: str) -> None:
        """Take a libpq connection string or URL."""
        self.sa: SaDialect = postgresql.dialect(paramstyle="pyformat")
        self.beside = (sa.literal_column(_NOW, sa.BigInteger), sa.literal_column(_TICKET, sa.Text))
        self.snapshots = False
        self.url = url

    def connect(self) -> psycopg.Connection[Any]:
        """Open a connection for one thread of the store."""
        return psycopg.connect(self.url, autocommit=True, prepare_threshold=3, **line.bounds_of(self.url))

    def prepare(self, connection: psycopg.Connection[Any], *, write: bool) -> None:
        """Make an opened connection ready for a lane of the store."""
        # A replica that is stopped inside a transaction must not hold its locks: the server ends its session, and what
        # it still wants to write when it comes back is refused.
        for setting in (
            "idle_in_transaction_session_timeout = '5s'",
            "statement_timeout = '15s'",
            *(_BY_KEY if write else ()),
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
        spans = (f"{_LITTLE_SECONDS if little else _LOCK_SECONDS}s",)
        connection.execute("SELECT set_config('lock_timeout', %s, false)", spans)

    def pipeline(self, connection: psycopg.Connection[Any]) -> AbstractContextManager[object]:
        """The protocol's pipeline mode: a round trip is paid only where a unit looks at a result."""
        return connection.pipeline()

    def begin(self, connection: psycopg.Connection[Any], *, write: bool) -> None:
        """Begin a writer's transaction. Each statement of a reader sees what was committed before it in any case."""
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

    def notify(self, connection: psycopg.Connection[Any], changed: Iterable[tuple[str, str]]) -> None:
        """Tell the other replicas, once for a whole group commit."""
        for payload in payloads(changed):
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


def dialect_for(url: str, clock: Clock) -> Sqlite | Postgres:
    """Choose by URL: ``sqlite:///path`` or ``postgresql://…``. Raises ValueError for anything else."""
    if is_postgres(url):
        return Postgres(libpq_url(url))
    parsed = sa.make_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database not in {None, "", ":memory:"}:
        return Sqlite(unquote(str(parsed.database)), clock)
    raise ValueError(f"ASSENT_DATABASE must be sqlite:///FILE or postgresql://…, not {backend!r}")
