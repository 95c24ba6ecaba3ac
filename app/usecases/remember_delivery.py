"""What came of an errand, remembered: units of work that `deliver.py` hands in after the platform has answered.

Each locks the request before it looks at it or at its cards: another replica may be settling it at this moment, and
what it saw of this card is then what it acted on.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.audit import Kind, Record
from app.domain.lifecycle import NobodyReachable, advance
from app.domain.request import API, DeliveryStatus
from app.storage import deliveries
from app.storage.outbox import Errand, OutboxRow, enqueue, reschedule, settle
from app.storage.requests import lock_request
from app.usecases.carry_out import carry_out

if TYPE_CHECKING:
    from app.domain.card import Card
    from app.domain.request import ConfirmationRequest
    from app.ports import ChannelUnavailableError, MessageRef
    from app.storage.deliveries import Delivery
    from app.storage.transaction import Tx

_SLOWEST = timedelta(seconds=60)
_FEWEST_ATTEMPTS = 6
"""Attempts before a platform is given up: time in which the gateway itself was down does not count against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Post this card.

    `look_first`: an earlier attempt may have left one that the platform will not recognise by itself.
    """

    delivery: Delivery
    request: ConfirmationRequest
    card: Card
    look_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """Make the message show this card."""

    delivery: Delivery
    request: ConfirmationRequest
    message: MessageRef
    card: Card


def remember_posted(tx: Tx, row: OutboxRow, sent: Sending, message: MessageRef, *, repost_after: timedelta) -> None:
    """Remember where the card is; if the request moved on meanwhile, the card is refreshed at once."""
    delivery, request = sent.delivery, sent.request
    locked = lock_request(tx, delivery.request_id)
    repost_at = tx.now() + repost_after
    if deliveries.mark_live(tx, delivery, message, repost_at=repost_at, shown_version=request.version):
        facts = {
            "channel": row.channel,
            "delivery": delivery.id,
            "revision": delivery.revision,
            "chat": message.chat_id,
            "message": message.message_id,
            "app": message.app_id,
            "tenant": message.tenant,
            "approvable": bool(sent.card.buttons and sent.card.buttons.approve),
            "card_hash": _hash(sent.card),
        }
        tx.append(Record(kind=Kind.CARD_POSTED, actor="system", facts=facts), request_id=delivery.request_id)
        if locked is not None and locked[0].version > request.version:
            enqueue(tx, Errand.REFRESH, delivery.id, row.channel)
        elif request.status.final:
            deliveries.mark_shown(tx, delivery, shown_version=request.version, retired=True)
    settle(tx, row)


def remember_shown(tx: Tx, row: OutboxRow, plan: Showing) -> None:
    """Remember what the card shows; the first time that its buttons are gone, the trail says so."""
    locked = lock_request(tx, plan.request.id)
    final = plan.request.status.final
    deliveries.mark_shown(tx, plan.delivery, shown_version=plan.request.version, retired=final)
    if final and plan.delivery.status is not DeliveryStatus.RETIRED:
        facts = {"channel": row.channel, "delivery": plan.delivery.id, "state": plan.request.state.value}
        tx.append(Record(kind=Kind.CARD_RETIRED, actor="system", facts=facts), request_id=plan.request.id)
    settle(tx, row)
    if locked is not None and locked[0].version > plan.request.version:
        enqueue(tx, Errand.REFRESH, plan.delivery.id, row.channel)


def postpone(
    tx: Tx, row: OutboxRow, error: ChannelUnavailableError, *, patience: timedelta, forget_attempt: bool
) -> bool:
    """Try again later. False: it was tried long and often enough."""
    now = tx.now()
    if now - row.created_at > patience and row.attempts >= _FEWEST_ATTEMPTS:
        return False
    delivery = deliveries.find_delivery(tx, row.delivery_id)
    if forget_attempt and delivery is not None:
        deliveries.mark_untried(tx, delivery)
    backoff = min(timedelta(seconds=2 ** min(row.attempts, 10) / 2), _SLOWEST)
    reschedule(tx, row, due_at=now + (error.retry_after or backoff), error=error.why)
    return True


def give_up(tx: Tx, row: OutboxRow, why: str) -> str | None:
    """Give this copy up. If no other can arrive, nobody can answer: the request ends, and its id is returned."""
    delivery = deliveries.find_delivery(tx, row.delivery_id)
    locked = lock_request(tx, delivery.request_id) if delivery else None
    if not settle(tx, row, error=why) or delivery is None or locked is None:
        return None  # another worker has the row by now, and says what came of it
    if row.errand is Errand.POST:
        deliveries.mark_undeliverable(tx, delivery, why)
    facts = {"channel": row.channel, "delivery": delivery.id, "errand": row.errand.value, "why": why}
    tx.append(Record(kind=Kind.CARD_FAILED, actor="system", facts=facts), request_id=delivery.request_id)
    request, now = locked
    if row.errand is not Errand.POST or API in request.channels:
        return None
    copies = deliveries.list_deliveries(tx, request.id)
    if any(copy.status is not DeliveryStatus.UNDELIVERABLE for copy in copies):
        return None
    step = advance(request, NobodyReachable(why=why), now=now)
    carry_out(tx, request, step)
    return request.id if step.refusal is None else None


def new_handle(tx: Tx) -> str:
    """Return a handle for a card's buttons."""
    return tx.ids.new("h").removeprefix("h_")


def _hash(card: Card) -> str:
    """Name exactly what was shown."""
    return hashlib.sha256(repr(asdict(replace(card, buttons=None))).encode()).hexdigest()
