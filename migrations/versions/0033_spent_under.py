"""What was spent under a standing approval stands in its sealed row, and restores have a seal.

So payments that are taken away raise nothing, and a restore that nobody declared is told from one that no trail knows.

Revision: 0033, 2026-11-28
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it, empty: of what stands, the next use sums up the payments, and says it from then on."""
    op.add_column("standing_approvals", sa.Column("spent", sa.Text(), nullable=True))
    op.add_column("restores", sa.Column("seal", sa.Text(), nullable=True))


def downgrade() -> None:
    """Remove it. What was given or used since is sealed with it: it permits nothing, until it is proposed anew."""
    op.drop_column("restores", "seal")
    op.drop_column("standing_approvals", "spent")
