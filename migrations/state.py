"""Which schema a database has, and which one this code needs; without loading Alembic, for every start asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from app.storage.place.address import is_postgres, libpq_url
from app.storage.tables.revision import parse_revision

if TYPE_CHECKING:
    import psycopg

NEWEST = "0033"
"""The newest revision; a test compares it with the migrations."""


def find_present(url: str) -> str | None:
    """Return the revision of a database; None for an empty one. Raises NoRevisionError.

    SQLAlchemy's OperationalError, if the database is away.
    """
    engine = engine_of(url)
    try:
        with engine.connect() as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return None
            return parse_revision(
                connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all()
            )
    finally:
        engine.dispose()


def engine_of(url: str) -> sa.Engine:
    """Return an engine that keeps no connection, with the driver that we ship: psycopg 3 for PostgreSQL."""
    if not is_postgres(url):
        return sa.create_engine(sa.make_url(url), poolclass=sa.NullPool)
    import psycopg

    from app.storage.engine.line import bounds_of

    address = libpq_url(url)

    # Its own way of connecting knows one host only.
    def connect() -> psycopg.Connection[Any]:
        return psycopg.connect(address, **bounds_of(address))

    return sa.create_engine("postgresql+psycopg://", creator=connect, poolclass=sa.NullPool)
