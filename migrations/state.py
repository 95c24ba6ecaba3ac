"""Which schema a database has, and which one this code needs; without loading Alembic, for every start asks it."""

from __future__ import annotations

import sqlalchemy as sa

NEWEST = "0013"
"""The newest revision; a test compares it with the migrations."""


def find_present(url: str) -> str | None:
    """Return the revision of a database; None for an empty one. Raises SQLAlchemy's OperationalError if it is away."""
    engine = sa.create_engine(sqlalchemy_url(url), poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return None
            return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    finally:
        engine.dispose()


def sqlalchemy_url(url: str) -> sa.URL:
    """Return the URL with the driver that we ship: psycopg 3 for PostgreSQL."""
    parsed = sa.make_url(url)
    return parsed.set(drivername="postgresql+psycopg") if parsed.get_backend_name() == "postgresql" else parsed
