"""Seals: columns for the MACs of a request, and under which secrets an org's rows were sealed.

A migration has no secret. What stands is sealed by the first gateway that starts afterwards, which says so in the
trail; stop those of before first, for they write rows without seals.

Revision: 0007, 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_FENCED = ("secret_ids",)
_STRICTER = sa.text(
    "SELECT count(*) FROM requests LEFT JOIN grants ON grants.request_id = requests.id "
    "WHERE (requests.status = 'pending' AND requests.assurance <> 'L1') "
    "OR (requests.enforced = 1 AND (requests.status = 'pending' OR grants.status = 'issued'))"
)
_COLUMNS = ("bound_digest", "seal")


def upgrade() -> None:
    """Add the columns and the table; nothing is sealed yet."""
    for name in _COLUMNS:
        op.add_column("requests", sa.Column(name, sa.Text(), nullable=True))
    op.create_table(
        "secret_ids",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("known_since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "key_id", name=op.f("pk_secret_ids")),
    )
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove them. API keys that were hashed with seals are not known to the code before: they must be made anew."""
    stricter = op.get_bind().execute(_STRICTER).scalar() or 0
    if stricter:  # said here, for the step behind this one would refuse, with the seals gone already
        raise RuntimeError(f"{stricter} open request{'s' if stricter > 1 else ''} would become laxer: settle or cancel")
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("secret_ids")
    for name in reversed(_COLUMNS):
        op.drop_column("requests", name)
