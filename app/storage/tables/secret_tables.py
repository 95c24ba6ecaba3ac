"""The tables about secrets: API keys, what rows were sealed under, platforms' that we renew, keys of values, sessions.

And the files of calls, which stand nowhere but here, encrypted.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from app.storage.tables.schema import metadata

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent", Text),
    Column("person", Text),  # whose key it is (approver), or who answers for the agent
    Column("label", Text, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("tools", Text),  # what an executor may run: a JSON list of names and globs
    Column("last_used_at", BigInteger),  # as it was last noted, every few minutes
    CheckConstraint("scope IN ('agent', 'evaluation', 'approver', 'executor', 'auditor', 'admin')", name="scope"),
    CheckConstraint("(scope IN ('agent', 'evaluation')) = (agent IS NOT NULL)", name="agent"),
    CheckConstraint("scope <> 'approver' OR person IS NOT NULL", name="approver"),
)

secret_ids = Table(
    "secret_ids",
    metadata,
    Column("org", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("known_since", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "key_id"),
)

platform_tokens = Table(
    "platform_tokens",
    metadata,
    Column("org", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("pair", Text),  # sealed; none yet, or none that is any good
    Column("ends_at", BigInteger, nullable=False),
    Column("seeds", Text, nullable=False),  # digests of the file's renewal tokens that were spent, the newest last
    Column("refreshing_until", BigInteger, nullable=False),  # a lease; nobody's: not before then
    Column("refreshing_by", Text, nullable=False),
    Column("trouble", Text, nullable=False),
    Column("lost_at", BigInteger),  # since when only a person can mend it
    PrimaryKeyConstraint("org", "channel"),
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

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("via", Text, nullable=False),  # what made the link that began it
    Column("seal", Text, nullable=False),  # over what the browser holds, and whose it is
    Column("begun_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("groups", Text),  # those that whoever signed the person in says that they are in, as JSON
)
Index("ix_console_sessions_person", console_sessions.c.org, console_sessions.c.person)

sign_outs = Table(
    "sign_outs",
    metadata,
    Column("org", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("at", BigInteger, nullable=False),  # what a card's link opened before is over
    PrimaryKeyConstraint("org", "person"),
)

passkeys = Table(
    "passkeys",
    metadata,
    Column("credential", Text, primary_key=True),  # as the device names it
    Column("id", Text, nullable=False),
    Column("org", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("public_key", Text, nullable=False),
    Column("signs", BigInteger, nullable=False),  # how often it says that it has signed
    Column("added_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("seal", Text, nullable=False),  # over all that does not change
)
Index("ix_passkeys_person", passkeys.c.org, passkeys.c.person)

exhibits = Table(
    "exhibits",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    Column("request_id", Text, ForeignKey("requests.id"), nullable=False),
    Column("number", Integer, nullable=False),  # of the request's evidence, from 1; links have no row
    Column("content", Text, nullable=False),  # base64, encrypted; what it must be is sealed in the request
)
Index("ix_exhibits_request", exhibits.c.request_id, exhibits.c.number, unique=True)
