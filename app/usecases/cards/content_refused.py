"""A platform refuses what a card says: the delivery goes on at once, and from then on, without the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.trail.audit import Kind, Record
from app.domain.words.say import say
from app.storage.cards import deliveries
from app.storage.cards.outbox import OutboxRow, reschedule
from app.usecases.cards.remember_delivery import Sending, Showing, forget

if TYPE_CHECKING:
    from app.ports import Channel
    from app.storage.engine.transaction import Tx


def go_bare(tx: Tx, row: OutboxRow, plan: Sending | Showing, why: str) -> bool:
    """Remember that a card cannot be shown with its call, and have it sent without, at once.

    Returns False where that is known already: then it was the card without the call that was refused. The mark stays,
    so that no refresh brings the call back.
    """
    delivery = deliveries.find_delivery(tx, row.delivery_id)
    if delivery is None or delivery.carrier_id is not None or not deliveries.mark_bare(tx, delivery):
        return False
    facts = {"channel": row.channel, "delivery": delivery.id, "why": why}
    tx.append(Record(kind=Kind.CARD_BARE, actor="system", facts=facts), request_id=delivery.request_id)
    again = forget if isinstance(plan, Sending) and plan.first else reschedule
    again(tx, row, due_at=tx.now(), error=why)
    return True


def bare_words(channel: Channel) -> str:
    """Return what is said under a card instead of what its platform refused."""
    return say(channel.language, "bare.notice")
