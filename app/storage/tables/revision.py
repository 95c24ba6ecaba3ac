"""Which schema the database has, as a running gateway may ask. Whoever migrates has no store: `migrations.state`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import Text, column, select, table

from app.domain.errors import UnsealedError
from app.storage.engine.transaction import Statement
from app.storage.engine.trouble import NoRevisionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.storage.engine.transaction import Tx

_IS_ONE = re.compile(r"[0-9]{4}\w*")
_REVISION = column("version_num", Text)
_PRESENT = Statement(select(_REVISION).select_from(table("alembic_version", _REVISION)))


def find_revision(tx: Tx) -> str:
    """Return the revision; "" while there is none. Raises UnsealedError."""
    try:
        return parse_revision([row["version_num"] for row in tx.all(_PRESENT)]) or ""
    except NoRevisionError as error:
        raise UnsealedError(str(error)) from None


def parse_revision(rows: Sequence[object]) -> str | None:
    """Return what the table's rows say; None: nothing. Raises NoRevisionError for what no migration writes."""
    if not rows:
        return None
    if len(rows) > 1 or not isinstance(rows[0], str) or not _IS_ONE.fullmatch(rows[0]):
        raise NoRevisionError("the table alembic_version says no revision: one row with four digits belongs there")
    return rows[0]
