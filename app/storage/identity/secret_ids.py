"""Under which secrets an org's rows were sealed, by the secrets' public ids."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.secret_tables import secret_ids

_LIST = Statement(
    select(secret_ids.c.key_id)
    .where(secret_ids.c.org == bindparam("for_org"))
    .order_by(secret_ids.c.known_since, secret_ids.c.key_id)
)
_ALL = Statement(select(secret_ids.c.org, secret_ids.c.key_id))
_INSERT = Statement(insert(secret_ids))


def list_seal_ids(tx: Tx) -> list[str]:
    """Return the ids, the oldest first; none before a gateway has started on these rows."""
    return [row["key_id"] for row in tx.all(_LIST, for_org=tx.org)]


def list_all_seal_ids(tx: Tx) -> dict[str, list[str]]:
    """Return the ids of every org that this transaction sees."""
    found: dict[str, list[str]] = {}
    for row in tx.all(_ALL):
        found.setdefault(row["org"], []).append(row["key_id"])
    return found


def remember_secret(tx: Tx, key_id: str) -> bool:
    """Keep an id. False: it was known."""
    if key_id in list_seal_ids(tx):
        return False
    tx.write(_INSERT, org=tx.org, key_id=key_id, known_since=to_us(tx.now()))
    return True
