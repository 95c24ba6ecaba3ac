"""A request keeps what proves who asked for it.

Revision: 0028, 2026-11-25
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: of what stands already, who asked was only claimed."""
    op.add_column("requests", sa.Column("requester_proof", sa.Text(), nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("requests", "requester_proof")
