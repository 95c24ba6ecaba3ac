"""Give a card up, and open the next way to people where no other copy reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.request.request import Audience
from app.domain.trail.audit import Kind, Record
from app.storage.cards import deliveries
from app.storage.cards.outbox import Errand, OutboxRow, settle
from app.storage.requests.requests import lock_request

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx
    from app.usecases.cards.next_way import Ended, NextWays


def give_up(tx: Tx, row: OutboxRow, why: str, ways: NextWays) -> Ended | None:
    """Give this copy up. If no other reaches anybody and no way is left, the request ends, and its end is returned."""
    delivery = deliveries.find_delivery(tx, row.delivery_id)
    locked = lock_request(tx, delivery.request_id) if delivery else None
    if not settle(tx, row, error=why) or delivery is None or locked is None:
        return None  # another worker has the row by now, and says what came of it
    if row.errand is Errand.POST:
        deliveries.mark_undeliverable(tx, delivery, why)
    facts = {"channel": row.channel, "delivery": delivery.id, "errand": row.errand.value, "why": why}
    if delivery.person is not None:
        facts["person"] = delivery.person
    tx.append(Record(kind=Kind.CARD_FAILED, actor="system", facts=facts), request_id=delivery.request_id)
    if row.errand is not Errand.POST or delivery.audience is not Audience.APPROVERS:
        return None
    return ways.open_next(tx, *locked, ending=True)
