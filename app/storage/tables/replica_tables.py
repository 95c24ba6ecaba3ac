"""The table of the gateways that work on this database, each with what it has. See `tables.py` for the rules."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Table, Text

from app.storage.tables.schema import metadata

replicas = Table(
    "replicas",
    metadata,
    Column("org", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("policy_version", Text, nullable=False),
    Column("key_ids", Text, nullable=False),  # of the secret, never the secret; the newest first, with blanks
    Column("software", Text, nullable=False),
    Column("ahead", BigInteger, nullable=False),  # microseconds of its clock before the database's
    Column("refused", Text),
    Column("since", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("said", Text, nullable=False, server_default=""),  # what the org's trail says that they differ in
    PrimaryKeyConstraint("org", "id"),
)
