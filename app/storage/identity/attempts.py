"""Wrong codes, counted: after a few of them none is looked at for a while, whoever sends it and over which replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.payment_tables import attempts

if TYPE_CHECKING:
    from datetime import datetime, timedelta

_ONE = (attempts.c.org == bindparam("for_org"), attempts.c.subject == bindparam("of_subject"))
_GET = Statement(select(attempts).where(*_ONE))
_LOCK = Statement(select(attempts).where(*_ONE).with_for_update())
_BEGIN = Statement(insert(attempts))
_COUNT = Statement(
    update(attempts)
    .where(*_ONE)
    .values({name: bindparam(f"new_{name}") for name in ("failures", "failed_at", "locked_until")})
)
_FORGET = Statement(delete(attempts).where(*_ONE))


def locked_until(tx: Tx, subject: str) -> datetime | None:
    """Return until when nothing is looked at for a subject; None: now.

    The row stays locked to the end of the unit, so that guesses at once are counted one after the other.
    """
    row = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_subject=subject)
    if row is None or row["locked_until"] is None:
        return None
    until = from_us(row["locked_until"])
    return until if tx.now() < until else None


def count_failure(tx: Tx, subject: str, *, most: int, lock_for: timedelta) -> tuple[int, datetime | None]:
    """Count a wrong code. Return how many there were in a row, and until when the subject is locked by this one.

    A failure that is older than `lock_for`, or that was locked for, no longer counts.
    """
    row = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_subject=subject)
    now = tx.now()
    stale = row is not None and (row["locked_until"] is not None or now - from_us(row["failed_at"]) > lock_for)
    failures = 1 if row is None or stale else row["failures"] + 1
    until = now + lock_for if failures >= most else None
    columns = {"failures": failures, "failed_at": to_us(now), "locked_until": to_us(until) if until else None}
    if row is None:
        tx.write(_BEGIN, org=tx.org, subject=subject, **columns)
    else:
        tx.write(_COUNT, for_org=tx.org, of_subject=subject, **{f"new_{name}": columns[name] for name in columns})
    return failures, until


def forget_failures(tx: Tx, subject: str) -> None:
    """Begin anew after a right code."""
    tx.write(_FORGET, for_org=tx.org, of_subject=subject)
