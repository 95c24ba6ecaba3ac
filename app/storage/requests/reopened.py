"""Which request was opened in the place of an expired one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from app.storage.engine.transaction import Statement
from app.storage.tables.tables import requests

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx

_SUCCESSOR = Statement(
    select(requests.c.id).where(
        requests.c.predecessor_id == bindparam("of_request"), requests.c.org == bindparam("for_org")
    )
)


def find_successor(tx: Tx, request_id: str) -> str | None:
    """Return the id of the request that asks again for what another asked, or None."""
    row = tx.one(_SUCCESSOR, of_request=request_id, for_org=tx.org)
    return row["id"] if row else None
