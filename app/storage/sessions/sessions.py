"""Agents' sessions: when each was first seen, and which one started it."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct
from sqlalchemy import bindparam, insert, select, update

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.hook_tables import sessions

ROOT_RETENTION = timedelta(days=30)
"""How long a session that nobody started is remembered after a process met it for the first time."""


class Session(Struct, frozen=True, kw_only=True):
    """One session. `detached`: it was configured to inherit nothing when it named its parent."""

    agent: str
    session: str
    parent: tuple[str, str] | None
    """The parent's (agent, session)."""
    detached: bool


_COLUMNS = (
    sessions.c.agent,
    sessions.c.session,
    sessions.c.parent_agent,
    sessions.c.parent_session,
    sessions.c.detached,
)
_MINE = (
    sessions.c.org == bindparam("for_org"),
    sessions.c.agent == bindparam("of_agent"),
    sessions.c.session == bindparam("of_session"),
)
_GET = Statement(select(*_COLUMNS).where(*_MINE))
_LOCK = Statement(select(*_COLUMNS).where(*_MINE).with_for_update())
_NAMED = Statement(
    select(*_COLUMNS)
    .where(sessions.c.org == bindparam("for_org"), sessions.c.session == bindparam("of_session"))
    .order_by(sessions.c.agent)
    .limit(20)
)
_MOST_CHILDREN = 1000
_CHILDREN = Statement(
    select(sessions.c.agent, sessions.c.session)
    .where(
        sessions.c.org == bindparam("for_org"),
        sessions.c.parent_agent == bindparam("of_agent"),
        sessions.c.parent_session == bindparam("of_session"),
    )
    .limit(_MOST_CHILDREN)
)
_PUT = Statement(insert(sessions))
_NOTED = Statement(update(sessions).where(*_MINE).values(noted_at=bindparam("at")))
_ADOPT = Statement(
    update(sessions)
    .where(*_MINE, sessions.c.parent_agent.is_(None))
    .values(
        parent_agent=bindparam("new_agent"), parent_session=bindparam("new_session"), detached=bindparam("is_detached")
    )
)


def find_session(tx: Tx, agent: str, session: str, *, lock: bool = False) -> Session | None:
    """Read a session; with `lock`, nobody else changes it until the commit."""
    row = tx.one(_LOCK if lock and tx.locks_rows else _GET, for_org=tx.org, of_agent=agent, of_session=session)
    return _from_row(row) if row else None


def list_named(tx: Tx, session: str) -> list[Session]:
    """Return the org's sessions of a name (agents choose their names, so several may have the same)."""
    return [_from_row(row) for row in tx.all(_NAMED, for_org=tx.org, of_session=session)]


def list_children(tx: Tx, agent: str, session: str) -> list[tuple[str, str]]:
    """Return the (agent, session) of those that a session started, 1,000 at most."""
    rows = tx.all(_CHILDREN, for_org=tx.org, of_agent=agent, of_session=session)
    return [(str(row["agent"]), str(row["session"])) for row in rows]


def note_session(tx: Tx, agent: str, session: str) -> None:
    """Remember that a session is there, or that it still is."""
    at = to_us(tx.now())
    if not tx.run(_NOTED, for_org=tx.org, of_agent=agent, of_session=session, at=at):
        tx.write(_PUT, **_row(tx, agent, session, None, detached=False, at=at))


def adopt(tx: Tx, agent: str, session: str, *, parent: tuple[str, str], known: bool, detached: bool) -> None:
    """Write down who started a session that has no parent yet. `known`: there is a row of it."""
    if known:
        tx.guard(
            _ADOPT,
            for_org=tx.org,
            of_agent=agent,
            of_session=session,
            new_agent=parent[0],
            new_session=parent[1],
            is_detached=int(detached),
        )
        return
    tx.write(_PUT, **_row(tx, agent, session, parent, detached=detached, at=to_us(tx.now())))


def _row(
    tx: Tx, agent: str, session: str, parent: tuple[str, str] | None, *, detached: bool, at: int
) -> dict[str, object]:
    return {
        "org": tx.org,
        "agent": agent,
        "session": session,
        "parent_agent": parent[0] if parent else None,
        "parent_session": parent[1] if parent else None,
        "detached": int(detached),
        "first_seen_at": at,
        "noted_at": at,
    }


def _from_row(row: dict[str, object]) -> Session:
    agent, session = row["parent_agent"], row["parent_session"]
    return Session(
        agent=str(row["agent"]),
        session=str(row["session"]),
        parent=(str(agent), str(session)) if agent is not None else None,
        detached=bool(row["detached"]),
    )
