"""The table of how far the outside was told of the trail. See `tables.py` for the rules."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Table, Text

from app.storage.tables.schema import metadata

webhooks = Table(
    "webhooks",
    metadata,
    Column("org", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of the last event that was taken, or passed over
    Column("attempts", Integer, nullable=False),  # at the next one, so far
    Column("due_at", BigInteger, nullable=False),  # also the end of a lease
    Column("failing_since", BigInteger),
    Column("error", Text, nullable=False),
    PrimaryKeyConstraint("org", "name"),
)
