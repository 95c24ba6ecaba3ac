"""The table of the secrets that rows were sealed under, by their public ids. See `tables.py` for the rules."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Table, Text

from app.storage.tables.schema import metadata

secret_ids = Table(
    "secret_ids",
    metadata,
    Column("org", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("known_since", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "key_id"),
)
