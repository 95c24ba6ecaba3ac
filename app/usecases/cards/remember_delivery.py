"""What came of an errand, remembered: units of work that `deliver.py` hands in after the platform has answered.

Each locks the request before it looks at it or at its cards: another replica may be settling it at this moment, and
what it saw of this card is then what it acted on.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.request.request import DeliveryStatus
from app.domain.trail.audit import Kind, Record
from app.storage.cards import deliveries
from app.storage.cards.bundles import list_members
from app.storage.cards.outbox import Errand, OutboxRow, enqueue, reschedule, settle
from app.storage.requests.requests import lock_request
from app.usecases.cards.message import cards_of

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.card.card import Card
    from app.ports import ChannelUnavailableError, MessageRef
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.transaction import Tx
    from app.usecases.cards.message import Item, Items

_SLOWEST = timedelta(seconds=60)
_FEWEST_ATTEMPTS = 6
"""Attempts before a platform is given up: time in which the gateway itself was down does not count against it."""


class Sending(Struct, frozen=True, kw_only=True):
    """Post this card, which shows these items.

    `look_first`: an earlier attempt may have left one that the platform will not recognise by itself. `first`: there
    was none, so that the platform has what `card` is, and nothing older. `shared`: others may join it under way.
    """

    items: Items
    card: Card
    look_first: bool
    first: bool
    shared: bool

    @property
    def delivery(self) -> Delivery:
        """The card whose message it is."""
        return self.items[0].delivery


class Showing(Struct, frozen=True, kw_only=True):
    """Make the message show this card, which shows these items."""

    items: Items
    message: MessageRef
    card: Card

    @property
    def delivery(self) -> Delivery:
        """The card whose message it is."""
        return self.items[0].delivery


def remember_posted(tx: Tx, row: OutboxRow, sent: Sending, message: MessageRef, *, edits_for: timedelta) -> None:
    """Remember where the card is; if a request moved on meanwhile, the card is refreshed at once."""
    # What an earlier attempt left may show less than what was composed now.
    alone = len(sent.items) == 1 and sent.delivery.carrier_id is None
    sure = sent.first or (alone and sent.items[0].request.version == 1)
    stale, repost_at = not sure, tx.now() + edits_for
    for item, card in _in_order(sent):
        locked = lock_request(tx, item.request.id)
        if not _remember_live(tx, row, item, card, message, repost_at=repost_at, sure=sure):
            stale = True  # it left while the message was under way, which shows it all the same
            continue
        if locked is not None and locked[0].version > item.request.version:
            stale = True
        elif sure and item.request.status.final:
            deliveries.mark_shown(tx, item.delivery, shown_version=item.request.version, retired=True)
    if stale or (sent.shared and len(list_members(tx, sent.delivery.id)) > len(sent.items)):
        enqueue(tx, Errand.REFRESH, sent.delivery.id, row.channel)
    settle(tx, row)


def remember_shown(tx: Tx, row: OutboxRow, plan: Showing, *, edits_for: timedelta) -> None:
    """Remember what the card shows; the first time that an item's buttons are gone, the trail says so."""
    in_order = [(item, card, lock_request(tx, item.request.id)) for item, card in _in_order(plan)]
    # Two changes of one message may land in either order; then nobody knows what it shows: it is shown anew.
    sure = all(deliveries.is_as_planned(tx, item.delivery) for item, _, _ in in_order)
    stale = not sure
    for item, card, locked in in_order:
        request, delivery, final = item.request, item.delivery, item.request.status.final
        if delivery.message is None:  # it joined the message of another
            repost_at = (plan.delivery.posted_at or tx.now()) + edits_for
            _remember_live(tx, row, item, card, plan.message, repost_at=repost_at, sure=sure)
        elif (
            deliveries.mark_shown(tx, delivery, shown_version=request.version if sure else 0, retired=final)
            and final
            and delivery.status is not DeliveryStatus.RETIRED
        ):
            facts = {"channel": row.channel, "delivery": delivery.id, "state": request.state.value}
            tx.append(Record(kind=Kind.CARD_RETIRED, actor="system", facts=facts), request_id=request.id)
        stale = stale or (locked is not None and locked[0].version > request.version)
    settle(tx, row)
    if stale:
        enqueue(tx, Errand.REFRESH, plan.delivery.id, row.channel)


def _in_order(plan: Sending | Showing) -> list[tuple[Item, Card]]:
    """Return the items with their cards, in the order in which requests are locked everywhere."""
    return sorted(zip(plan.items, cards_of(plan.card), strict=True), key=lambda pair: pair[0].request.id)


def _remember_live(
    tx: Tx, row: OutboxRow, item: Item, card: Card, message: MessageRef, *, repost_at: datetime, sure: bool
) -> bool:
    """Remember in which message people see an item. False: this revision of it was superseded meanwhile."""
    delivery, shown_version = item.delivery, item.request.version if sure else 0
    if not deliveries.mark_live(tx, delivery, message, repost_at=repost_at, shown_version=shown_version):
        return False
    facts = {
        "channel": row.channel,
        "delivery": delivery.id,
        "revision": delivery.revision,
        "chat": message.chat_id,
        "message": message.message_id,
        "app": message.app_id,
        "tenant": message.tenant,
        "approvable": bool(card.buttons and card.buttons.approve),
        "card_hash": _hash(card),
    }
    if delivery.carrier_id is not None:
        facts["carrier"] = delivery.carrier_id  # others are shown in the same message
    tx.append(Record(kind=Kind.CARD_POSTED, actor="system", facts=facts), request_id=delivery.request_id)
    return True


def postpone(
    tx: Tx, row: OutboxRow, error: ChannelUnavailableError, *, patience: timedelta, forget_attempt: bool
) -> bool:
    """Try again later. False: it was tried long and often enough."""
    now = tx.now()
    spent = now - row.created_at > patience and row.attempts >= _FEWEST_ATTEMPTS
    if spent and not error.limited:  # a queue at a platform that works is none that is away
        return False
    backoff = min(timedelta(seconds=2 ** min(row.attempts, 10) / 2), _SLOWEST)
    due_at = now + (error.retry_after or backoff)
    if forget_attempt:
        forget(tx, row, due_at=due_at, error=error.why)
    else:
        reschedule(tx, row, due_at=due_at, error=error.why)
    return True


def forget(tx: Tx, row: OutboxRow, *, due_at: datetime, error: str) -> None:
    """Try again later what surely left nothing on the platform, unless another worker has it: that one may have."""
    delivery = deliveries.find_delivery(tx, row.delivery_id)
    if reschedule(tx, row, due_at=due_at, error=error) and delivery is not None:
        deliveries.mark_untried(tx, delivery)


def look_again(tx: Tx, row: OutboxRow) -> None:
    """Do an errand a little later: something else comes first."""
    reschedule(tx, row, due_at=tx.now() + min(timedelta(seconds=2 ** min(row.attempts, 10) / 2), _SLOWEST), error="")


def _hash(card: Card) -> str:
    """Name exactly what was shown."""
    return hashlib.sha256(repr(replace(card, buttons=None)).encode()).hexdigest()
