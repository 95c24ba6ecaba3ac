"""What concerns one person is found by indexes: what waits by its weight, what they decided, what was asked for them.

Revision: 0025, 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_PARTLY = (
    ("ix_requests_waiting", ["org", "risk", "expires_at", "id"], "status = 'pending'"),
    ("ix_requests_requester", ["org", "requester", "created_at"], "requester IS NOT NULL"),
    ("ix_requests_owner", ["org", "owner", "created_at"], "owner IS NOT NULL"),
)


def upgrade() -> None:
    """Add them."""
    for name, columns, where in _PARTLY:
        op.create_index(name, "requests", columns, postgresql_where=sa.text(where), sqlite_where=sa.text(where))
    op.create_index("ix_decisions_person", "decisions", ["org", "person", "decided_at"])


def downgrade() -> None:
    """Remove them: the pages get slow, and stay true."""
    op.drop_index("ix_decisions_person", table_name="decisions")
    for name, _, _ in reversed(_PARTLY):
        op.drop_index(name, table_name="requests")
