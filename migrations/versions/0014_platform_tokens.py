"""Tokens of a platform that end after some hours are kept, sealed, and renewed by one replica for all.

Revision: 0014, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_FENCED = ("platform_tokens",)


def upgrade() -> None:
    """Add the table, which begins empty: the first pair is got with what the file gives."""
    op.create_table(
        "platform_tokens",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("pair", sa.Text(), nullable=True),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("seeds", sa.Text(), nullable=False),
        sa.Column("refreshing_until", sa.BigInteger(), nullable=False),
        sa.Column("refreshing_by", sa.Text(), nullable=False),
        sa.Column("trouble", sa.Text(), nullable=False),
        sa.Column("lost_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("org", "channel", name=op.f("pk_platform_tokens")),
    )
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove it, and with it what nobody else knows: a channel then needs a new renewal token in the file."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("platform_tokens")
