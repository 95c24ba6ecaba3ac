"""Receivers outside are told of the trail: how far each of them is.

Revision: 0015, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_FENCED = ("webhooks",)


def upgrade() -> None:
    """Add the table, which begins empty: whoever is named in the file is told of what comes from then on."""
    op.create_table(
        "webhooks",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("failing_since", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org", "name", name=op.f("pk_webhooks")),
    )
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove it: nobody is told any more, and nobody knows how far they were."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("webhooks")
