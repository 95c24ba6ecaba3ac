"""How far each receiver was told of an org's trail. The trail is the outbox: this is one row a receiver beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, insert, select, update

from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.webhook_tables import webhooks
from app.storage.trail.audit_chain import get_head

if TYPE_CHECKING:
    from datetime import datetime

_T = webhooks
_ONE = (_T.c.org == bindparam("for_org"), _T.c.name == bindparam("of_name"))
_GET = Statement(select(_T).where(*_ONE))
_LOCK = Statement(select(_T).where(*_ONE).with_for_update())
_LIST = Statement(select(_T).where(_T.c.org == bindparam("for_org")).order_by(_T.c.name))
_INSERT = Statement(insert(_T))
_FIELDS = ("seq", "attempts", "due_at", "failing_since", "error")
_UPDATE = Statement(update(_T).where(*_ONE).values({name: bindparam(f"new_{name}") for name in _FIELDS}))


class Cursor(Struct, frozen=True, kw_only=True):
    """Where one receiver stands. `attempts` tells a lease from the one after it."""

    name: str
    seq: int
    due_at: datetime
    attempts: int = 0
    failing_since: datetime | None = None
    error: str = ""


def lock_cursor(tx: Tx, name: str) -> Cursor:
    """Read a receiver's row and keep it locked; one that is new is told of what comes from now on."""
    row = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_name=name)
    if row is not None:
        return _from_row(row)
    cursor = Cursor(name=name, seq=get_head(tx)[0], due_at=tx.now())
    tx.write(_INSERT, org=tx.org, name=name, **_columns(cursor))
    return cursor


def put_cursor(tx: Tx, cursor: Cursor) -> None:
    """Write what was locked."""
    changed = {f"new_{name}": value for name, value in _columns(cursor).items()}
    tx.write(_UPDATE, for_org=tx.org, of_name=cursor.name, **changed)


def list_cursors(tx: Tx) -> list[Cursor]:
    """Return an org's, by name."""
    return [_from_row(row) for row in tx.all(_LIST, for_org=tx.org)]


def _columns(cursor: Cursor) -> dict[str, object]:
    return {
        "seq": cursor.seq,
        "attempts": cursor.attempts,
        "due_at": to_us(cursor.due_at),
        "failing_since": to_us(cursor.failing_since) if cursor.failing_since else None,
        "error": cursor.error,
    }


def _from_row(row: Row) -> Cursor:
    return Cursor(
        name=row["name"],
        seq=row["seq"],
        attempts=row["attempts"],
        due_at=from_us(row["due_at"]),
        failing_since=from_us(row["failing_since"]) if row["failing_since"] is not None else None,
        error=row["error"],
    )
