"""Where SQLite and PostgreSQL differ: connecting, beginning, the clock, and what an error means.

The differences are few, and all here and in `app.storage.engine.postgres`, which is loaded, and its driver with it, by
who uses PostgreSQL; statements, tests and use cases are the same on both.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy.dialects import sqlite

from app.storage.engine.trouble import Trouble, trouble_of
from app.storage.place.private_files import keep_private
from app.storage.statements.together import LostGuardError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import sqlalchemy as sa
    from sqlalchemy.engine.interfaces import Dialect as SaDialect

    from app.ports import Clock
    from app.storage.engine.line import Server

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
LOCK_SECONDS = 4
"""How long a statement waits for somebody else's lock."""
LITTLE_SECONDS = 0.5
"""How long it does once others have waited in vain: a queue must not wait the whole time once for each in it."""


def to_us(instant: datetime) -> int:
    """Microseconds since 1970 UTC, exactly."""
    return (instant - EPOCH) // MICROSECOND


def from_us(microseconds: int) -> datetime:
    """The instant of a stored number, aware, in UTC."""
    return EPOCH + timedelta(microseconds=microseconds)


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
    sender: str
    """By what this process knows again what it has told the others itself."""

    @property
    def beside(self) -> Sequence[sa.ColumnElement[Any]]:
        """What stands behind the columns of a select that `select_now` runs."""
        ...

    def connect(self) -> Any:
        """Open a connection for one thread of the store, within a bound."""
        ...

    def prepare(self, connection: Any) -> None:
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

    def begin(self, connection: Any, *, write: bool) -> int | None:
        """Begin. Return what is another number once anybody else has committed; None where nothing tells."""
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

    def guard(self, connection: Any, text: str, bound: Mapping[str, object]) -> None:
        """Run a write that must touch one row, or LostGuardError comes: at the latest as the pipeline is left."""
        ...

    def hold(self, connection: Any, text: str, bound: Mapping[str, object]) -> None:
        """Run a select that must find a row, or LostGuardError comes: at the latest as the pipeline is left."""
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
    until = time.monotonic() + LOCK_SECONDS
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
    sender = ""  # nobody else is told

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
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=LOCK_SECONDS)

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Make an opened connection ready for a lane of the store."""
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
        connection.execute(f"PRAGMA busy_timeout={round(1_000 * (LITTLE_SECONDS if little else LOCK_SECONDS))}")

    def pipeline(self, connection: sqlite3.Connection) -> AbstractContextManager[object]:
        """Nothing: there is no way to wait for."""
        del connection
        return nullcontext()

    def begin(self, connection: sqlite3.Connection, *, write: bool) -> int | None:
        """Begin; a writer takes the lock at once, so that nothing it reads can go stale.

        `data_version` changes with each commit of any other connection, of whatever program; each counts for itself.
        """
        if not write:
            connection.execute("BEGIN")
            return None
        connection.execute("BEGIN IMMEDIATE")
        return int(connection.execute("PRAGMA data_version").fetchone()[0])

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

    def guard(self, connection: sqlite3.Connection, text: str, bound: Mapping[str, object]) -> None:
        """Run a write, and look whether it touched one row."""
        if connection.execute(text, bound).rowcount != 1:
            raise LostGuardError

    def hold(self, connection: sqlite3.Connection, text: str, bound: Mapping[str, object]) -> None:
        """Run a select, and look whether it found a row."""
        if not connection.execute(text, bound).fetchall():
            raise LostGuardError

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
