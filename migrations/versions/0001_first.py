"""The first schema: requests and what belongs to them, the trail, the outbox, keys and accounts.

Revision: 0001, 2026-11-20
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, drop_statements, fence_statements, statements

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    "accounts",
    "api_keys",
    "audit_events",
    "audit_heads",
    "policies",
    "seen_clicks",
    "requests",
    "decisions",
    "deliveries",
    "grants",
    "idempotency_keys",
    "executions",
    "outbox",
)


def upgrade() -> None:
    """Create the tables, then the guards that no row may get around."""
    op.create_table(
        "accounts",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "channel", "person", name=op.f("pk_accounts")),
    )
    op.create_index("ix_accounts_account", "accounts", ["org", "channel", "account_id"], unique=False)
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("(scope = 'agent') = (agent IS NOT NULL)", name=op.f("ck_api_keys_agent")),
        sa.CheckConstraint("scope <> 'approver' OR person IS NOT NULL", name=op.f("ck_api_keys_approver")),
        sa.CheckConstraint("scope IN ('agent', 'approver', 'auditor', 'admin')", name=op.f("ck_api_keys_scope")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.create_table(
        "audit_events",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("request_version", sa.Integer(), nullable=True),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org", "seq", name=op.f("pk_audit_events")),
        sa.UniqueConstraint("request_id", "request_version", name="uq_audit_events_request_version"),
    )
    op.create_index("ix_audit_events_request", "audit_events", ["request_id"], unique=False)
    op.create_table(
        "audit_heads",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org", name=op.f("pk_audit_heads")),
    )
    op.create_table(
        "policies",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("loaded_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "version", name=op.f("pk_policies")),
    )
    op.create_table(
        "seen_clicks",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("event_key", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "channel", "event_key", name=op.f("pk_seen_clicks")),
    )
    op.create_index("ix_seen_clicks_expiry", "seen_clicks", ["expires_at"], unique=False)
    op.create_table(
        "requests",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("requester", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("call_digest", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("pinned", sa.Text(), nullable=False),
        sa.Column("sensitive", sa.Text(), nullable=False),
        sa.Column("rule_id", sa.Text(), nullable=True),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("stages", sa.Text(), nullable=False),
        sa.Column("channels", sa.Text(), nullable=False),
        sa.Column("claim_within", sa.BigInteger(), nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("settled_by", sa.Text(), nullable=True),
        sa.Column("settled_reason", sa.Text(), nullable=True),
        sa.Column("settled_via", sa.Text(), nullable=True),
        sa.Column("predecessor_id", sa.Text(), nullable=True),
        sa.Column("attach_key", sa.Text(), nullable=True),
        sa.CheckConstraint("(status = 'pending') = (settled_at IS NULL)", name=op.f("ck_requests_settled")),
        sa.CheckConstraint(
            "state IN ('pending', 'approved', 'executing', 'succeeded', 'failed', 'unknown', 'denied', 'expired', 'cancelled', 'undeliverable', 'lapsed')",
            name=op.f("ck_requests_state"),
        ),
        sa.CheckConstraint(
            "status <> 'approved' OR settled_at < expires_at", name=op.f("ck_requests_approved_in_time")
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'approved', 'denied', 'expired', 'cancelled', 'undeliverable')",
            name=op.f("ck_requests_status"),
        ),
        sa.CheckConstraint("expires_at > created_at", name=op.f("ck_requests_deadline")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_requests_version")),
        sa.ForeignKeyConstraint(
            ["id", "version"],
            ["audit_events.request_id", "audit_events.request_version"],
            name="fk_requests_audited",
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.ForeignKeyConstraint(["predecessor_id"], ["requests.id"], name=op.f("fk_requests_requests")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_requests")),
        sa.UniqueConstraint("org", "attach_key", name="uq_requests_attach_key"),
    )
    op.create_index(
        "ix_requests_due",
        "requests",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.create_index("ix_requests_listing", "requests", ["org", "created_at", "id"], unique=False)
    op.create_index("ix_requests_open", "requests", ["org", "agent", "state"], unique=False)
    op.create_table(
        "decisions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("app_id", sa.Text(), nullable=False),
        sa.Column("chat_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("card_revision", sa.Integer(), nullable=False),
        sa.Column("assurance", sa.Text(), nullable=False),
        sa.CheckConstraint("verdict IN ('approve', 'deny')", name=op.f("ck_decisions_verdict")),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_decisions_requests")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
        sa.UniqueConstraint("request_id", "person", name=op.f("uq_decisions_request_id_person")),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("chat_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("app_id", sa.Text(), server_default="", nullable=False),
        sa.Column("tenant", sa.Text(), server_default="", nullable=False),
        sa.Column("message_id", sa.Text(), server_default="", nullable=False),
        sa.Column("first_tried_at", sa.BigInteger(), nullable=True),
        sa.Column("posted_at", sa.BigInteger(), nullable=True),
        sa.Column("repost_at", sa.BigInteger(), nullable=True),
        sa.Column("shown_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'live', 'retired', 'undeliverable')", name=op.f("ck_deliveries_status")
        ),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_deliveries_requests")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("handle", name=op.f("uq_deliveries_handle")),
        sa.UniqueConstraint("request_id", "channel", "chat_id", name=op.f("uq_deliveries_request_id_channel_chat_id")),
    )
    op.create_index(
        "ix_deliveries_repost",
        "deliveries",
        ["repost_at"],
        unique=False,
        postgresql_where=sa.text("status = 'live'"),
        sqlite_where=sa.text("status = 'live'"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("not_after", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('issued', 'consumed', 'lapsed', 'revoked')", name=op.f("ck_grants_status")),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_grants_requests")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
        sa.UniqueConstraint("request_id", name=op.f("uq_grants_request_id")),
    )
    op.create_index(
        "ix_grants_due",
        "grants",
        ["not_after"],
        unique=False,
        postgresql_where=sa.text("status = 'issued'"),
        sqlite_where=sa.text("status = 'issued'"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("call_digest", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_idempotency_keys_requests")),
        sa.PrimaryKeyConstraint("org", "agent", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index("ix_idempotency_keys_expiry", "idempotency_keys", ["expires_at"], unique=False)
    op.create_table(
        "executions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("grant_id", sa.Text(), nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('started', 'succeeded', 'failed', 'unknown')", name=op.f("ck_executions_status")
        ),
        sa.ForeignKeyConstraint(["grant_id"], ["grants.id"], name=op.f("fk_executions_grants")),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_executions_requests")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_executions")),
        sa.UniqueConstraint("grant_id", name=op.f("uq_executions_grant_id")),
        sa.UniqueConstraint("request_id", name=op.f("uq_executions_request_id")),
    )
    op.create_index(
        "ix_executions_due",
        "executions",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("status = 'started'"),
        sqlite_where=sa.text("status = 'started'"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("kind IN ('post', 'refresh')", name=op.f("ck_outbox_kind")),
        sa.CheckConstraint("status IN ('queued', 'done', 'dead')", name=op.f("ck_outbox_status")),
        sa.ForeignKeyConstraint(["delivery_id"], ["deliveries.id"], name=op.f("fk_outbox_deliveries")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index("ix_outbox_delivery", "outbox", ["delivery_id"], unique=False)
    op.create_index(
        "ix_outbox_due",
        "outbox",
        ["channel", "due_at"],
        unique=False,
        postgresql_where=sa.text("status = 'queued'"),
        sqlite_where=sa.text("status = 'queued'"),
    )
    dialect = op.get_bind().dialect.name
    for statement in (*statements(dialect), *fence_statements(dialect, _TABLES)):
        op.execute(sa.DDL(statement.replace("%", "%%")))


def downgrade() -> None:
    """Remove the guards, then the tables."""
    dialect = op.get_bind().dialect.name
    for statement in (*drop_statements(dialect), *drop_fence_statements(dialect, _TABLES)):
        op.execute(sa.DDL(statement))
    op.drop_index(
        "ix_outbox_due",
        table_name="outbox",
        postgresql_where=sa.text("status = 'queued'"),
        sqlite_where=sa.text("status = 'queued'"),
    )
    op.drop_index("ix_outbox_delivery", table_name="outbox")
    op.drop_table("outbox")
    op.drop_index(
        "ix_executions_due",
        table_name="executions",
        postgresql_where=sa.text("status = 'started'"),
        sqlite_where=sa.text("status = 'started'"),
    )
    op.drop_table("executions")
    op.drop_index("ix_idempotency_keys_expiry", table_name="idempotency_keys")
    op.drop_table("idempotency_keys")
    op.drop_index(
        "ix_grants_due",
        table_name="grants",
        postgresql_where=sa.text("status = 'issued'"),
        sqlite_where=sa.text("status = 'issued'"),
    )
    op.drop_table("grants")
    op.drop_index(
        "ix_deliveries_repost",
        table_name="deliveries",
        postgresql_where=sa.text("status = 'live'"),
        sqlite_where=sa.text("status = 'live'"),
    )
    op.drop_table("deliveries")
    op.drop_table("decisions")
    op.drop_index("ix_requests_open", table_name="requests")
    op.drop_index("ix_requests_listing", table_name="requests")
    op.drop_index(
        "ix_requests_due",
        table_name="requests",
        postgresql_where=sa.text("status = 'pending'"),
        sqlite_where=sa.text("status = 'pending'"),
    )
    op.drop_table("requests")
    op.drop_index("ix_seen_clicks_expiry", table_name="seen_clicks")
    op.drop_table("seen_clicks")
    op.drop_table("policies")
    op.drop_table("audit_heads")
    op.drop_index("ix_audit_events_request", table_name="audit_events")
    op.drop_table("audit_events")
    op.drop_table("api_keys")
    op.drop_index("ix_accounts_account", table_name="accounts")
    op.drop_table("accounts")
