"""Which schema the database has, as a running gateway may ask. Whoever migrates has no store: `migrations.state`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Text, column, select, table

from app.storage.engine.transaction import Statement

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx

_REVISION = column("version_num", Text)
_PRESENT = Statement(select(_REVISION).select_from(table("alembic_version", _REVISION)))


def find_revision(tx: Tx) -> str:
    """Return the revision; "" while there is none."""
    row = tx.one(_PRESENT)
    return row["version_num"] if row else ""
