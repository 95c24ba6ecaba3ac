"""Payments, and what an approval is worth: spends, payees, standing approvals, factors, attempts, lifts, restores.

Revision: 0006, 2026-11-22
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_FENCED = ("standing_approvals", "spends", "payees", "factors", "attempts", "lifts")
_SCOPES = "scope IN ('agent', 'evaluation', 'approver', 'executor', 'auditor', 'admin')"
_SCOPES_BEFORE = "scope IN ('agent', 'evaluation', 'approver', 'auditor', 'admin')"
_NEAR = sa.text("status = 'denied' AND near_key IS NOT NULL")
_STRICTER = sa.text(
    "SELECT count(*) FROM requests LEFT JOIN grants ON grants.request_id = requests.id "
    "WHERE (requests.status = 'pending' AND requests.assurance <> 'L1') "
    "OR (requests.enforced = 1 AND (requests.status = 'pending' OR grants.status = 'issued'))"
)
_ACTIVE = sa.text("status = 'active'")
_SPENT_BY = (
    ("ix_spends_agent", ["org", "agent", "at"]),
    ("ix_spends_owner", ["org", "owner", "at"]),
    ("ix_spends_payee", ["org", "payee_key", "at"]),
    ("ix_spends_account", ["org", "account_key", "at"]),
    ("ix_spends_org", ["org", "at"]),
    ("ix_spends_request", ["request_id"]),
    ("ix_spends_standing", ["standing_id"]),
)


def _of_requests() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("assurance", sa.Text(), nullable=False, server_default="L1"),
        sa.Column("payments", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("cautions", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("near_key", sa.Text(), nullable=True),
        sa.Column("enforced", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("allowed_by", sa.Text(), nullable=True),
    )


def upgrade() -> None:
    """Add the columns and tables. What waits already takes one click, as it did when people were asked."""
    for column in _of_requests():
        op.add_column("requests", column)
    op.create_index(
        "ix_requests_denied_near",
        "requests",
        ["org", "near_key", "settled_at"],
        postgresql_where=_NEAR,
        sqlite_where=_NEAR,
    )
    _standing()
    _spends()
    _people()
    with op.batch_alter_table("api_keys") as batch:
        batch.drop_constraint(op.f("ck_api_keys_scope"), type_="check")
        batch.create_check_constraint(op.f("ck_api_keys_scope"), _SCOPES)
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(sa.DDL(statement.replace("%", "%%")))


def downgrade() -> None:
    """Remove them: budgets, payees, standing approvals and factors are lost, and so are executors' keys.

    Refused while a request is open that the older gateway would let through with less.
    """
    stricter = op.get_bind().execute(_STRICTER).scalar() or 0
    if stricter:
        raise RuntimeError(
            f"{stricter} open request{'s' if stricter > 1 else ''} would become laxer: settle or cancel what takes "
            "more than a click or an executor, `assent pause --all --deny-waiting` ends it"
        )
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(sa.DDL(statement))
    op.execute("DELETE FROM api_keys WHERE scope = 'executor'")
    with op.batch_alter_table("api_keys") as batch:
        batch.drop_constraint(op.f("ck_api_keys_scope"), type_="check")
        batch.create_check_constraint(op.f("ck_api_keys_scope"), _SCOPES_BEFORE)
    for table in ("restores", "lifts", "attempts", "factors", "payees", "spends", "standing_approvals"):
        op.drop_table(table)
    op.drop_index("ix_requests_denied_near", "requests")
    for column in reversed(_of_requests()):
        op.drop_column("requests", column.name)


def _standing() -> None:
    op.create_table(
        "standing_approvals",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("proposed_by", sa.Text(), nullable=False),
        sa.Column("proposed_at", sa.BigInteger(), nullable=False),
        sa.Column("confirmed_by", sa.Text(), nullable=True),
        sa.Column("confirmed_at", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("reviewed_by", sa.Text(), nullable=True),
        sa.Column("reviewed_at", sa.BigInteger(), nullable=True),
        sa.Column("review", sa.Text(), nullable=True),
        sa.Column("used", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("kind IN ('standing', 'break_glass')", name=op.f("ck_standing_approvals_kind")),
        sa.CheckConstraint("status IN ('proposed', 'active', 'revoked')", name=op.f("ck_standing_approvals_status")),
        sa.CheckConstraint(
            "confirmed_by IS NULL OR confirmed_by <> proposed_by", name=op.f("ck_standing_approvals_two_people")
        ),
        sa.CheckConstraint(
            "status <> 'active' OR confirmed_by IS NOT NULL", name=op.f("ck_standing_approvals_confirmed")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_standing_approvals")),
    )
    op.create_index(
        "ix_standing_approvals_active",
        "standing_approvals",
        ["org", "expires_at"],
        postgresql_where=_ACTIVE,
        sqlite_where=_ACTIVE,
    )


def _spends() -> None:
    op.create_table(
        "spends",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("standing_id", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("payee", sa.Text(), nullable=False),
        sa.Column("payee_key", sa.Text(), nullable=False),
        sa.Column("account_key", sa.Text(), nullable=False),
        sa.Column("account_tail", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount > 0", name=op.f("ck_spends_amount")),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_spends_request_id_requests")),
        sa.ForeignKeyConstraint(
            ["standing_id"], ["standing_approvals.id"], name=op.f("fk_spends_standing_id_standing_approvals")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spends")),
    )
    for name, columns in _SPENT_BY:
        op.create_index(name, "spends", columns)


def _people() -> None:
    op.create_table(
        "payees",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("payee_key", sa.Text(), nullable=False),
        sa.Column("account_key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("account_tail", sa.Text(), nullable=False),
        sa.Column("is_known", sa.Integer(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("set_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("is_known IN (0, 1)", name=op.f("ck_payees_is_known")),
        sa.PrimaryKeyConstraint("org", "payee_key", "account_key", name=op.f("pk_payees")),
    )
    op.create_table(
        "factors",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=True),
        sa.Column("new_secret", sa.Text(), nullable=True),
        sa.Column("invite_hash", sa.Text(), nullable=True),
        sa.Column("invite_until", sa.BigInteger(), nullable=True),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("set_at", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('invited', 'enrolled', 'active')", name=op.f("ck_factors_status")),
        sa.PrimaryKeyConstraint("org", "person", name=op.f("pk_factors")),
    )
    op.create_table(
        "attempts",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.BigInteger(), nullable=False),
        sa.Column("locked_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("org", "subject", name=op.f("pk_attempts")),
    )
    op.create_table(
        "lifts",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("lifted_by", sa.Text(), nullable=False),
        sa.Column("lifted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_lifts_request_id_requests")),
        sa.PrimaryKeyConstraint("org", "request_id", name=op.f("pk_lifts")),
    )
    op.create_table(
        "restores",
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("restored_by", sa.Text(), nullable=False),
        sa.Column("restored_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("epoch", name=op.f("pk_restores")),
    )
