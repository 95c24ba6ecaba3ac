"""`assent backup`: write everything that is committed into one file, while gateways work.

It needs the database alone. The file is whole or it is not there: it is written beside its place, and moved last.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

# Everything else is imported where it runs: see `app.cli.commands`.

_NO_TOOL = "pg_dump is not here: install PostgreSQL's client tools, of the server's version or newer"
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_HELD_FOR = 5.0
"""Seconds for which somebody else may hold the whole file."""

_AFTER = """\
Beside it you need, kept elsewhere: ASSENT_SECRET, assent.yaml. Keep the .head file and ASSENT_STATE_DIR out of backups.
After a restore say `assent restored`, before a gateway starts: docs/operations.md"""


def backup(path: Annotated[Path, typer.Argument(help="the file to write; none may be there")]) -> None:
    """Write a backup: a SQLite file, or what pg_restore reads. On PostgreSQL it connects as ASSENT_BACKUP_URL says."""
    from app.cli.beside_database import database_or_exit, read_settings
    from app.storage.place.address import is_postgres

    settings = read_settings()
    url = settings.database_url
    if path.exists():
        _refuse(f"{path} is there already: nothing is overwritten")
    if not path.parent.is_dir():
        _refuse(f"{path} cannot be written: make the folder {path.parent} first")
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with database_or_exit(url):
            if is_postgres(url):
                _dump(settings.backup_url.get_secret_value() if settings.backup_url else url, beside)
            else:
                _copy(url, beside)
        _sync(beside)
        beside.rename(path)
    except OSError as error:
        may = error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}
        mend = "" if may else f"\nmend: let this account write in the folder {path.parent.absolute()}, or name another"
        _refuse(f"{path} cannot be written: {error.strerror}{mend}")
    finally:
        with suppress(OSError):  # of a folder that takes nothing, it is said already
            beside.unlink(missing_ok=True)
    typer.echo(f"{path}: {path.stat().st_size:,} bytes\n{_AFTER}")


def _refuse(why: str) -> None:
    typer.echo(why, err=True)
    raise typer.Exit(code=2)


def _copy(url: str, into: Path) -> None:
    """Let SQLite copy its own file, page by page, beside whoever writes; then look over the copy."""
    import sqlite3
    from contextlib import closing

    from app.storage.trail.head_file import sqlite_file

    source = sqlite_file(url)
    if not source.exists():
        _refuse(f"{source} is not there: ASSENT_DATABASE_URL names no database")
    with closing(sqlite3.connect(source, timeout=10)) as live, closing(sqlite3.connect(into)) as copy:
        try:
            live.backup(copy, progress=_Patience())
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
                raise
            _refuse(f"the copy could not be written, and nothing is kept: {error}\nmend: {_room(into)}")
        [(said,)] = copy.execute("PRAGMA integrity_check(1)").fetchall()
    if said != "ok":
        _refuse(f"the copy is not sound, and is not kept: {said}")


class _Patience:
    """Lets SQLite try again while somebody holds the file, but not for ever, as it would by itself."""

    def __init__(self) -> None:
        import time

        self._clock = time.monotonic
        self._until: float | None = None

    def __call__(self, status: int, *_: int) -> None:
        import sqlite3

        if status not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            self._until = None
            return
        self._until = self._until or self._clock() + _HELD_FOR
        if self._clock() > self._until:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error


def _dump(url: str, into: Path) -> None:
    """Let pg_dump write all rows of all orgs: row security stays on, and its scope is that of all."""
    import shutil
    import subprocess

    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from app.storage.database.mends import mend_of
    from app.storage.engine.line import bounds_of
    from app.storage.place.address import libpq_url

    tool = shutil.which("pg_dump")
    if tool is None:
        _refuse(_NO_TOOL)
        return
    address = libpq_url(url)
    said = {**bounds_of(address), **conninfo_to_dict(address)}
    password = said.pop("password", None)  # not among the words of a process, which everybody on the host can read
    said["options"] = f"{said.get('options', '')} -c assent.org=*".strip()
    words = [
        tool,
        "--format=custom",
        "--enable-row-security",
        f"--file={into}",
        f"--dbname={make_conninfo('', **said)}",
    ]
    environ = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    done = subprocess.run(words, env=environ, check=False, capture_output=True, text=True, errors="replace")  # noqa: S603 - our own words
    if done.returncode != 0:
        why = " ".join(done.stderr.split()).replace(str(password) if password else "\0", "•••")
        if done.returncode < 0:
            why = f"{_signal(-done.returncode)} ended it{': ' + why if why else ''}"
            mend = (
                "see what did, and say it again: a limit on the size of files (ulimit -f), a lack of memory, a person"
            )
        elif _FULL.search(why) and "ERROR:" not in why:  # what the server says has that word; else it is our own disk
            mend = _room(into)
        else:
            mend = mend_of(psycopg.OperationalError(why), url)
        _refuse(f"pg_dump failed, and nothing is kept: {why[:600]}\nmend: {mend}")


def _room(into: Path) -> str:
    return f"make room on the disk of {into.parent.absolute()}, lift a limit on it, or name a file elsewhere"


def _signal(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _sync(path: Path) -> None:
    for each, flags in ((path, os.O_RDONLY), (path.parent, os.O_RDONLY | os.O_DIRECTORY)):
        handle = os.open(each, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
