"""A pooler between a gateway and PostgreSQL, and whether a session through it is ours for as long as we hold it.

A gateway needs that (PgBouncer: ``pool_mode = session``). Where sessions change hands between transactions, LISTEN
hears nothing, bounds that were set for a session hold for somebody else, a migration's lock stays behind, prepared
statements are not there, and which orgs' rows a session may see could be left to the next one who gets it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from app.storage.engine.line import OPENS_WITHIN, bounds_of, cut_after
from app.storage.place.address import is_postgres, libpq_url

if TYPE_CHECKING:
    from collections.abc import Generator

SHARED = (
    "a pooler stands before the database and shares sessions between transactions (PgBouncer's transaction or "
    "statement mode); a gateway needs sessions of its own: set pool_mode = session for it, or name PostgreSQL itself"
)
_ROUNDS = 3  # another client of the pooler may come in between


def shares_sessions(url: str) -> bool:
    """Say whether the session changes under a connection that is held; False if nobody can tell. Raises psycopg.Error.

    Shown by two connections: while one is in a transaction, the other must neither lose its session nor have the same.
    """
    if not is_postgres(url):
        return False
    address = libpq_url(url)
    with _opened(address) as one:
        if _process(one) == one.info.backend_pid:
            return False  # the server itself answers
        try:
            with _opened(address) as other:
                return any(_changes(one, other) for _ in range(_ROUNDS))
        except psycopg.OperationalError:
            return False  # it has no second session to give: what it gives is not shared, and too few


def _changes(one: psycopg.Connection[Any], other: psycopg.Connection[Any]) -> bool:
    held = _process(one)
    try:
        with other.transaction():
            given, now = _process(other), _process(one)  # both: one that was cut off meanwhile has left its session
            return given == held or now != held
    except psycopg.errors.ProtocolViolation:  # it takes no transactions at all
        return True


def _process(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return row[0] if row else 0


@contextmanager
def _opened(address: str) -> Generator[psycopg.Connection[Any]]:
    with (
        psycopg.connect(address, autocommit=True, prepare_threshold=None, **bounds_of(address)) as connection,
        cut_after(connection, OPENS_WITHIN),
    ):
        yield connection
