"""When a key was last used is kept, so that administrators see which ones nobody needs any more.

Revision: 0030, 2026-11-26
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it, empty: of earlier uses nothing is known."""
    op.add_column("api_keys", sa.Column("last_used_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Remove it: nothing hangs on it."""
    op.drop_column("api_keys", "last_used_at")
