"""What approvers need: for whom a vote was given, and why an approval was taken back.

Revision: 0003, 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. Both are empty for what was decided before."""
    op.add_column("decisions", sa.Column("on_behalf_of", sa.Text(), nullable=True))
    op.add_column("requests", sa.Column("revoked_why", sa.Text(), nullable=True))


def downgrade() -> None:
    """Remove them. A vote given for somebody who is away then counts for nobody who is not entitled."""
    op.drop_column("requests", "revoked_why")
    op.drop_column("decisions", "on_behalf_of")
