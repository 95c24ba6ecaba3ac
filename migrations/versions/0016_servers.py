"""The database knows which server it was on, so that a failover is noticed by whoever comes later, too.

Revision: 0016, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; a gateway writes into it when it first meets a server."""
    op.create_table(
        "database_servers",
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("timeline", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("met_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("system", "timeline", name=op.f("pk_database_servers")),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("database_servers")
