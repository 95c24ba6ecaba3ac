"""One approver may allow calls for a session, beside an approval, where the file's author lets one: nobody confirms it.

Revision: 0031, 2026-11-25
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0029"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('standing', 'break_glass'{})"
_CONFIRMED = "status <> 'active' OR {}confirmed_by IS NOT NULL"
_OF_SESSION = "kind <> 'session' OR (confirmed_by IS NULL AND status <> 'proposed')"
_ANY = sa.text("SELECT count(*) FROM standing_approvals WHERE kind = 'session'")


def upgrade() -> None:
    """Let there be such rows; two people still make every other."""
    with op.batch_alter_table("standing_approvals") as batch:
        for name in ("kind", "confirmed"):
            batch.drop_constraint(op.f(f"ck_standing_approvals_{name}"), type_="check")
        batch.create_check_constraint(op.f("ck_standing_approvals_kind"), _KINDS.format(", 'session'"))
        batch.create_check_constraint(op.f("ck_standing_approvals_confirmed"), _CONFIRMED.format("kind = 'session' OR "))
        batch.create_check_constraint(op.f("ck_standing_approvals_of_session"), _OF_SESSION)


def downgrade() -> None:
    """Take them away. Refused where there are such rows: the older gateway could not even read them."""
    known = op.get_bind().execute(_ANY).scalar() or 0
    if known:
        raise RuntimeError(f"standing approvals of sessions that the older gateway cannot read: {known}")
    with op.batch_alter_table("standing_approvals") as batch:
        for name in ("kind", "confirmed", "of_session"):
            batch.drop_constraint(op.f(f"ck_standing_approvals_{name}"), type_="check")
        batch.create_check_constraint(op.f("ck_standing_approvals_kind"), _KINDS.format(""))
        batch.create_check_constraint(op.f("ck_standing_approvals_confirmed"), _CONFIRMED.format(""))
