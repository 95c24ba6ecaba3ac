"""Narrow executors' keys: which tools a key may run, and whose key claimed an execution.

Revision: 0008, 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_CLAIMED_BY = """
UPDATE executions SET claimed_by = (
    SELECT actor FROM audit_events
    WHERE audit_events.request_id = executions.request_id AND audit_events.kind = 'grant.claimed'
    ORDER BY audit_events.seq DESC LIMIT 1
)
"""


def upgrade() -> None:
    """Add the columns. A key that is there runs every tool, as it did; what was claimed is its claimer's, by the trail."""
    op.add_column("api_keys", sa.Column("tools", sa.Text(), nullable=True))
    op.add_column("executions", sa.Column("claimed_by", sa.Text(), nullable=True))
    op.execute("""UPDATE api_keys SET tools = '["*"]' WHERE scope = 'executor'""")
    op.execute(_CLAIMED_BY)


def downgrade() -> None:
    """Remove them. Refused while a narrow key is live: the older gateway would let it run everything."""
    narrow = op.get_bind().execute(_NARROW).scalar() or 0
    if narrow:
        raise RuntimeError(
            f"{narrow} executor's key{'s' if narrow > 1 else ''} would run every tool: revoke what names tools first "
            "(`assent keys list`, `assent keys revoke`)"
        )
    op.drop_column("executions", "claimed_by")
    op.drop_column("api_keys", "tools")


_NARROW = sa.text(
    "SELECT count(*) FROM api_keys WHERE scope = 'executor' AND revoked_at IS NULL AND tools <> '[\"*\"]'"
)
