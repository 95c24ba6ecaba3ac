"""What keeps a whole database from being used, as one word: for the callers' answer, readiness and a gauge."""

from __future__ import annotations

import sqlite3
import sys
from enum import Enum
from urllib.parse import unquote, urlsplit


class Trouble(Enum):
    """Why nothing can be written, or nothing at all. It is not a unit's mistake, and running it again does not help."""

    SILENT = "silent"  # frozen, or its host has vanished: no answer, and no error either
    UNREACHABLE = "unreachable"
    FULL = "full"
    READ_ONLY = "read_only"
    LOCKED = "locked"
    SCHEMA = "schema"  # tables or columns are not there
    UNSYNCED = "unsynced"  # the disk refused to sync a file: what it kept of what was written, nobody knows
    SUPERSEDED = "superseded"  # an old primary: another server took its place, and went on
    FAILED = "failed"  # it has failed itself: an I/O error, a broken file


_SAID = {
    Trouble.SILENT: "the database does not answer",
    Trouble.UNREACHABLE: "the database cannot be reached",
    Trouble.FULL: "the database's disk is full",
    Trouble.READ_ONLY: "the database takes no writes: it is read-only",
    Trouble.LOCKED: "somebody else holds what this would write, and does not let go",
    Trouble.SCHEMA: "the database is not as this gateway needs it",
    Trouble.UNSYNCED: "whether the disk kept what was written last, nobody knows: look at it, then start this gateway "
    "again",
    Trouble.SUPERSEDED: "the database server that answers was replaced by another one",
    Trouble.FAILED: "the database cannot be used right now",
}

_SQLSTATES = {
    "53100": Trouble.FULL,
    "25006": Trouble.READ_ONLY,
    "55P03": Trouble.LOCKED,
    "3F000": Trouble.SCHEMA,
    "42P01": Trouble.SCHEMA,
    "42703": Trouble.SCHEMA,
    "42883": Trouble.SCHEMA,
}
_SQLSTATE_CLASSES = {"53": Trouble.FAILED, "58": Trouble.FAILED, "XX": Trouble.FAILED}

_SQLITE = {
    sqlite3.SQLITE_BUSY: Trouble.LOCKED,
    sqlite3.SQLITE_LOCKED: Trouble.LOCKED,
    sqlite3.SQLITE_FULL: Trouble.FULL,
    sqlite3.SQLITE_READONLY: Trouble.READ_ONLY,
    sqlite3.SQLITE_IOERR: Trouble.FAILED,
    sqlite3.SQLITE_CANTOPEN: Trouble.FAILED,
    sqlite3.SQLITE_CORRUPT: Trouble.FAILED,
    sqlite3.SQLITE_NOTADB: Trouble.FAILED,
}
_UNSYNCED = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})
_LONGEST_CAUSE = 300
_NO_SUCH = ("no such table", "no such column", "has no column")


class SupersededError(Exception):
    """A server answers whose place another one has taken: what it says is of the past, what it is told gets lost."""


class NoRevisionError(Exception):
    """The table that says which schema the database has says none."""


def said_of(trouble: Trouble) -> str:
    """Say it to a caller."""
    return _SAID[trouble]


def trouble_of(error: BaseException) -> Trouble | None:
    """Return what a driver's error says of the whole database; None if it says nothing, or only of one unit."""
    if isinstance(error, SupersededError):
        return Trouble.SUPERSEDED
    if _is_of_postgres(error):
        state = getattr(error, "sqlstate", None) or ""
        return _SQLSTATES.get(state) or _SQLSTATE_CLASSES.get(state[:2])
    if isinstance(error, sqlite3.Error):
        if str(error).startswith(_NO_SUCH):
            return Trouble.SCHEMA
        code = getattr(error, "sqlite_errorcode", 0)
        return Trouble.UNSYNCED if code in _UNSYNCED else _SQLITE.get(code & 0xFF)
    return None


def _is_of_postgres(error: object) -> bool:
    """Whether the driver of PostgreSQL raised it: one that nobody has loaded has raised nothing."""
    driver = sys.modules.get("psycopg")
    return driver is not None and isinstance(error, driver.Error)


def database_fault(error: Exception, url: str) -> str | None:
    """Say in one line, without the password, what the database or its driver complains of; None for other errors."""
    cause: object = getattr(error, "orig", None) or error  # SQLAlchemy wraps the driver's own
    if isinstance(cause, NoRevisionError):
        return str(cause)
    if not isinstance(cause, sqlite3.Error) and not _is_of_postgres(cause):
        return "its address cannot be read" if type(error).__module__.startswith("sqlalchemy.") else None
    told = " ".join(str(cause).split())
    password = urlsplit(url).password or ""
    for secret in {password, unquote(password)} - {""}:
        told = told.replace(secret, "•••")
    return told[:_LONGEST_CAUSE] or type(cause).__name__
