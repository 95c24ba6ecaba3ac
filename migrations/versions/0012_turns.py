"""Replicas keep to a platform's pace together: one row says when each method may next be used in each chat.

Revision: 0012, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_FENCED = ("turns",)


def upgrade() -> None:
    """Add the table, which begins empty: nobody has been spoken to yet."""
    op.create_table(
        "turns",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("chat_id", sa.Text(), nullable=False),
        sa.Column("paid_until", sa.BigInteger(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "channel", "method", "chat_id", name=op.f("pk_turns")),
    )
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove it: each replica keeps the pace for itself again."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("turns")
