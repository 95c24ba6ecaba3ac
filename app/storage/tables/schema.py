"""The one description of the database that every table is part of, and how its constraints are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Index, MetaData, text

if TYPE_CHECKING:
    from sqlalchemy import Column

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def partial_index(name: str, *columns: Column[Any] | str, where: str, unique: bool = False) -> Index:
    """Index the rows of which a condition holds.

    It is said for SQLite alone, and for PostgreSQL by `tables.whole_metadata`: to name that option loads the whole
    dialect, for which each start would wait.
    """
    return Index(name, *columns, unique=unique, sqlite_where=text(where), info={"where": where})
