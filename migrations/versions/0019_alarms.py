"""Alarms stand in the database, so that one gateway of several tells people of each.

Revision: 0019, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_FENCED = ("alarms",)


def upgrade() -> None:
    """Add the table, which begins empty."""
    op.create_table(
        "alarms",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("seen_by", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "cause", "about", "seen_by", name=op.f("pk_alarms")),
    )
    op.create_index(
        "ix_executions_unknown",
        "executions",
        ["org", "ended_at"],
        postgresql_where=sa.text("status = 'unknown'"),
        sqlite_where=sa.text("status = 'unknown'"),
    )
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove it: what stands is said anew, if it comes back."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_index("ix_executions_unknown", "executions")
    op.drop_table("alarms")
