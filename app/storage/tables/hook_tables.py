"""The tables behind hooks: switches, counted calls, and which session started which. See `tables.py` for the rules."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, PrimaryKeyConstraint, Table, Text

from app.storage.tables.schema import metadata, partial_index

switches = Table(
    "switches",
    metadata,
    Column("org", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("agent", Text, nullable=False, server_default=""),  # "" stands for the whole org
    Column("tool", Text, nullable=False, server_default=""),  # "" stands for every tool
    Column("is_on", Integer, nullable=False),  # 0 | 1; a switch that was never touched has no row
    Column("reason", Text),
    Column("set_by", Text, nullable=False),
    Column("set_at", BigInteger, nullable=False),
    CheckConstraint("is_on IN (0, 1)", name="is_on"),
    PrimaryKeyConstraint("org", "name", "agent", "tool"),
)

counters = Table(
    "counters",
    metadata,
    Column("org", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("taken", BigInteger, nullable=False),  # how many calls were ever counted: the next one's number
    Column("ends_at", BigInteger, nullable=False),  # then none of them counts any longer
    PrimaryKeyConstraint("org", "key"),
)
Index("ix_counters_end", counters.c.ends_at)

counted_calls = Table(
    "counted_calls",
    metadata,
    Column("org", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("place", BigInteger, nullable=False),  # the call's number modulo the calls that a window has room for
    Column("ends_at", BigInteger, nullable=False),  # when this call leaves the window
    PrimaryKeyConstraint("org", "key", "place"),
)
Index("ix_counted_calls_end", counted_calls.c.ends_at)

sessions = Table(
    "sessions",
    metadata,
    Column("org", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("parent_agent", Text),
    Column("parent_session", Text),
    Column("detached", Integer, nullable=False, server_default="0"),  # it began without inheriting, as was configured
    Column("first_seen_at", BigInteger, nullable=False),
    Column("noted_at", BigInteger, nullable=False),  # when a process last met it for the first time
    CheckConstraint("(parent_agent IS NULL) = (parent_session IS NULL)", name="parent"),
    CheckConstraint("parent_agent IS NULL OR parent_agent <> agent OR parent_session <> session", name="own_parent"),
    CheckConstraint("detached IN (0, 1)", name="detached"),
    PrimaryKeyConstraint("org", "agent", "session"),
)
Index("ix_sessions_name", sessions.c.org, sessions.c.session)
partial_index(
    "ix_sessions_root",
    sessions.c.noted_at,
    where="parent_agent IS NULL",
)
partial_index(
    "ix_sessions_child",
    sessions.c.org,
    where="parent_agent IS NOT NULL",
)
