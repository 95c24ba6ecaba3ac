"""What the hooks need: switches, counters, sessions and whose they are, and keys for evaluation runs.

Revision: 0002, 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = ("switches", "counters", "counted_calls", "sessions")
_SCOPES = {
    "ck_api_keys_scope": "scope IN ('agent', 'evaluation', 'approver', 'auditor', 'admin')",
    "ck_api_keys_agent": "(scope IN ('agent', 'evaluation')) = (agent IS NOT NULL)",
}
_SCOPES_BEFORE = {
    "ck_api_keys_scope": "scope IN ('agent', 'approver', 'auditor', 'admin')",
    "ck_api_keys_agent": "(scope = 'agent') = (agent IS NOT NULL)",
}
_APPROVER = {"ck_api_keys_approver": "scope <> 'approver' OR person IS NOT NULL"}


def upgrade() -> None:
    """Create the tables with their fences, and widen the scopes of keys."""
    op.create_table(
        "switches",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), server_default="", nullable=False),
        sa.Column("is_on", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("set_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("is_on IN (0, 1)", name=op.f("ck_switches_is_on")),
        sa.PrimaryKeyConstraint("org", "name", "agent", name=op.f("pk_switches")),
    )
    op.create_table(
        "counters",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("taken", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "key", name=op.f("pk_counters")),
    )
    op.create_index("ix_counters_end", "counters", ["ends_at"], unique=False)
    op.create_table(
        "counted_calls",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "key", "place", name=op.f("pk_counted_calls")),
    )
    op.create_index("ix_counted_calls_end", "counted_calls", ["ends_at"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("parent_agent", sa.Text(), nullable=True),
        sa.Column("parent_session", sa.Text(), nullable=True),
        sa.Column("detached", sa.Integer(), server_default="0", nullable=False),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("noted_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(parent_agent IS NULL) = (parent_session IS NULL)", name=op.f("ck_sessions_parent")),
        sa.CheckConstraint(
            "parent_agent IS NULL OR parent_agent <> agent OR parent_session <> session",
            name=op.f("ck_sessions_own_parent"),
        ),
        sa.CheckConstraint("detached IN (0, 1)", name=op.f("ck_sessions_detached")),
        sa.PrimaryKeyConstraint("org", "agent", "session", name=op.f("pk_sessions")),
    )
    op.create_index("ix_sessions_name", "sessions", ["org", "session"], unique=False)
    op.create_index(
        "ix_sessions_root",
        "sessions",
        ["noted_at"],
        unique=False,
        postgresql_where=sa.text("parent_agent IS NULL"),
        sqlite_where=sa.text("parent_agent IS NULL"),
    )
    op.create_index(
        "ix_sessions_child",
        "sessions",
        ["org"],
        unique=False,
        postgresql_where=sa.text("parent_agent IS NOT NULL"),
        sqlite_where=sa.text("parent_agent IS NOT NULL"),
    )
    op.create_index("ix_requests_session", "requests", ["org", "agent", "session"], unique=False)
    _set_scopes(_SCOPES)
    for statement in fence_statements(op.get_bind().dialect.name, _TABLES):
        op.execute(sa.DDL(statement.replace("%", "%%")))


def downgrade() -> None:
    """Remove the tables; keys for evaluation runs are lost."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _TABLES):
        op.execute(sa.DDL(statement))
    op.execute("DELETE FROM api_keys WHERE scope = 'evaluation'")
    _set_scopes(_SCOPES_BEFORE)
    op.drop_index("ix_requests_session", table_name="requests")
    op.drop_index(
        "ix_sessions_child",
        table_name="sessions",
        postgresql_where=sa.text("parent_agent IS NOT NULL"),
        sqlite_where=sa.text("parent_agent IS NOT NULL"),
    )
    op.drop_index(
        "ix_sessions_root",
        table_name="sessions",
        postgresql_where=sa.text("parent_agent IS NULL"),
        sqlite_where=sa.text("parent_agent IS NULL"),
    )
    op.drop_index("ix_sessions_name", table_name="sessions")
    op.drop_table("sessions")
    op.drop_index("ix_counted_calls_end", table_name="counted_calls")
    op.drop_table("counted_calls")
    op.drop_index("ix_counters_end", table_name="counters")
    op.drop_table("counters")
    op.drop_table("switches")


def _set_scopes(constraints: dict[str, str]) -> None:
    """Replace the constraints on scopes. SQLite can only copy the table."""
    if op.get_bind().dialect.name == "postgresql":
        for name, condition in constraints.items():
            op.drop_constraint(op.f(name), "api_keys", type_="check")
            op.create_check_constraint(op.f(name), "api_keys", condition)
        return
    op.create_table(
        "api_keys_copied",
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
        *(sa.CheckConstraint(condition, name=op.f(name)) for name, condition in {**constraints, **_APPROVER}.items()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.execute("INSERT INTO api_keys_copied SELECT * FROM api_keys")
    op.drop_table("api_keys")
    op.rename_table("api_keys_copied", "api_keys")
