"""What one message shows: a card, or a card with others beside it, each with buttons of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.card.own_approval import approval_told
from app.storage.cards.bundles import list_members
from app.storage.requests.requests import find_request
from app.usecases.cards.compose import compose
from app.usecases.pauses.stop_paused import pause_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from app.domain.call.switch import Switch
    from app.domain.card.card import Card
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.transaction import Tx


class Item(Struct, frozen=True, kw_only=True):
    """One request in one message."""

    request: ConfirmationRequest
    delivery: Delivery
    pause: Switch | None = None  # what keeps it from running; the card says so while people are asked


Items = tuple[Item, ...]
"""What a message shows: the carrier, then whom it carries, the oldest request first. The order never changes."""


def item_of(tx: Tx, request: ConfirmationRequest, delivery: Delivery) -> Item:
    """Return a request as it is shown in one place, with the pause that binds it as of now."""
    return Item(request=request, delivery=delivery, pause=pause_shown(tx, request))


def items_with(tx: Tx, item: Item) -> Items:
    """Return everything that is shown in the message of an item: alone, without a look, where it carries nobody."""
    carrier_id = item.delivery.carrier_id
    return (item,) if carrier_id is None else items_of(tx, carrier_id)


def items_of(tx: Tx, carrier_id: str) -> Items:
    """Return what is shown in the message of a carrier."""
    found = [
        item_of(tx, request, delivery)
        for delivery in list_members(tx, carrier_id)
        if (request := find_request(tx, delivery.request_id)) is not None
    ]
    return tuple(sorted(found, key=lambda each: _order(each, carrier_id)))


def tells_something(item: Item, channel: Channel, policy: Policy) -> bool:
    """Say whether the card of a request that is settled before it went out still has something to tell.

    That the glass was broken; to whoever asked, or is to hear of it, how it ended; to an approver, what they approved
    by other means than a click.
    """
    request, delivery = item.request, item.delivery
    if request.ended and delivery.person in request.hearers:
        return True
    return request.by_broken_glass or (
        approval_told(request, delivery.person, channel.language, policy.zone) is not None
    )


def compose_message(items: Sequence[Item], channel: Channel, policy: Policy, seals: Seals) -> Card:
    """Build what a message should show now."""
    first, *others = (compose(each.request, each.delivery, channel, policy, seals, pause=each.pause) for each in items)
    return replace(first, also=tuple(others)) if others else first


def cards_of(card: Card) -> Iterator[Card]:
    """Yield the card of each item of a message, without the others."""
    yield replace(card, also=()) if card.also else card
    yield from card.also


def _order(item: Item, carrier_id: str) -> tuple[bool, datetime, str]:
    return item.delivery.id != carrier_id, item.request.created_at, item.request.id
