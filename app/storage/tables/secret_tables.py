"""The secrets that rows were sealed under, by their public ids, and the keys of values. See `tables.py`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Table, Text

from app.storage.tables.schema import metadata

secret_ids = Table(
    "secret_ids",
    metadata,
    Column("org", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("known_since", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "key_id"),
)

value_keys = Table(
    "value_keys",
    metadata,
    Column("org", Text, nullable=False),
    Column("number", Integer, nullable=False),  # 1, 2, …; it stands in every value that was encrypted with the key
    Column("wrapped", Text),  # with a key of ASSENT_SECRET; none: it was destroyed, and what it encrypted with it
    Column("made_at", BigInteger, nullable=False),
    Column("caught_up_at", BigInteger),  # when all that stood in clear before it was encrypted
    PrimaryKeyConstraint("org", "number"),
)
