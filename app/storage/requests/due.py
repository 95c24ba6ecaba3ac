"""What the clock has made due: deadlines, timers, unclaimed grants, silent executions, cards near their edit horizon.

Each query is one walk along an index on the due instant. The rows it names are then taken one by one through the same
state machines as everything else; a row that another replica is working on is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, select

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.sessions.sessions import ROOT_RETENTION
from app.storage.tables.hook_tables import counted_calls, counters, sessions
from app.storage.tables.tables import deliveries, executions, grants, idempotency_keys, requests, seen_clicks

if TYPE_CHECKING:
    from datetime import datetime

_EXPIRING = Statement(
    select(requests.c.org, requests.c.id.label("request_id"))
    .where(requests.c.status == "pending", requests.c.expires_at <= bindparam("at"))
    .order_by(requests.c.expires_at)
    .limit(bindparam("most"))
)
_LAPSING = Statement(
    select(grants.c.org, grants.c.request_id)
    .where(grants.c.status == "issued", grants.c.not_after <= bindparam("at"))
    .order_by(grants.c.not_after)
    .limit(bindparam("most"))
)
_SILENT = Statement(
    select(executions.c.org, executions.c.request_id)
    .where(executions.c.status == "started", executions.c.lease_until <= bindparam("at"))
    .order_by(executions.c.lease_until)
    .limit(bindparam("most"))
)
_AGEING = Statement(
    select(deliveries.c.org, deliveries.c.id.label("delivery_id"))
    .where(deliveries.c.status == "live", deliveries.c.repost_at <= bindparam("at"))
    .order_by(deliveries.c.repost_at)
    .limit(bindparam("most"))
)
_TIMERS = Statement(
    select(requests.c.org, requests.c.id.label("request_id"))
    .where(
        requests.c.status == "pending",
        requests.c.timer_at.is_not(None),
        requests.c.timer_at <= bindparam("at"),
        requests.c.expires_at > bindparam("at"),
    )
    .order_by(requests.c.timer_at)
    .limit(bindparam("most"))
)
_FORGET_KEYS = Statement(delete(idempotency_keys).where(idempotency_keys.c.expires_at <= bindparam("at")))
_FORGET_CLICKS = Statement(delete(seen_clicks).where(seen_clicks.c.expires_at <= bindparam("at")))
_FORGET_COUNTERS = Statement(delete(counters).where(counters.c.ends_at <= bindparam("at")))
_FORGET_COUNTED = Statement(delete(counted_calls).where(counted_calls.c.ends_at <= bindparam("at")))
_FORGET_ROOTS = Statement(
    delete(sessions).where(sessions.c.parent_agent.is_(None), sessions.c.noted_at <= bindparam("at"))
)

Due = list[tuple[str, str]]
"""(org, id) pairs."""


def list_expiring(tx: Tx, at: datetime, most: int) -> Due:
    """Return pending requests whose deadline has passed."""
    return [(row["org"], row["request_id"]) for row in tx.all(_EXPIRING, at=to_us(at), most=most)]


def list_lapsing(tx: Tx, at: datetime, most: int) -> Due:
    """Return requests whose grant was not claimed in time."""
    return [(row["org"], row["request_id"]) for row in tx.all(_LAPSING, at=to_us(at), most=most)]


def list_silent(tx: Tx, at: datetime, most: int) -> Due:
    """Return requests whose execution has not reported by the end of its lease."""
    return [(row["org"], row["request_id"]) for row in tx.all(_SILENT, at=to_us(at), most=most)]


def list_ageing(tx: Tx, at: datetime, most: int) -> Due:
    """Return live deliveries that must be posted anew before the platform stops edits and clicks."""
    return [(row["org"], row["delivery_id"]) for row in tx.all(_AGEING, at=to_us(at), most=most)]


def list_timers_due(tx: Tx, at: datetime, most: int) -> Due:
    """Return pending requests of which a reminder or an escalation is due, and the deadline is not."""
    return [(row["org"], row["request_id"]) for row in tx.all(_TIMERS, at=to_us(at), most=most)]


def forget(tx: Tx, at: datetime) -> int:
    """Drop what need not be remembered any longer; return how many rows.

    Idempotency keys, seen clicks and counters whose time is over; sessions that nobody started and that are old. (One
    that was started by another is kept: what it inherits hangs on it.)
    """
    over = sum(tx.run(each, at=to_us(at)) for each in (_FORGET_KEYS, _FORGET_CLICKS, _FORGET_COUNTERS, _FORGET_COUNTED))
    return over + tx.run(_FORGET_ROOTS, at=to_us(at - ROOT_RETENTION))
