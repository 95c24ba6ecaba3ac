"""Calls counted in a moving window, in rows that all replicas share and a restart keeps.

At no instant have more than so many been let through in the span behind it. The calls of a key stand in a ring of as
many places as the window has room for: a call may go if the one that stood in its place before has left the window.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import and_, bindparam, insert, select, update

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.hook_tables import counted_calls, counters

_KEY = and_(counters.c.org == bindparam("for_org"), counters.c.key == bindparam("of_key"))
_GET = Statement(select(counters.c.taken).where(_KEY))
_LOCK = Statement(select(counters.c.taken).where(_KEY).with_for_update())
_BEGIN = Statement(insert(counters))
_COUNT = Statement(update(counters).where(_KEY).values(taken=counters.c.taken + 1, ends_at=bindparam("until")))
_PLACE = and_(
    counted_calls.c.org == bindparam("for_org"),
    counted_calls.c.key == bindparam("of_key"),
    counted_calls.c.place == bindparam("at_place"),
)
_STANDS = Statement(select(counted_calls.c.ends_at).where(_PLACE))
_STAND = Statement(insert(counted_calls))
_REPLACE = Statement(update(counted_calls).where(_PLACE).values(ends_at=bindparam("until")))


def wait_for(tx: Tx, key: str, *, calls: int) -> float | None:
    """Return the seconds until one more call has room under `key`, None: it has now. Counts nothing.

    The key stays locked: what is taken afterwards in this unit is taken on the same number.
    """
    head = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_key=key)
    now = tx.lock_now()
    before = tx.one(_STANDS, for_org=tx.org, of_key=key, at_place=head["taken"] % calls if head else 0)
    left = before["ends_at"] - to_us(now) if before else 0
    return left / 1_000_000 if left > 0 else None


def take(tx: Tx, key: str, *, calls: int, window_seconds: float) -> float | None:
    """Count one call under `key` if the window has room for it, and return None.

    Otherwise nothing is counted, and the seconds until there is room are returned. A key always comes with the same
    `calls` (1 at least) and window.
    """
    head = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_key=key)
    now = tx.lock_now()  # behind the lock: whoever waited for it judges by the present
    until = to_us(now + timedelta(seconds=window_seconds))
    place = head["taken"] % calls if head else 0
    before = tx.one(_STANDS, for_org=tx.org, of_key=key, at_place=place)
    if before is not None and before["ends_at"] > to_us(now):
        return (before["ends_at"] - to_us(now)) / 1_000_000
    if head is None:
        tx.write(_BEGIN, org=tx.org, key=key, taken=1, ends_at=until)  # if another replica was first: run again
    else:
        tx.write(_COUNT, for_org=tx.org, of_key=key, until=until)
    if before is None:
        tx.write(_STAND, org=tx.org, key=key, place=place, ends_at=until)
    else:
        tx.write(_REPLACE, for_org=tx.org, of_key=key, at_place=place, until=until)
    return None
