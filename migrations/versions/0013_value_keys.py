"""Values are encrypted where they are kept: each org's value keys, and a trigger that lets what stands be encrypted.

A migration has no secret. What stands in clear is encrypted by the first gateway that starts afterwards, page by page,
and can be read until then. It does not change the requests' versions, for it changes nothing of what they say: the
trigger lets it through only if nothing but such values differs.

Revision: 0013, 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements, versioned_statements

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_FENCED = ("value_keys",)
_HIDDEN = ("arguments", "claim", "title", "handovers", "questions", "proposed", "payments", "cautions")
_ANY_HIDDEN = sa.text("SELECT count(*) FROM requests WHERE title LIKE 'e1.%'")  # each has one


def upgrade() -> None:
    """Add the table; nothing is encrypted yet."""
    op.create_table(
        "value_keys",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("wrapped", sa.Text(), nullable=True),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("caught_up_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("org", "number", name=op.f("pk_value_keys")),
    )
    bind = op.get_bind()
    for statement in fence_statements(bind.dialect.name, _FENCED):
        op.execute(statement)
    columns = [column["name"] for column in sa.inspect(bind).get_columns("requests")]
    for statement in versioned_statements(bind.dialect.name, [name for name in columns if name not in _HIDDEN]):
        op.execute(statement)


def downgrade() -> None:
    """Remove them, if nothing is encrypted: the code before could not read it, and the keys would be gone for good."""
    bind = op.get_bind()
    hidden = bind.execute(_ANY_HIDDEN).scalar() or 0
    if hidden:
        raise RuntimeError(
            f"the values of {hidden} request{'s are' if hidden > 1 else ' is'} encrypted, and the code before cannot "
            "read them: put back a backup from before 0013 instead"
        )
    for statement in versioned_statements(bind.dialect.name, None):
        op.execute(statement)
    for statement in drop_fence_statements(bind.dialect.name, _FENCED):
        op.execute(statement)
    op.drop_table("value_keys")
