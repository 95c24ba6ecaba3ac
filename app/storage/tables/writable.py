"""Prove that the database takes writes: every table is there and may be written, and one row really is."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import and_, bindparam, insert, literal, select, text, update

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import EVERY_ORG, Statement, Tx
from app.storage.tables import tables
from app.storage.tables.hook_tables import counters

_KEY = "gateway writes"
_KEPT_FOR = timedelta(days=1)
_NAMES = sorted(tables.metadata.tables)
# Whoever shuts others out of a table, or may not write it, is met here; nothing that gateways do is kept out by it.
_TAKE = Statement(text(f"LOCK TABLE {', '.join(_NAMES)} IN ROW EXCLUSIVE MODE"))
_LOOKS = [Statement(select(literal(1)).select_from(table).limit(1)) for table in tables.metadata.tables.values()]
_AGAIN = Statement(
    update(counters)
    .where(and_(counters.c.org == EVERY_ORG, counters.c.key == _KEY))
    .values(taken=counters.c.taken + 1, ends_at=bindparam("until"))
)
_FIRST = Statement(insert(counters))


def prove_writable(tx: Tx) -> None:
    """Write the gateway's own row. What a driver raises, or how long it takes, says what is wrong."""
    if tx.locks_rows:
        tx.write(_TAKE)
    else:
        for look in _LOOKS:
            tx.all(look)
    until = to_us(tx.now() + _KEPT_FOR)
    if not tx.run(_AGAIN, until=until):
        tx.write(_FIRST, org=EVERY_ORG, key=_KEY, taken=1, ends_at=until)
