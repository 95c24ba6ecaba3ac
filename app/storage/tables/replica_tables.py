"""The tables of who works together: the gateways, each with what it has, and the servers of the database.

See `tables.py` for the rules.
"""

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

database_servers = Table(
    "database_servers",
    metadata,
    Column("system", Text, nullable=False),  # PostgreSQL's own number of a cluster, which its standbys share
    Column("timeline", BigInteger, nullable=False),  # one more with each promotion
    Column("epoch", BigInteger, nullable=False),  # the one that began with it, or in which it was first met
    Column("met_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("system", "timeline"),
)
