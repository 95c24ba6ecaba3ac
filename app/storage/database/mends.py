"""What to do about a database that cannot be used: found by what its driver said, told to whoever gave the command."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from app.storage.engine.trouble import NoRevisionError
from app.storage.place.address import is_postgres, libpq_url

_ADDRESS: Final = "ASSENT_DATABASE_URL"
_ROLES: Final = "deploy/roles.sh makes the roles and the database, and docs/operations.md#backups says what each is for"
_RIGHTS: Final = (
    "the role {user} may not do this: `assent migrate` runs as the role that owns the tables (assent_owner), all else "
    "as one with the rights that deploy/roles.sh grants (assent_app)"
)
_UNWRITABLE: Final = """\
SELECT relname, current_user FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname = ANY(%s)
  AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT'))
ORDER BY relname"""
_POSTGRES: Final = (
    (r"password authentication failed|no password supplied", "{user}: write the password of that role into " + _ADDRESS
     + ", with / @ : # ? as %2F %40 %3A %23 %3F"),
    (r'role "[^"]*" does not exist', "correct the role in " + _ADDRESS + f"; {_ROLES}"),
    (r'database "[^"]*" does not exist', "create it, or correct its name in " + _ADDRESS + f"; {_ROLES}"),
    (r"resolve host|translate host name", "no such host as {host}: correct it in " + _ADDRESS),
    (r"Connection refused|No such file or directory|could not connect", "start PostgreSQL, or correct host and port"
     " ({host}) in " + _ADDRESS),
    (r"timeout expired|timed out|No route to host|Network is unreachable", "nothing answers at {host}: look at the"
     " network and its firewall, or correct " + _ADDRESS),
    (r"SSL|certificate", "see sslmode in " + _ADDRESS + " (…?sslmode=require), and whether {host} is a PostgreSQL"),
    (r"pg_hba", "let this machine in: pg_hba.conf on {host} has no line for it"),
    (r"too many (?:connections|clients)|remaining connection slots",
     "raise max_connections of PostgreSQL, or run fewer gateways"),
    (r"server version mismatch", "put a pg_dump of the server's version, or a newer one, first in PATH"),
    (r"No space left on device|Disk quota exceeded", "make room on the disk of the PostgreSQL at {host}"),
    (r"starting up|shutting down", "it starts or stops: try again in a moment"),
    (r"permission denied|must be owner", _RIGHTS),
)  # fmt: skip


def mend_of(error: Exception, url: str) -> str:
    """Say what to do about it."""
    cause: object = getattr(error, "orig", None) or error
    if isinstance(cause, NoRevisionError):
        return "put the row back that was there, as a backup has it, or restore the backup"
    if is_postgres(url):
        return _of_server(str(cause), url)
    if isinstance(cause, sqlite3.Error):
        return _of_file(cause, Path(unquote(url.removeprefix("sqlite:///").partition("?")[0])).absolute())
    return f"see {_ADDRESS}"


def lacking_rights(url: str) -> tuple[str, str] | None:
    """Say which of our tables the role of this URL may not write, and the mend; None where it may, or on SQLite."""
    if not is_postgres(url):
        return None
    import psycopg

    from app.storage.engine.line import bounds_of
    from app.storage.tables import tables

    address = libpq_url(url)
    with psycopg.connect(address, **bounds_of(address)) as connection:
        rows = connection.execute(_UNWRITABLE, [list(tables.metadata.tables)]).fetchall()
    if not rows:
        return None
    named = ", ".join(str(name) for name, _ in rows[:3]) + (", …" if len(rows) > 3 else "")
    return f"the role {rows[0][1]} may not write {named}", _RIGHTS.format(user=rows[0][1])


def _of_server(told: str, url: str) -> str:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        said = conninfo_to_dict(libpq_url(url))
    except psycopg.ProgrammingError:
        return f"write {_ADDRESS} as postgresql://ROLE:PASSWORD@HOST:PORT/DATABASE"
    place = {"host": said.get("host", "this machine"), "user": said.get("user", "the role")}
    for pattern, mend in _POSTGRES:
        if re.search(pattern, told):
            return mend.format(**place)
    return f"see {_ADDRESS}, and whether PostgreSQL runs"


def _of_file(cause: sqlite3.Error, path: Path) -> str:
    match getattr(cause, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CANTOPEN if not path.parent.is_dir():
            return f"make the folder {path.parent}, or correct {_ADDRESS}"
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_READONLY:
            return f"let this account read and write {path} and its folder (SQLite writes beside it), or name another"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} is held by {_holders(path)}: end it, or wait until it is done, and say the same again"
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return f"{path} is no sound SQLite file: name another in {_ADDRESS}, or restore a backup"
        case sqlite3.SQLITE_FULL:
            return f"make room on the disk of {path}"
        case _:
            return f"look at {path}, which {_ADDRESS} names"


def _holders(path: Path) -> str:
    """Name the processes that have the file open, as far as this account may see."""
    others = (entry for entry in Path("/proc").glob("[0-9]*") if entry.name != str(os.getpid()))
    found = [f"process {entry.name}{_called(entry)}" for entry in others if _has_open(entry, path)]
    return ", ".join(found[:5]) or "another process (of another account, or of a container)"


def _has_open(process: Path, path: Path) -> bool:
    with suppress(OSError):
        return any(os.path.realpath(handle) == os.path.realpath(path) for handle in (process / "fd").iterdir())
    return False


def _called(process: Path) -> str:
    with suppress(OSError):
        words = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        return f" ({words})" if words.isprintable() else ""
    return ""
