"""Cards that a platform took are asked for once: does it show them?

Revision: 0018, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_WAITING = "status = 'live' AND looked <> 1"


def upgrade() -> None:
    """Add the column: of what is out already, only the last minutes' cards are asked for."""
    op.add_column("deliveries", sa.Column("looked", sa.Integer(), nullable=False, server_default="0"))
    op.create_index(
        "ix_deliveries_unseen",
        "deliveries",
        ["org", "channel", "posted_at"],
        postgresql_where=sa.text(_WAITING),
        sqlite_where=sa.text(_WAITING),
    )


def downgrade() -> None:
    """Remove both; what was posted anew stays so."""
    op.drop_index("ix_deliveries_unseen", table_name="deliveries")
    op.drop_column("deliveries", "looked")
