"""A request has evidence: links, and files that are kept apart.

Revision: 0027, 2026-11-25
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

_FENCED = ("exhibits",)


def upgrade() -> None:
    """Add the column and the table: nothing that stands already brought anything along."""
    op.add_column("requests", sa.Column("evidence", sa.Text(), server_default="[]", nullable=False))
    op.create_table(
        "exhibits",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_exhibits_requests")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exhibits")),
    )
    op.create_index("ix_exhibits_request", "exhibits", ["request_id", "number"], unique=True)
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove them, with every file."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_index("ix_exhibits_request", table_name="exhibits")
    op.drop_table("exhibits")
    op.drop_column("requests", "evidence")
