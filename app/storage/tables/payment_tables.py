"""The tables behind payments and what an approval is worth: what was spent, payees, standing approvals, factors.

See `tables.py` for the rules. Amounts are whole ten-thousandths of the currency's unit in a BIGINT: exact sums.
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

from app.storage.tables.schema import metadata, partial_index

spends = Table(
    "spends",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    # What becomes of the request says whether it still counts; none: it was allowed without one, and counts.
    Column("request_id", Text, ForeignKey("requests.id")),
    Column("standing_id", Text, ForeignKey("standing_approvals.id")),
    Column("agent", Text, nullable=False),
    Column("owner", Text),
    Column("tool", Text, nullable=False),
    Column("payee", Text, nullable=False),
    Column("payee_key", Text, nullable=False),
    Column("account_key", Text, nullable=False),  # "" where the call names none
    Column("account_tail", Text, nullable=False),  # its last characters, for people; "" where it is sensitive
    Column("reference", Text),
    Column("currency", Text, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("seal", Text),  # over all of it: see `app.storage.identity.sealed_rows`
    CheckConstraint("amount > 0", name="amount"),
)
Index("ix_spends_agent", spends.c.org, spends.c.agent, spends.c.at)
Index("ix_spends_owner", spends.c.org, spends.c.owner, spends.c.at)
Index("ix_spends_payee", spends.c.org, spends.c.payee_key, spends.c.at)
Index("ix_spends_account", spends.c.org, spends.c.account_key, spends.c.at)
Index("ix_spends_org", spends.c.org, spends.c.at)
Index("ix_spends_request", spends.c.request_id)
Index("ix_spends_standing", spends.c.standing_id)

payees = Table(
    "payees",
    metadata,
    Column("org", Text, nullable=False),
    Column("payee_key", Text, nullable=False),
    Column("account_key", Text, nullable=False),  # "": without an account
    Column("name", Text, nullable=False),
    Column("account_tail", Text, nullable=False),
    Column("is_known", Integer, nullable=False),  # 0: people took it out; earlier payments do not count any more
    Column("set_by", Text, nullable=False),
    Column("set_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),  # when people last took it out, also where they have put it in again
    Column("seal", Text),
    CheckConstraint("is_known IN (0, 1)", name="is_known"),
    PrimaryKeyConstraint("org", "payee_key", "account_key"),
)

payee_history = Table(
    "payee_history",
    metadata,
    Column("org", Text, nullable=False),
    Column("payee_key", Text, nullable=False),
    Column("account_key", Text, nullable=False),
    Column("payee", Text, nullable=False),
    Column("account_tail", Text, nullable=False),
    Column("paid_at", BigInteger, nullable=False),  # the last time that it went well, of what was removed since
    Column("seal", Text),
    PrimaryKeyConstraint("org", "payee_key", "account_key", "payee", "account_tail"),
)

standing_approvals = Table(
    "standing_approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("scope", Text, nullable=False),  # canonical JSON: what it allows
    Column("digest", Text, nullable=False),  # of the scope: what the second person confirms
    Column("reason", Text, nullable=False),
    Column("proposed_by", Text, nullable=False),
    Column("proposed_at", BigInteger, nullable=False),
    Column("confirmed_by", Text),
    Column("confirmed_at", BigInteger),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_by", Text),
    Column("revoked_at", BigInteger),
    Column("reviewed_by", Text),
    Column("reviewed_at", BigInteger),
    Column("review", Text),
    Column("used", Integer, nullable=False, server_default="0"),
    Column("last_used_at", BigInteger),
    Column("seal", Text),
    Column("spent", Text),  # canonical JSON, by currency; none: of before it was said here
    CheckConstraint("kind IN ('standing', 'break_glass')", name="kind"),
    CheckConstraint("status IN ('proposed', 'active', 'revoked')", name="status"),
    CheckConstraint("confirmed_by IS NULL OR confirmed_by <> proposed_by", name="two_people"),
    CheckConstraint("status <> 'active' OR confirmed_by IS NOT NULL", name="confirmed"),
)
partial_index(
    "ix_standing_approvals_active",
    standing_approvals.c.org,
    standing_approvals.c.expires_at,
    where="status = 'active'",
)

factors = Table(
    "factors",
    metadata,
    Column("org", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("secret", Text),  # sealed; none until the first code has confirmed it
    Column("new_secret", Text),  # sealed; waits for its first code, while the one before still holds
    Column("invite_hash", Text),
    Column("invite_until", BigInteger),
    Column("set_by", Text, nullable=False),
    Column("set_at", BigInteger, nullable=False),
    Column("last_step", BigInteger, nullable=False),  # of the last code: none works twice
    CheckConstraint("status IN ('invited', 'enrolled', 'active')", name="status"),
    PrimaryKeyConstraint("org", "person"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("org", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("failed_at", BigInteger, nullable=False),
    Column("locked_until", BigInteger),
    PrimaryKeyConstraint("org", "subject"),
)

lifts = Table(
    "lifts",
    metadata,
    Column("org", Text, nullable=False),
    Column("request_id", Text, ForeignKey("requests.id"), nullable=False),
    Column("lifted_by", Text, nullable=False),
    Column("lifted_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "request_id"),
)
Index("ix_lifts_request", lifts.c.request_id)

restores = Table(
    "restores",
    metadata,
    Column("epoch", BigInteger, primary_key=True),  # 1, 2, …; a database that was never restored has no row
    Column("restored_by", Text, nullable=False),
    Column("restored_at", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seal", Text),  # under the secret: where there was no org yet, no trail tells of it
)
