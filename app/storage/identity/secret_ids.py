"""Under which secrets an org's rows were sealed, by the secrets' public ids."""

from __future__ import annotations

from sqlalchemy import bindparam, func, insert, select, update

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.engine.unreadable import readable
from app.storage.tables.secret_tables import secret_ids

_LIST = Statement(
    select(secret_ids.c.key_id)
    .where(secret_ids.c.org == bindparam("for_org"))
    .order_by(secret_ids.c.known_since, secret_ids.c.key_id)
)
_ALL = Statement(select(secret_ids.c.org, secret_ids.c.key_id).order_by(secret_ids.c.known_since, secret_ids.c.key_id))
_LAST = Statement(
    select(func.max(secret_ids.c.known_since).label("since")).where(secret_ids.c.org == bindparam("for_org"))
)
_AGAIN = Statement(
    update(secret_ids)
    .where(secret_ids.c.org == bindparam("for_org"), secret_ids.c.key_id == bindparam("of_key"))
    .values(known_since=bindparam("since"))
)
_INSERT = Statement(insert(secret_ids))


def list_seal_ids(tx: Tx) -> list[str]:
    """Return the ids; last the one that rows are sealed with now. None before a gateway has started on them."""
    return [row["key_id"] for row in tx.all(_LIST, for_org=tx.org)]


def list_all_seal_ids(tx: Tx) -> dict[str, list[str]]:
    """Return the ids of every org that this transaction sees, each as `list_seal_ids` does."""
    found: dict[str, list[str]] = {}
    for org, key_id in readable("secret_ids", tx.all(_ALL), _texts):
        found.setdefault(org, []).append(key_id)
    return found


def _texts(row: Row) -> tuple[str, str]:
    if type(row["org"]) is not str or type(row["key_id"]) is not str:
        raise TypeError("no text")
    return row["org"], row["key_id"]


def remember_secret(tx: Tx, key_id: str) -> bool:
    """Keep the id of what rows are sealed with from now on. False: it was known."""
    known = list_seal_ids(tx)
    since = max(to_us(tx.now()), int(tx.all(_LAST, for_org=tx.org)[0]["since"] or 0) + 1)
    if key_id not in known:
        tx.write(_INSERT, org=tx.org, key_id=key_id, known_since=since)
    elif key_id != known[-1]:
        tx.write(_AGAIN, for_org=tx.org, of_key=key_id, since=since)
    return key_id not in known
