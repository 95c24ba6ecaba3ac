"""A request keeps what the agent's program sent to its hook.

Revision: 0026, 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: of what stands already, nothing was kept."""
    op.add_column("requests", sa.Column("host_event", sa.Text(), nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("requests", "host_event")
