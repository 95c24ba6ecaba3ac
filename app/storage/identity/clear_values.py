"""What was kept in clear before values were encrypted, and how it is encrypted where it stands.

Nothing of what a request says is changed: it keeps its version, its seal and its place in the trail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, select, update

from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.identity.vault import hidden, number_of
from app.storage.tables.request_columns import EXECUTION, REQUEST
from app.storage.tables.tables import executions, requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table

    from app.storage.tables.columns import Columns

_LIST = Statement(
    select(requests.c.id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.id > bindparam("behind"),
        requests.c.title.not_like("e1.%"),  # each has one
    )
    .order_by(requests.c.id)
    .limit(bindparam("most"))
)


def _statements(table: Table, columns: Columns[Any], whose: Any) -> tuple[Statement, Statement]:
    mine = and_(table.c.org == bindparam("for_org"), whose == bindparam("of_request"))
    found = select(table.c.id.label("id"), *(table.c[name] for name in columns.hidden)).where(mine).with_for_update()
    kept: dict[str, Any] = {name: bindparam(name) for name in columns.hidden}
    return Statement(found), Statement(update(table).where(mine).values(kept))


_OF_REQUEST = _statements(requests, REQUEST, requests.c.id)
_OF_EXECUTION = _statements(executions, EXECUTION, executions.c.request_id)


def list_clear(tx: Tx, *, behind: str, most: int) -> list[str]:
    """Return requests with values in clear, by id."""
    return [row["id"] for row in tx.all(_LIST, for_org=tx.org, behind=behind, most=most)]


def encrypt_values(tx: Tx, ids: Sequence[str]) -> int:
    """Encrypt the values of these requests and of their executions; return how many requests."""
    for request_id in ids:
        _encrypt(tx, request_id, EXECUTION, _OF_EXECUTION)
        _encrypt(tx, request_id, REQUEST, _OF_REQUEST)
        tx.leaves[request_id] = None  # it has to be read
    return len(ids)


def _encrypt(tx: Tx, request_id: str, columns: Columns[Any], statements: tuple[Statement, Statement]) -> None:
    found, keep = statements
    row = tx.one(found, for_org=tx.org, of_request=request_id)
    if row is None:
        return
    clear: Row = {name: value for name, value in row.items() if not isinstance(value, str) or number_of(value) is None}
    encrypted = hidden(tx, clear, columns.hidden, request_id=request_id, row_id=row["id"])
    kept = {**row, **encrypted}
    del kept["id"]
    if any(kept[name] != row[name] for name in kept):
        tx.write(keep, for_org=tx.org, of_request=request_id, **kept)
