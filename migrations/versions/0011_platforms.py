"""Platforms as they are: cards that go without the call, and turns that replicas take together.

Revision: 0011, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0011"
down_revision = "0008"
branch_labels = None
depends_on = None

_FENCED = ("turns",)


def upgrade() -> None:
    """Add the column, as nothing was refused so far that is still shown; and the table, which begins empty."""
    op.add_column("deliveries", sa.Column("content_refused", sa.Integer(), nullable=False, server_default="0"))
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
    """Remove both; what was shown without the call is tried whole again."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("turns")
    op.drop_column("deliveries", "content_refused")
