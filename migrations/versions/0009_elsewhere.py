"""A service that asks its own people: an outcome of its own, with the service's id and link.

Revision: 0009, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import statements

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_COLUMNS = ("elsewhere_id", "elsewhere_link")
_OUTCOMES = "status IN ('started', 'succeeded', 'failed', 'unknown'{})"
_STATES = (
    "state IN ('pending', 'approved', 'executing', 'succeeded', 'failed', 'unknown'{}, "
    "'denied', 'expired', 'cancelled', 'undeliverable', 'lapsed')"
)
_MORE = ", 'pending_elsewhere'"
_PLACED = "status <> 'pending_elsewhere' OR elsewhere_id IS NOT NULL"


def upgrade() -> None:
    """Add the columns, and the outcome to what the database lets stand."""
    with op.batch_alter_table("executions") as batch:
        for name in _COLUMNS:
            batch.add_column(sa.Column(name, sa.Text(), nullable=True))
        batch.drop_constraint(op.f("ck_executions_status"), type_="check")
        batch.create_check_constraint(op.f("ck_executions_status"), _OUTCOMES.format(_MORE))
        batch.create_check_constraint(op.f("ck_executions_elsewhere"), _PLACED)
    _set_states(_STATES.format(_MORE))


def downgrade() -> None:
    """Remove them. Refused while something waits elsewhere: the older gateway could not even read it."""
    waiting = op.get_bind().execute(_WAITING).scalar() or 0
    if waiting:
        raise RuntimeError(
            f"{waiting} call{'s wait' if waiting > 1 else ' waits'} at the service that runs it: settle first "
            "(`assent requests reconcile`)"
        )
    _set_states(_STATES.format(""))
    with op.batch_alter_table("executions") as batch:
        batch.drop_constraint(op.f("ck_executions_elsewhere"), type_="check")
        batch.drop_constraint(op.f("ck_executions_status"), type_="check")
        batch.create_check_constraint(op.f("ck_executions_status"), _OUTCOMES.format(""))
        for name in reversed(_COLUMNS):
            batch.drop_column(name)


_WAITING = sa.text("SELECT count(*) FROM executions WHERE status = 'pending_elsewhere'")


def _set_states(condition: str) -> None:
    """Let a request have these states. SQLite can only copy the table, and forgets its triggers with the old one."""
    with op.batch_alter_table("requests") as batch:
        batch.drop_constraint(op.f("ck_requests_state"), type_="check")
        batch.create_check_constraint(op.f("ck_requests_state"), condition)
    if op.get_bind().dialect.name == "sqlite":
        for statement in statements("sqlite"):
            if " ON requests" in statement:
                op.execute(sa.DDL(statement.replace("%", "%%")))
