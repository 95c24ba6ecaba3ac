"""A line to PostgreSQL that can go dead without a word: opened and asked within bounds, and cut from outside.

A server that is frozen, or whose host has vanished, sends nothing any more: no error, no end. Whoever waits for it in
libpq waits for ever, so somebody else must cut the line. `cut` ends a connection's socket, not the connection: the
thread that waits on it wakes, and sees a connection that the server has closed.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

if TYPE_CHECKING:
    from collections.abc import Generator

OPENS_WITHIN = 5
"""Seconds in which a connection must be open."""

ANSWERS_WITHIN = 2
"""Seconds in which a server that lives answers somebody new. The smallest that libpq knows."""

_TIMED_OUT = "connection timeout expired"

_KEPT_ALIVE: dict[str, Any] = {
    "connect_timeout": OPENS_WITHIN,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds in which what was sent must have arrived
}
"""The kernel's own watch over a TCP connection: a host that has vanished is noticed within some ten seconds."""


class Server(NamedTuple):
    """One server in the life of a PostgreSQL: its system's number, and how often one of it was promoted."""

    system: str
    timeline: int


def bounds_of(url: str) -> dict[str, Any]:
    """Return the bounds that this URL leaves to us; what it says itself holds."""
    said = conninfo_to_dict(url)
    bounds = {name: bound for name, bound in _KEPT_ALIVE.items() if name not in said}
    if "," in str(said.get("host") or said.get("hostaddr") or "") and "target_session_attrs" not in said:
        bounds["target_session_attrs"] = "read-write"  # of several, the one that is the primary now
    return bounds


def cut(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """End a connection's socket under whoever waits on it. The connection must not be closed meanwhile."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


@contextmanager
def cut_after(connection: psycopg.Connection[Any], seconds: float) -> Generator[None]:
    """Bound what is asked inside: a connection that does not answer is cut, and raises OperationalError."""
    timer = threading.Timer(seconds, cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def is_silent(url: str) -> bool:
    """Whether the server says nothing at all to somebody new, not even that it wants nobody.

    Of several servers: nobody can be written to, and one of them says nothing.
    """
    try:
        bounds: dict[str, Any] = {**bounds_of(url), "connect_timeout": ANSWERS_WITHIN}
        psycopg.connect(url, **bounds).close()
    except psycopg.errors.ConnectionTimeout:
        return True
    except psycopg.Error as error:
        return _TIMED_OUT in str(error)  # of several attempts the driver raises the last one's, and names all
    return False


def fate_of(url: str, ticket: str | None, witness: str | None) -> str | None:
    """Return what the server says of a transaction (`pg_xact_status`, PostgreSQL 13), asked on a new connection.

    `witness` is the id of an event that it alone wrote.
    """
    opened = psycopg.connect(url, autocommit=True, **bounds_of(url))
    with cut_after(opened, OPENS_WITHIN), opened as connection:
        row = connection.execute("SELECT pg_xact_status(%s::text::xid8)", (ticket,)).fetchone()
        status = row[0] if row else None
        if status == "committed" and witness is not None:
            # A crash gives ids out again whose log was not on the disk: only the batch's own row proves it.
            connection.execute("SELECT set_config('assent.org', '*', false)")
            found = connection.execute("SELECT 1 FROM audit_events WHERE id = %s", (witness,)).fetchone()
            status = "committed" if found else "aborted"
    return status
