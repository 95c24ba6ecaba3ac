"""People have sessions in the console.

Revision: 0021, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_FENCED = ("console_sessions",)


def upgrade() -> None:
    """Add the table, which begins empty."""
    op.create_table(
        "console_sessions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_console_sessions")),
    )
    op.create_index("ix_console_sessions_person", "console_sessions", ["org", "person"], unique=False)
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove it: whoever is signed in signs in anew."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_index("ix_console_sessions_person", table_name="console_sessions")
    op.drop_table("console_sessions")
