"""Bring a database to a revision. The gateway refuses to start on a schema that is not the newest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from app.storage.engine.private_files import keep_private
from migrations.state import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection


def upgrade(url: str, revision: str = "head") -> None:
    """Go forward to `revision`."""
    _run(url, lambda config: command.upgrade(config, revision))


def downgrade(url: str, revision: str) -> None:
    """Go back to `revision`; all rows of what is removed are lost."""
    _run(url, lambda config: command.downgrade(config, revision))


def _run(url: str, act: Callable[[Config], None]) -> None:
    engine = engine_of(url)
    if engine.dialect.name == "sqlite":
        keep_private(engine.url.database or "")
    try:
        with engine.connect() as connection:
            _in_every_scope(connection)
            act(_config(connection))
    finally:
        engine.dispose()


def _in_every_scope(connection: Connection) -> None:
    """Row security binds the owner too; a migration works on the rows of every org."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET assent.org = '*'"))
        connection.commit()


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
