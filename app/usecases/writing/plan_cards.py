"""Plan cards and notices in the transaction of the step that needs them: rows first, messages after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.request.request import Audience, DeliveryStatus
from app.domain.trail.notes import ANSWER, REMINDER, approved_note, parse_note
from app.storage.cards.accounts import list_of_person
from app.storage.cards.deliveries import Delivery, insert_delivery, list_deliveries, revise
from app.storage.cards.outbox import Errand, enqueue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx


def plan_card(
    tx: Tx,
    request: ConfirmationRequest,
    channel: str,
    chat_id: str,
    *,
    person: str | None = None,
    audience: Audience = Audience.APPROVERS,
    due_at: datetime | None = None,
) -> None:
    """Plan one card: into a chat, or, where `person` is set, into that person's own; at once, or at `due_at`."""
    delivery = Delivery(
        id=tx.ids.new("dlv"),
        request_id=request.id,
        channel=channel,
        chat_id=chat_id,
        revision=1,
        handle=tx.ids.new("h").removeprefix("h_"),
        status=DeliveryStatus.QUEUED,
        message=None,
        first_tried_at=None,
        shown_version=0,
        person=person,
        audience=audience,
    )
    insert_delivery(tx, delivery)
    enqueue(tx, Errand.POST, delivery.id, channel, due_at=due_at)


def plan_channels(
    tx: Tx, request: ConfirmationRequest, channels: Iterable[str], *, chats: Mapping[str, str]
) -> list[str]:
    """Plan a card for each of these channels that has none yet; return where one was planned."""
    known = {(delivery.channel, delivery.chat_id) for delivery in list_deliveries(tx, request.id)}
    planned = [name for name in channels if name in chats and (name, chats[name]) not in known]
    for name in planned:
        plan_card(tx, request, name, chats[name])
    return planned


def plan_people(
    tx: Tx,
    request: ConfirmationRequest,
    people: Iterable[str],
    *,
    audience: Audience = Audience.APPROVERS,
    channels: Iterable[str] | None = None,
) -> list[str]:
    """Plan a copy of their own for each person, in each of the request's channels where they can be reached.

    `channels` are others than the request's. Returns who got one, or had one already.
    """
    there = list_deliveries(tx, request.id)
    # By person: once a copy is there, its chat is no longer the account; and a chat holds one card of a request.
    known = {(each.channel, each.person): each for each in there if each.person is not None}
    taken = {(each.channel, each.chat_id) for each in there}
    reached: list[str] = []
    for person in people:
        accounts = list_of_person(tx, person)
        for channel in request.card_channels if channels is None else channels:
            account = accounts.get(channel)
            if account is None or not account.account.status.reachable:
                continue
            copy = known.get((channel, person))
            if copy is not None and copy.audience is not audience and audience is Audience.APPROVERS:
                continue  # what they have takes an answer and decides nothing
            if copy is not None:
                _try_again(tx, copy)
            elif (channel, account.account.account_id) not in taken:
                plan_card(tx, request, channel, account.account.account_id, person=person, audience=audience)
            reached.append(person)
    return reached


def _try_again(tx: Tx, copy: Delivery) -> None:
    """Queue a copy anew that was given up; one that is there, or on its way, stays as it is."""
    if copy.status is DeliveryStatus.UNDELIVERABLE and revise(tx, copy, handle=tx.ids.new("h").removeprefix("h_")):
        enqueue(tx, Errand.POST, copy.id, copy.channel)


def plan_approval_notices(tx: Tx, request: ConfirmationRequest, people: Iterable[str]) -> None:
    """Plan to tell each of these approvers, in chats of their own, that they approved.

    Under the copy of the card that they have; where they have none, one is posted, in whatever chat they have.
    """
    for person in people:
        own = [each for each in list_deliveries(tx, request.id) if each.person == person and each.message is not None]
        for copy in own:
            enqueue(tx, Errand.NOTIFY, copy.id, copy.channel, note=approved_note())
        if not own and not plan_people(tx, request, [person]):
            plan_people(tx, request, [person], channels=sorted(list_of_person(tx, person)))


def plan_notices(tx: Tx, request: ConfirmationRequest, note: str) -> None:
    """Plan a notice under every card that is out there and whose readers it is for."""
    kind, _ = parse_note(note)
    audience = Audience.APPROVERS if kind in {REMINDER, ANSWER} else Audience.REQUESTER
    for delivery in list_deliveries(tx, request.id):
        if delivery.audience is audience and delivery.status is DeliveryStatus.LIVE:
            enqueue(tx, Errand.NOTIFY, delivery.id, delivery.channel, note=note)
