"""Events of the trail may be cut off once they were exported: a record of each cut, and triggers that look for it.

Revision: 0020, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import cut_statements, drop_cut_statements, drop_fence_statements, fence_statements

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_FENCED = ("trail_cuts",)
_CUTS = sa.text("SELECT count(*) FROM trail_cuts")


def upgrade() -> None:
    """Add the table, which begins empty, and the triggers."""
    dialect = op.get_bind().dialect.name
    op.create_table(
        "trail_cuts",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("carried", sa.Text(), nullable=False),
        sa.Column("cut_by", sa.Text(), nullable=False),
        sa.Column("cut_at", sa.BigInteger(), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org", "seq", name=op.f("pk_trail_cuts")),
        sa.UniqueConstraint("org", "first_seq", name=op.f("uq_trail_cuts_org_first_seq")),
    )
    for statement in (*fence_statements(dialect, _FENCED), *cut_statements(dialect)):
        op.execute(statement)


def downgrade() -> None:
    """Remove them, if nothing was cut: the code before would call such a trail broken."""
    bind = op.get_bind()
    if bind.execute(_CUTS).scalar():
        raise RuntimeError(
            "the trail was cut, and the code before cannot verify it: put back a backup from before 0020"
        )
    for statement in (*drop_cut_statements(bind.dialect.name), *drop_fence_statements(bind.dialect.name, _FENCED)):
        op.execute(statement)
    op.drop_table("trail_cuts")
