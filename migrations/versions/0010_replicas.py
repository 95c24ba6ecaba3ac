"""Replicas know each other: a row for each gateway and org, with what it has.

Revision: 0010, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_FENCED = ("replicas",)


def upgrade() -> None:
    """Add the table; every gateway writes itself into it when it starts."""
    op.create_table(
        "replicas",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("key_ids", sa.Text(), nullable=False),
        sa.Column("software", sa.Text(), nullable=False),
        sa.Column("ahead", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("said", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_replicas")),
    )
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove it."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("replicas")
