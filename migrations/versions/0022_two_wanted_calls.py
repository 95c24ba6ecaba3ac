"""A request knows through which sub-agent it was asked for, and whether its idempotency key alone finds it again.

Revision: 0022, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns: of what stands already, neither was kept."""
    op.add_column("requests", sa.Column("sub_agent", sa.Text(), nullable=True))
    op.add_column("requests", sa.Column("alone", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Remove them."""
    op.drop_column("requests", "alone")
    op.drop_column("requests", "sub_agent")
