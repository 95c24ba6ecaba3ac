"""Which cards have not arrived anywhere: those that failed for good, and those that should have arrived by now.

A card that is late is still tried. It is marked as soon as another way was opened because of it, so that this happens
once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, bindparam, case, or_, select, union, update

from app.domain.request.request import Audience, DeliveryStatus
from app.storage.cards.outbox import Errand
from app.storage.engine.dialect import MICROSECOND, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import deliveries, outbox, requests

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Select

    from app.storage.requests.due import Due

SOONEST, LATEST = timedelta(seconds=30), timedelta(minutes=5)
"""When a card is late: a tenth of the request's time after it was planned, but not before, and not after these."""

_OFTEN = 3
"""Attempts of one who tries: less may be the gateway's own doing, which was down."""

_awake = bindparam("awake", type_=BigInteger())
_tried_from = case((outbox.c.due_at < _awake, _awake), else_=outbox.c.due_at)
"""Some are held on purpose; and after an outage all must first have had the time to go out as planned."""

_TENTH = (requests.c.expires_at - requests.c.created_at) / 10
_PATIENCE = case(
    (_TENTH < SOONEST // MICROSECOND, SOONEST // MICROSECOND),
    (_TENTH > LATEST // MICROSECOND, LATEST // MICROSECOND),
    else_=_TENTH,
)


def _late(carried: ColumnElement[bool]) -> Select[Any, Any, Any]:
    return (
        select(deliveries.c.org, deliveries.c.id.label("delivery_id"), outbox.c.created_at)
        .select_from(outbox)
        .join(deliveries, carried)
        .join(requests, requests.c.id == deliveries.c.request_id)
        .where(
            outbox.c.status == "queued",
            # What joins another card arrives with a change of that one.
            outbox.c.kind != Errand.NOTIFY.value,
            outbox.c.created_at <= bindparam("soonest"),
            outbox.c.created_at + _PATIENCE <= bindparam("at"),
            or_(outbox.c.attempts >= _OFTEN, _tried_from + _PATIENCE <= bindparam("at")),
            deliveries.c.status == DeliveryStatus.QUEUED.value,
            deliveries.c.audience == Audience.APPROVERS.value,
            deliveries.c.error.is_(None),
            requests.c.status == "pending",
            requests.c.expires_at > bindparam("at"),
        )
    )


# Two looks, each along an index: with one, SQLite reads every delivery that there ever was, each second.
_either = union(
    _late(deliveries.c.id == outbox.c.delivery_id), _late(deliveries.c.carrier_id == outbox.c.delivery_id)
).subquery()
_LATE = Statement(select(_either.c.org, _either.c.delivery_id).order_by(_either.c.created_at).limit(bindparam("most")))
_MARK = Statement(
    update(deliveries)
    .where(
        deliveries.c.id == bindparam("delivery_id"),
        deliveries.c.status == DeliveryStatus.QUEUED.value,
        deliveries.c.error.is_(None),
    )
    .values(error=bindparam("error"))
)
_WHY = Statement(
    select(outbox.c.error)
    .select_from(outbox)
    .join(deliveries, or_(deliveries.c.id == outbox.c.delivery_id, deliveries.c.carrier_id == outbox.c.delivery_id))
    .where(
        deliveries.c.id == bindparam("of_delivery"),
        outbox.c.kind != Errand.NOTIFY.value,
        outbox.c.status == "queued",
    )
    .order_by(outbox.c.created_at)
    .limit(1)
)
_CAUSES = Statement(
    select(deliveries.c.id, deliveries.c.channel, deliveries.c.error)
    .where(
        deliveries.c.request_id == bindparam("of_request"),
        deliveries.c.audience == Audience.APPROVERS.value,
        or_(
            deliveries.c.status == DeliveryStatus.QUEUED.value,
            deliveries.c.status == DeliveryStatus.UNDELIVERABLE.value,
        ),
        deliveries.c.error.is_not(None),
    )
    .order_by(deliveries.c.channel, deliveries.c.id)
)


def list_late(tx: Tx, at: datetime, most: int, *, awake: datetime) -> Due:
    """Return the deliveries that should have arrived by now, and because of which nothing was done yet.

    `awake`: since when this gateway has been running.
    """
    rows = tx.all(_LATE, at=to_us(at), soonest=to_us(at - SOONEST), awake=to_us(awake), most=most)
    return [(row["org"], row["delivery_id"]) for row in rows]


def mark_late(tx: Tx, delivery_id: str) -> str | None:
    """Remember that a card is late, and return why, as far as is known; None: it is not any more, or was before."""
    row = tx.one(_WHY, of_delivery=delivery_id)
    why = (row["error"] if row else None) or "it has not arrived yet"
    return why if tx.run(_MARK, delivery_id=delivery_id, error=why) == 1 else None


def list_causes(tx: Tx, request_id: str) -> dict[str, tuple[str, str]]:
    """Return the copies of a request's card that reach nobody, as delivery id → (channel, why)."""
    return {row["id"]: (row["channel"], row["error"]) for row in tx.all(_CAUSES, of_request=request_id)}
