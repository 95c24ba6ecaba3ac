"""Payees, those who were paid before, and what was spent have a seal.

Revision: 0031, 2026-11-27
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

_TABLES = ("payees", "payee_history", "spends")


def upgrade() -> None:
    """Add the columns, empty: what stands already vouches for nobody any more, and is asked about again.

    The memory of earlier payments is nothing but what vouches: it goes, and verifying has nothing to name for ever.
    """
    for table in _TABLES:
        op.add_column(table, sa.Column("seal", sa.Text(), nullable=True))
    op.execute("DELETE FROM payee_history")


def downgrade() -> None:
    """Remove them: a gateway of before looks at none."""
    for table in _TABLES:
        op.drop_column(table, "seal")
