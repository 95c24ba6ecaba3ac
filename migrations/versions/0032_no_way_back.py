"""A revoked key leaves no hash that opens, its revocation is found in the trail, and standing approvals have a seal.

Revision: 0032, 2026-11-27
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_REVOKED = sa.text("kind = 'key.revoked'")


def upgrade() -> None:
    """Add them. What stands already has no seal: it permits nothing any more, until it is proposed and confirmed again."""
    op.add_column("standing_approvals", sa.Column("seal", sa.Text(), nullable=True))
    op.create_index(
        "ix_audit_events_revoked",
        "audit_events",
        ["org", "facts"],
        postgresql_where=_REVOKED,
        sqlite_where=_REVOKED,
    )
    op.execute("UPDATE api_keys SET secret_hash = 'revoked' WHERE revoked_at IS NOT NULL")


def downgrade() -> None:
    """Remove them: a gateway of before looks at none. A hash that is gone stays gone, as its key does."""
    op.drop_index("ix_audit_events_revoked", table_name="audit_events")
    op.drop_column("standing_approvals", "seal")
