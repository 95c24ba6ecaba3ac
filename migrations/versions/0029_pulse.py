"""How the gateway does is counted from indexes, which hold all that is counted: a look reads no request.

Revision: 0029, 2026-11-25
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_DECIDED = "status IN ('approved', 'denied')"
_UNDELIVERED = "status = 'undeliverable'"


def upgrade() -> None:
    """Add them."""
    op.create_index("ix_requests_states", "requests", ["org", "state", "created_at"])
    op.create_index(
        "ix_requests_decided",
        "requests",
        ["org", "created_at", "id"],
        postgresql_where=sa.text(_DECIDED),
        sqlite_where=sa.text(_DECIDED),
    )
    op.create_index(
        "ix_deliveries_undeliverable",
        "deliveries",
        ["org", "request_id"],
        postgresql_where=sa.text(_UNDELIVERED),
        sqlite_where=sa.text(_UNDELIVERED),
    )


def downgrade() -> None:
    """Remove them: the page gets slow, and stays true."""
    op.drop_index("ix_deliveries_undeliverable", table_name="deliveries")
    op.drop_index("ix_requests_decided", table_name="requests")
    op.drop_index("ix_requests_states", table_name="requests")
