"""The tables of what the outside is told: how far each receiver was, which alarms stand.

See `tables.py` for the rules.
"""

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

alarms = Table(
    "alarms",
    metadata,
    Column("org", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("about", Text, nullable=False),  # a channel, a receiver, a request
    Column("seen_by", Text, nullable=False),  # a gateway; "": whoever looks at the rows
    Column("since", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "cause", "about", "seen_by"),
)
