"""What the kill switch needs: a switch may be of one tool.

Revision: 0005, 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_BEFORE = ("org", "name", "agent", "is_on", "reason", "set_by", "set_at")


def upgrade() -> None:
    """Add the column, to the key as well. Switches that are set stay so, for every tool."""
    if op.get_bind().dialect.name == "postgresql":
        op.add_column("switches", sa.Column("tool", sa.Text(), server_default="", nullable=False))
        _set_key("org", "name", "agent", "tool")
        return
    _copy(
        sa.Column("tool", sa.Text(), server_default="", nullable=False),
        key=("org", "name", "agent", "tool"),
    )


def downgrade() -> None:
    """Remove it. Pauses are lifted by that: the code before does not know them."""
    op.execute("DELETE FROM switches WHERE name = 'pause' OR tool <> ''")
    if op.get_bind().dialect.name == "postgresql":
        _set_key("org", "name", "agent")
        op.drop_column("switches", "tool")
        return
    _copy(key=("org", "name", "agent"))


def _set_key(*columns: str) -> None:
    op.drop_constraint(op.f("pk_switches"), "switches", type_="primary")
    op.create_primary_key(op.f("pk_switches"), "switches", list(columns))


def _copy(*more: sa.Column[str], key: tuple[str, ...]) -> None:
    """Make the table anew with another key: SQLite can only copy it."""
    op.create_table(
        "switches_copied",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), server_default="", nullable=False),
        *more,
        sa.Column("is_on", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("set_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("is_on IN (0, 1)", name=op.f("ck_switches_is_on")),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_switches")),
    )
    kept = ", ".join(_BEFORE)
    op.execute(f"INSERT INTO switches_copied ({kept}) SELECT {kept} FROM switches")  # noqa: S608 - our own names
    op.drop_table("switches")
    op.rename_table("switches_copied", "switches")
