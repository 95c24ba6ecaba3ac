"""What is over may be removed after a time: triggers that let it go, what it leaves behind, and indexes to find it by.

Revision: 0017, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import (
    drop_fence_statements,
    drop_removal_statements,
    fence_statements,
    removal_statements,
)

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_FENCED = ("payee_history",)
_OVER = sa.text("status <> 'queued'")


def upgrade() -> None:
    """Add the table, which begins empty, the indexes and the triggers."""
    dialect = op.get_bind().dialect.name
    op.create_table(
        "payee_history",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("payee_key", sa.Text(), nullable=False),
        sa.Column("account_key", sa.Text(), nullable=False),
        sa.Column("payee", sa.Text(), nullable=False),
        sa.Column("account_tail", sa.Text(), nullable=False),
        sa.Column("paid_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "org", "payee_key", "account_key", "payee", "account_tail", name=op.f("pk_payee_history")
        ),
    )
    op.create_index("ix_outbox_over", "outbox", ["org", "created_at"], postgresql_where=_OVER, sqlite_where=_OVER)
    op.create_index("ix_idempotency_keys_request", "idempotency_keys", ["request_id"])
    op.create_index("ix_lifts_request", "lifts", ["request_id"])
    for statement in (*fence_statements(dialect, _FENCED), *removal_statements(dialect)):
        op.execute(statement)


def downgrade() -> None:
    """Remove them; payees who were paid by requests that are removed are strangers again."""
    dialect = op.get_bind().dialect.name
    for statement in (*drop_removal_statements(dialect), *drop_fence_statements(dialect, _FENCED)):
        op.execute(statement)
    op.drop_index("ix_lifts_request", table_name="lifts")
    op.drop_index("ix_idempotency_keys_request", table_name="idempotency_keys")
    op.drop_index("ix_outbox_over", table_name="outbox")
    op.drop_table("payee_history")
