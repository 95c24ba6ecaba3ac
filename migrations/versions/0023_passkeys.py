"""People have passkeys, sessions know the groups that came with them, and signing out everywhere is remembered.

Revision: 0023, 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.storage.tables.guards import drop_fence_statements, fence_statements

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_FENCED = ("passkeys", "sign_outs")


def upgrade() -> None:
    """Add the tables, which begin empty, and the column."""
    op.create_table(
        "passkeys",
        sa.Column("credential", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("signs", sa.BigInteger(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("credential", name=op.f("pk_passkeys")),
    )
    op.create_index("ix_passkeys_person", "passkeys", ["org", "person"], unique=False)
    op.create_table(
        "sign_outs",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("org", "person", name=op.f("pk_sign_outs")),
    )
    op.add_column("console_sessions", sa.Column("groups", sa.Text(), nullable=True))
    for statement in fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)


def downgrade() -> None:
    """Remove them: whoever had a passkey needs an invitation."""
    for statement in drop_fence_statements(op.get_bind().dialect.name, _FENCED):
        op.execute(statement)
    op.drop_column("console_sessions", "groups")
    op.drop_table("sign_outs")
    op.drop_index("ix_passkeys_person", table_name="passkeys")
    op.drop_table("passkeys")
