"""Which cards a platform has taken, of which nobody has asked it yet whether it shows them.

`deliveries.looked` is one of three: not asked yet, asked, or posted again because the one before was not there.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, literal_column, select, text, update

from app.domain.request.request import Audience, Status
from app.storage.cards.deliveries import POSTED_AGAIN, SEEN, Delivery, delivery_from
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import deliveries, requests

if TYPE_CHECKING:
    from datetime import datetime

SOONEST, LATEST = timedelta(seconds=10), timedelta(minutes=10)
"""When a card is asked for: a platform may need a moment to show it; one that cannot be asked for long is let be."""

_UNSEEN = Statement(
    select(deliveries)
    .select_from(deliveries.join(requests, requests.c.id == deliveries.c.request_id))
    .where(
        deliveries.c.org == bindparam("for_org"),
        deliveries.c.channel == bindparam("of_channel"),
        text("deliveries.status = 'live' AND deliveries.looked <> 1"),  # as the index has it
        deliveries.c.posted_at <= bindparam("until"),
        deliveries.c.posted_at > bindparam("since"),
        deliveries.c.audience == Audience.APPROVERS.value,
        requests.c.status == Status.PENDING.value,
    )
    .order_by(deliveries.c.posted_at, deliveries.c.id)
    .limit(bindparam("most"))
)
_LOOKED = Statement(
    update(deliveries)
    .where(
        deliveries.c.id == bindparam("delivery_id"),
        deliveries.c.revision == bindparam("of_revision"),
        deliveries.c.looked != literal_column(str(SEEN)),
    )
    .values(looked=bindparam("looked"))
)
_IS_SEEN = Statement(
    select(deliveries.c.id).where(deliveries.c.id == bindparam("delivery_id"), deliveries.c.looked == SEEN)
)
_AGAIN = Statement(
    select(deliveries.c.id).where(deliveries.c.id == bindparam("delivery_id"), deliveries.c.looked == POSTED_AGAIN)
)


def list_unseen(tx: Tx, channel: str, at: datetime, *, most: int) -> list[Delivery]:
    """Return the cards that people wait for in a channel of an org and that nobody has asked for, the oldest first."""
    rows = tx.all(
        _UNSEEN, for_org=tx.org, of_channel=channel, until=to_us(at - SOONEST), since=to_us(at - LATEST), most=most
    )
    return [delivery_from(row) for row in rows]


def mark_seen(tx: Tx, delivery: Delivery) -> None:
    """Remember that the platform was asked for this revision: it shows it, or does not say."""
    tx.run(_LOOKED, delivery_id=delivery.id, of_revision=delivery.revision, looked=SEEN)


def mark_missing(tx: Tx, delivery: Delivery) -> bool:
    """Remember that the platform does not show this revision. False: it did not show the one before either."""
    if tx.one(_AGAIN, delivery_id=delivery.id) is not None:
        return False
    return tx.run(_LOOKED, delivery_id=delivery.id, of_revision=delivery.revision, looked=POSTED_AGAIN) == 1


def is_seen(tx: Tx, delivery_id: str) -> bool:
    """Say whether the platform was asked for a card: it shows it, or does not say."""
    return tx.one(_IS_SEEN, delivery_id=delivery_id) is not None
