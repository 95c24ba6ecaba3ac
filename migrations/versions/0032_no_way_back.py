"""A revoked key leaves no hash, standing approvals have a seal, and what the trail says of both is found at once.

Revision: 0032, 2026-11-27
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_REVOKED = "kind = 'key.revoked'"
_OF_PERMITS = (
    "kind IN ('standing.used', 'standing.session_used', 'standing.revoked', 'break_glass.used', 'break_glass.ended')"
)
_INDEXES = (("ix_audit_events_revoked", "facts", _REVOKED), ("ix_audit_events_permits", "at", _OF_PERMITS))


def upgrade() -> None:
    """Add them. What stands already has no seal: it permits nothing, until it is proposed and confirmed again."""
    op.add_column("standing_approvals", sa.Column("seal", sa.Text(), nullable=True))
    for name, column, where in _INDEXES:
        op.create_index(
            name, "audit_events", ["org", column], postgresql_where=sa.text(where), sqlite_where=sa.text(where)
        )
    op.execute("UPDATE api_keys SET secret_hash = 'revoked' WHERE revoked_at IS NOT NULL")


def downgrade() -> None:
    """Remove them: a gateway of before looks at none. A hash that is gone stays gone, as its key does."""
    for name, _, _ in _INDEXES:
        op.drop_index(name, table_name="audit_events")
    op.drop_column("standing_approvals", "seal")
