"""Cards whose content a platform refused are shown without the call from then on.

Revision: 0011, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: nothing was refused so far that is still shown."""
    op.add_column("deliveries", sa.Column("content_refused", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Remove it; what was shown without the call is tried whole again."""
    op.drop_column("deliveries", "content_refused")
