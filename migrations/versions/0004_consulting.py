"""What happens while a request waits: timers, questions, hand-overs, changes; private copies, shared cards, notices.

Revision: 0004, 2026-11-21
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_PARTIAL = (
    ("ix_requests_timers", "requests", ["timer_at"], "status = 'pending' AND timer_at IS NOT NULL", False),
    ("ix_requests_reopened", "requests", ["predecessor_id"], "predecessor_id IS NOT NULL", True),
    ("ix_requests_denied", "requests", ["org", "agent", "call_digest"], "status = 'denied'", False),
    (
        "ix_requests_denied_edited",
        "requests",
        ["org", "agent", "settled_at"],
        "status = 'denied' AND edited_by IS NOT NULL",
        False,
    ),
    ("ix_deliveries_carrier", "deliveries", ["carrier_id"], "carrier_id IS NOT NULL", False),
)


def _of_requests() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("risk", sa.Text(), nullable=False, server_default="normal"),
        sa.Column("fallback", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("timers", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("timer_at", sa.BigInteger(), nullable=True),
        sa.Column("reminded_at", sa.BigInteger(), nullable=True),
        sa.Column("extensions", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("handovers", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("questions", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("proposed", sa.Text(), nullable=True),
        sa.Column("edited_by", sa.Text(), nullable=True),
        sa.Column("only_lowered", sa.Integer(), nullable=False, server_default="0"),
    )


def _of_deliveries() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("audience", sa.Text(), nullable=False, server_default="approvers"),
        sa.Column("carrier_id", sa.Text(), nullable=True),
    )


def upgrade() -> None:
    """Add the columns. What waits already has no timers and no risk: it goes on as it was."""
    for column in _of_requests():
        op.add_column("requests", column)
    for column in _of_deliveries():
        op.add_column("deliveries", column)
    with op.batch_alter_table("outbox") as batch:
        batch.add_column(sa.Column("note", sa.Text(), nullable=True))
        batch.drop_constraint(op.f("ck_outbox_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_outbox_kind"), "kind IN ('post', 'refresh', 'notify')")
    for name, table, columns, where, unique in _PARTIAL:
        op.create_index(
            name, table, columns, unique=unique, postgresql_where=sa.text(where), sqlite_where=sa.text(where)
        )


def downgrade() -> None:
    """Remove them. Notices that were not sent yet are dropped; requests that wait keep their people and deadline."""
    for name, table, *_ in reversed(_PARTIAL):
        op.drop_index(name, table)
    op.execute("DELETE FROM outbox WHERE kind = 'notify'")
    with op.batch_alter_table("outbox") as batch:
        batch.drop_constraint(op.f("ck_outbox_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_outbox_kind"), "kind IN ('post', 'refresh')")
        batch.drop_column("note")
    for column in reversed(_of_deliveries()):
        op.drop_column("deliveries", column.name)
    for column in reversed(_of_requests()):
        op.drop_column("requests", column.name)
