"""A request knows who hears how it ends, besides whoever asked.

Revision: 0024, 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: of what stands already, nobody else was to hear."""
    op.add_column("requests", sa.Column("cc", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("requests", "cc")
