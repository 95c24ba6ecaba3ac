"""The alarms that stand: one row for each and for each gateway that sees it; what any of them can see has one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import and_, bindparam, delete, exists, insert, literal, not_, select

from app.domain.trail.alarms import Alarm, Cause
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement
from app.storage.tables.webhook_tables import alarms

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx

ANYBODY = ""
"""Who sees what stands in the database."""

_T = alarms
_ALARM = and_(
    _T.c.org == bindparam("for_org"), _T.c.cause == bindparam("of_cause"), _T.c.about == bindparam("of_about")
)
_OF_ORG = select(_T.c.cause, _T.c.about, _T.c.seen_by).where(_T.c.org == bindparam("for_org"))
_LIST = Statement(_OF_ORG)
_LOCK = Statement(_OF_ORG.with_for_update())
_INSERT = Statement(insert(_T))
_DELETE = Statement(delete(_T).where(_ALARM, _T.c.seen_by == bindparam("by")))
_NOBODY_ELSE = Statement(select(literal(1)).where(not_(exists().where(_ALARM, _T.c.seen_by != bindparam("by")))))
_NOBODY = Statement(select(literal(1)).where(not_(exists().where(_ALARM))))


class Sighting(Struct, frozen=True, order=True):
    """An alarm, and the gateway that sees it."""

    alarm: Alarm
    by: str = ANYBODY


def list_sightings(tx: Tx, *, lock: bool = False) -> set[Sighting]:
    """Return the org's; with `lock`, nobody takes one of them away before this transaction ends."""
    rows = tx.all(_LOCK if lock and tx.locks_rows else _LIST, for_org=tx.org)
    known = {cause.value for cause in Cause}  # a newer release may know more
    return {Sighting(Alarm(Cause(row["cause"]), row["about"]), row["seen_by"]) for row in rows if row["cause"] in known}


def keep_sightings(tx: Tx, before: set[Sighting], after: set[Sighting]) -> None:
    """Write what has changed of what was locked."""
    for gone in sorted(before - after):
        tx.write(_DELETE, for_org=tx.org, of_cause=gone.alarm.cause.value, of_about=gone.alarm.of, by=gone.by)
    for new in sorted(after - before):
        at = to_us(tx.now())
        tx.write(_INSERT, org=tx.org, cause=new.alarm.cause.value, about=new.alarm.of, seen_by=new.by, since=at)


def hold_first(tx: Tx, sighting: Sighting) -> None:
    """Let the commit stand only if nobody else sees this alarm: who raises it was the first."""
    alarm = sighting.alarm
    tx.hold(_NOBODY_ELSE, for_org=tx.org, of_cause=alarm.cause.value, of_about=alarm.of, by=sighting.by)


def hold_over(tx: Tx, alarm: Alarm) -> None:
    """Let the commit stand only if nobody sees it any more."""
    tx.hold(_NOBODY, for_org=tx.org, of_cause=alarm.cause.value, of_about=alarm.of)
