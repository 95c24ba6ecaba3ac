"""Bring a database to a revision, one migration at a time. The gateway does not start on a schema that is not its own.

Every step is a transaction, on SQLite too: a migration that is killed leaves the step before, and is run again.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import event

from app.storage.place.private_files import PRIVATE, keep_private
from migrations.state import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from sqlalchemy import Connection

    Told = Callable[[str], None]

_LOCK = 0x41_53_53_45_4E_54
"""PostgreSQL's advisory lock that a migration holds."""
_HEAD = "head"
_BASE = "base"


_HERE = Path(__file__).parent
VERSIONS = [_HERE / "versions"]
"""Where the steps are; a test puts those of a later release beside them."""


class RefusedError(Exception):
    """The database cannot be, or is not, brought to that revision; the text says why, and what to do."""


def known() -> list[str]:
    """Return the revisions of this release, the oldest first."""
    return _order(ScriptDirectory.from_config(_config()))


def _order(script: ScriptDirectory) -> list[str]:
    return [step.revision for step in reversed(list(script.walk_revisions()))]


def bring(url: str, revision: str = _HEAD, *, may_lose: bool = False, told: Told = lambda _: None) -> None:
    """Go to `revision`, forward or, where rows `may_lose`, back; `told` hears of each step. Raises RefusedError."""
    script = ScriptDirectory.from_config(_config())
    order = _order(script)
    try:
        wanted = order[-1] if revision == _HEAD else _BASE if revision == _BASE else script.get_revision(revision)
    except CommandError:
        wanted = None
    if wanted is None:
        raise RefusedError(
            f"{revision} is no revision of this release: it has {order[0]} to {order[-1]}, head and base"
        )
    target = wanted if isinstance(wanted, str) else wanted.revision

    def act(connection: Connection, config: Config) -> None:
        present = _present(connection)
        if present is not None and present not in order:
            raise RefusedError(
                f"the database is at {present}, and this release knows {order[-1]} at most: take the release that "
                "brought it there, or a newer one"
            )
        here, there = (order.index(at) if at in order else -1 for at in (present, target))
        if there >= here:
            command.upgrade(config, target)
            return
        if not may_lose:
            raise RefusedError(
                f"the database is at {present}: going back to {target} drops what {order[there + 1]} to {present} have "
                "brought, with its rows. Take a backup, stop every gateway, and say --lose-rows"
            )
        try:
            command.downgrade(config, target)
        except RuntimeError as refusal:  # a step that cannot be gone back behind says why itself
            raise RefusedError(str(refusal)) from None

    _run(url, act, told)


def upgrade(url: str, revision: str = _HEAD) -> None:
    """Go forward to `revision`."""
    _run(url, lambda _, config: command.upgrade(config, revision))


def downgrade(url: str, revision: str) -> None:
    """Go back to `revision`; all rows of what is removed are lost."""
    _run(url, lambda _, config: command.downgrade(config, revision))


def _run(url: str, act: Callable[[Connection, Config], None], told: Told = lambda _: None) -> None:
    engine = engine_of(url)
    if engine.dialect.name == "sqlite":
        keep_private(engine.url.database or "")
        _in_transactions(engine)
    try:
        with engine.connect() as connection, _alone(connection, told):
            _in_every_scope(connection)
            act(connection, _config(connection, told))
    finally:
        engine.dispose()


@contextmanager
def _alone(connection: Connection, told: Told) -> Generator[None]:
    """Let one migration run at a time: another one waits, and then finds what the first has done.

    The lock ends with its holder, however that ends.
    """
    if connection.dialect.name == "postgresql":
        if not connection.scalar(sa.text("SELECT pg_try_advisory_lock(:lock)"), {"lock": _LOCK}):
            told("another migration is under way: waiting for it")
            connection.execute(sa.text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
        connection.commit()
        yield
        return
    file = Path(f"{connection.engine.url.database}.migrating").absolute()
    try:
        opened = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise RefusedError(
            f"{file} cannot be opened: {error.strerror}; let this account write in the folder {file.parent}, or name "
            "another in ASSENT_DATABASE_URL"
        ) from None
    with os.fdopen(opened) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told("another migration is under way: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _in_transactions(engine: sa.Engine) -> None:
    """Let SQLite keep its DDL in transactions: Python's driver would commit before each statement of it."""

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: object) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _in_every_scope(connection: Connection) -> None:
    """Row security binds the owner too; a migration works on the rows of every org.

    And it must not queue for a table for long: whoever comes behind it would wait as well.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET assent.org = '*'"))
        connection.execute(sa.text("SET lock_timeout = '3s'"))
        connection.commit()


def _present(connection: Connection) -> str | None:
    there = sa.inspect(connection).has_table("alembic_version")
    present = connection.scalar(sa.text("SELECT version_num FROM alembic_version")) if there else None
    connection.commit()
    return present


def _config(connection: Connection | None = None, told: Told = lambda _: None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_HERE))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", "\n".join(str(each) for each in VERSIONS))
    config.attributes["connection"] = connection
    config.attributes["applied"] = _telling(told)
    return config


def _telling(told: Told) -> Callable[..., None]:
    """Return what hears of each step once it is done, and says how long it took."""
    began = time.monotonic()

    def applied(*, step: Any, **_: object) -> None:
        nonlocal began
        now = time.monotonic()
        way = "to" if step.is_upgrade else "back from"
        told(f"{way} {step.up_revision_id}: {str(step.up_revision.doc).rstrip('.')} ({now - began:.1f} s)")
        began = now

    return applied
