"""Like requests in one message: who is taken along, who joins later, and how nobody is lost when it cannot be shown.

A message carries a few cards at most, and only while all of them fit whole. Each keeps its own row, buttons and state;
what is shared is the message alone. Whoever leaves a message other than by its end gets a new handle, so that buttons
which may still be out there are refused, and is posted alone: such a card is not grouped again.

Locks are taken in one order: the row of the card that is about to be posted, or the carrier's; then those of others,
passing over what somebody else holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.request.request import Audience, DeliveryStatus, Risk
from app.storage.cards import bundles, deliveries
from app.storage.cards.outbox import Errand, enqueue
from app.storage.requests.requests import find_request
from app.usecases.cards.compose import compose
from app.usecases.cards.message import Item, compose_message, item_of, items_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.domain.card.card import Card
    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.transaction import Tx
    from app.usecases.cards.message import Items

MOST = 5
"""Requests in one message: what a person can look over on a phone."""

_LOOKED_AT = 4 * MOST


class Grouping:
    """How the cards of one channel are grouped, under the configuration of this instant."""

    def __init__(self, tx: Tx, channel: Channel, policy: Policy, seals: Seals) -> None:
        """Take what it works on."""
        self._tx = tx
        self._channel = channel
        self._policy = policy
        self._seals = seals

    def concerns(self, item: Item) -> bool:
        """Say whether a card that was never sent may share a message. Reads nothing: most cards may not."""
        request, delivery = item.request, item.delivery
        return (
            (self._policy.attention.group is not None or request.risk is Risk.LOW)
            and request.risk is not Risk.HIGH  # such a card rings its own bell
            and not request.status.final
            and delivery.revision == 1
            and delivery.carrier_id is None
            and delivery.person is None
            and delivery.audience is Audience.APPROVERS
        )

    def may_grow(self, items: Items) -> bool:
        """Say whether others may join a message while it is under way. Reads nothing."""
        return items[0].delivery.carrier_id is not None or self._policy.attention.group is not None

    def joins(self, item: Item) -> bool:
        """Show a card in a message that is out already, if there is one that its request is like and that has room."""
        tx, group = self._tx, self._policy.attention.group
        if group is None:
            return False
        company = bundles.list_company(tx, item.delivery, most=_LOOKED_AT)
        for carrier_id in dict.fromkeys(each.carrier_id or each.id for each in company):
            there = items_of(tx, carrier_id) or self._alone(company, carrier_id)
            young = bool(there) and there[0].request.created_at >= tx.now() - group
            if not young or len(there) >= MOST or not self._fit([*there, item]):
                continue
            if not bundles.lock_carrier(tx, carrier_id) or len(bundles.list_members(tx, carrier_id)) >= MOST:
                continue  # somebody was faster
            bundles.take(tx, item.delivery, carrier_id)
            # Always: a post that is under way does not know of it, and one that comes later finds nothing to refresh.
            enqueue(tx, Errand.REFRESH, carrier_id, item.delivery.channel)
            return True
        return False

    def gather(self, item: Item) -> Items:
        """Take along what waits for the same chat and may go out with this one, whose row is locked; return all."""
        tx, delivery = self._tx, item.delivery
        waiting = bundles.list_waiting_like(tx, delivery, most=_LOOKED_AT) if self._policy.attention.group else []
        if item.request.risk is Risk.LOW:
            waiting += bundles.list_waiting_low(tx, delivery, most=_LOOKED_AT)
        taken = [item]
        for each in {each.id: each for each in waiting}.values():
            if len(taken) == MOST:
                break
            with_it = self._with_request(each)
            if with_it is not None and self._fit([*taken, with_it]) and bundles.take(tx, each, delivery.id):
                taken.append(with_it)
        if len(taken) == 1 or not bundles.lock_carrier(tx, delivery.id):
            return (item,)
        return items_of(tx, delivery.id)

    def shown(self, items: Items) -> tuple[Items, Card]:
        """Return what a message that is out can still show whole, and its card; what it cannot is posted alone."""
        while True:
            card = compose_message(items, self._channel, self._policy, self._seals)
            waiting = [each for each in items[1:] if not each.request.status.final]
            if card.size() <= self._channel.text_budget or not waiting:
                return items, card
            _post_alone(self._tx, waiting[-1])
            items = tuple(each for each in items if each is not waiting[-1])

    def _alone(self, company: Iterable[Delivery], delivery_id: str) -> Items:
        found = (self._with_request(each) for each in company if each.id == delivery_id)
        return tuple(each for each in found if each is not None)

    def _with_request(self, delivery: Delivery) -> Item | None:
        request = find_request(self._tx, delivery.request_id)
        return item_of(self._tx, request, delivery) if request is not None else None

    def _fit(self, items: Sequence[Item]) -> bool:
        """Say whether all fit whole into one message, and each that waits can be approved from it."""
        cards = [
            compose(each.request, each.delivery, self._channel, self._policy, self._seals, pause=each.pause)
            for each in items
        ]
        whole = all(
            item.request.status.final or (card.buttons is not None and card.buttons.approve is not None)
            for item, card in zip(items, cards, strict=True)
        )
        return whole and sum(card.size() for card in cards) <= self._channel.text_budget


def still_asked(tx: Tx, items: Items) -> Items | None:
    """Drop from a message that was never sent what was settled meanwhile. None: it is not sent in this way any more.

    If its carrier is among them, another one is planned.
    """
    asked = tuple(each for each in items if not each.request.status.final)
    if len(asked) == len(items):
        return items
    for each in items:
        if each.request.status.final:
            _retire_unseen(tx, each)
    if asked and asked[0] is items[0]:
        return asked
    if asked:
        _plan(tx, asked)
    return None


def post_anew(tx: Tx, planned: Delivery) -> bool:
    """Plan a new message for all that the old one shows: its buttons are refused from now on.

    What the old one shows as settled for good stays there. False: this revision was superseded already.
    """
    if planned.carrier_id is not None:
        bundles.lock_carrier(tx, planned.carrier_id)
    current = deliveries.find_delivery(tx, planned.id)
    if current is None or current.revision != planned.revision:
        return False
    if current.carrier_id is None:
        if not deliveries.revise(tx, current, handle=new_handle(tx)):
            return False
        enqueue(tx, Errand.POST, current.id, current.channel)
        return True
    items = items_of(tx, current.carrier_id)
    for each in items:
        if shown_for_good(each):
            bundles.part(tx, each.delivery, shown_version=each.delivery.shown_version)
    _plan(tx, [each for each in items if not shown_for_good(each)])
    return True


def set_free(tx: Tx, delivery: Delivery, *, refreshing: bool) -> bool:
    """Post everything alone that a message shows, because the message cannot be. False: it is no shared message.

    `refreshing`: the message is out, and goes on to show its carrier.
    """
    if delivery.carrier_id is None:
        return False
    bundles.lock_carrier(tx, delivery.carrier_id)
    for each in items_of(tx, delivery.carrier_id):
        if refreshing and each.delivery.id == delivery.carrier_id:
            bundles.part(tx, each.delivery, shown_version=0)
            enqueue(tx, Errand.REFRESH, each.delivery.id, each.delivery.channel)
        else:
            _post_alone(tx, each)
    return True


def set_unseen_free(tx: Tx, delivery: Delivery) -> None:
    """Post alone what joined a message that will not show it any more."""
    if delivery.carrier_id is None:
        return
    bundles.lock_carrier(tx, delivery.carrier_id)
    for each in items_of(tx, delivery.carrier_id):
        if each.delivery.id != delivery.carrier_id and each.delivery.message is None:
            _post_alone(tx, each)


def revise_all(tx: Tx, items: Items) -> Items | None:
    """Supersede a message that may be out there unknown, with everything in it. None: it was superseded already."""
    for each in items:
        carrier_id = each.delivery.carrier_id
        if not deliveries.revise(tx, each.delivery, handle=new_handle(tx), carrier_id=carrier_id):
            return None
    revised = [(each, deliveries.find_delivery(tx, each.delivery.id)) for each in items]
    return tuple(replace(each, delivery=delivery) for each, delivery in revised if delivery is not None)


def new_handle(tx: Tx) -> str:
    """Return a handle for a card's buttons."""
    return tx.ids.new("h").removeprefix("h_")


def _plan(tx: Tx, items: Sequence[Item]) -> None:
    """Plan one message for all of them."""
    if not items:
        return
    carrier = next((each for each in items if not each.request.status.final), items[0]).delivery
    for each in items:
        carrier_id = carrier.id if len(items) > 1 else None
        deliveries.revise(tx, each.delivery, handle=new_handle(tx), carrier_id=carrier_id)
    enqueue(tx, Errand.POST, carrier.id, carrier.channel)


def _post_alone(tx: Tx, item: Item) -> None:
    """Take a card out of its message and post it anew, if there is still something that people must see."""
    if shown_for_good(item):
        bundles.part(tx, item.delivery, shown_version=item.delivery.shown_version)
    elif item.request.status.final and item.delivery.posted_at is None:
        _retire_unseen(tx, item)
    else:
        _plan(tx, [item])


def _retire_unseen(tx: Tx, item: Item) -> None:
    """End a card that nobody is known to have seen: there is nothing to ask any more.

    An attempt that was never answered may have left it in a message of which nobody knows, and which nobody will ever
    change: its buttons there are refused from now on.
    """
    if deliveries.revise(tx, item.delivery, handle=new_handle(tx)):
        revised = replace(item.delivery, revision=item.delivery.revision + 1, carrier_id=None)
        deliveries.mark_shown(tx, revised, shown_version=item.request.version, retired=True)


def shown_for_good(item: Item) -> bool:
    """Say whether a message shows an item as settled, and nothing of it will ever change again."""
    delivery = item.delivery
    return delivery.status is DeliveryStatus.RETIRED and delivery.shown_version >= item.request.version
