"""Which cards share a message, and which could.

A delivery with a `carrier_id` is shown in the message of the delivery of that id, its *carrier*. The carrier of a
shared message names itself, so that a card which is alone costs no look for company.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, bindparam, or_, select, update

from app.domain.request.request import Audience, DeliveryStatus, Risk, Status
from app.storage.cards.deliveries import delivery_from
from app.storage.cards.outbox import Errand
from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import deliveries, outbox, requests

if TYPE_CHECKING:
    from app.storage.cards.deliveries import Delivery

_own = requests.alias("own")
_LIKE = and_(
    _own.c.id == bindparam("of_request"),
    requests.c.agent == _own.c.agent,
    requests.c.session == _own.c.session,  # which may be unknown, and then like no other
    requests.c.tool == _own.c.tool,
    requests.c.rule_id == _own.c.rule_id,
    requests.c.stages == _own.c.stages,
)
_SAME_PLACE = and_(
    deliveries.c.org == bindparam("for_org"),
    deliveries.c.channel == bindparam("of_channel"),
    deliveries.c.chat_id == bindparam("of_chat"),
    deliveries.c.id != bindparam("delivery_id"),
    deliveries.c.person.is_(None),
    deliveries.c.audience == Audience.APPROVERS.value,
    requests.c.org == bindparam("for_org"),
    requests.c.status == Status.PENDING.value,
    requests.c.risk != Risk.HIGH.value,
)
_UNTRIED = and_(
    deliveries.c.status == DeliveryStatus.QUEUED.value,
    deliveries.c.revision == 1,
    deliveries.c.first_tried_at.is_(None),
    deliveries.c.carrier_id.is_(None),
)
_QUEUED_POST = and_(
    outbox.c.org == bindparam("for_org"),
    outbox.c.channel == bindparam("of_channel"),
    outbox.c.status == "queued",
    outbox.c.kind == Errand.POST.value,
)
_WAITING_LIKE = Statement(
    select(deliveries)
    .select_from(
        outbox.join(deliveries, deliveries.c.id == outbox.c.delivery_id)
        .join(requests, requests.c.id == deliveries.c.request_id)
        .join(_own, _LIKE)
    )
    .where(_QUEUED_POST, _SAME_PLACE, _UNTRIED)
    .order_by(requests.c.created_at, requests.c.id)
    .limit(bindparam("most"))
    .with_for_update(of=deliveries, skip_locked=True)
)
_WAITING_LOW = Statement(
    select(deliveries)
    .select_from(
        outbox.join(deliveries, deliveries.c.id == outbox.c.delivery_id).join(
            requests, requests.c.id == deliveries.c.request_id
        )
    )
    .where(
        _QUEUED_POST,
        _SAME_PLACE,
        _UNTRIED,
        requests.c.risk == Risk.LOW.value,
        or_(outbox.c.due_at <= bindparam("at"), outbox.c.attempts > 0),  # a row that was claimed was due
    )
    .order_by(requests.c.created_at, requests.c.id)
    .limit(bindparam("most"))
    .with_for_update(of=deliveries, skip_locked=True)
)
_COMPANY = Statement(
    select(deliveries)
    .select_from(requests.join(_own, _LIKE).join(deliveries, deliveries.c.request_id == requests.c.id))
    .where(
        _SAME_PLACE,
        or_(
            deliveries.c.status == DeliveryStatus.QUEUED.value,
            deliveries.c.status == DeliveryStatus.LIVE.value,
        ),
        # One that is alone and was not tried yet is taken along instead; one that was set free stays alone.
        or_(
            deliveries.c.carrier_id.is_not(None),
            and_(deliveries.c.revision == 1, deliveries.c.first_tried_at.is_not(None)),
        ),
    )
    .order_by(requests.c.created_at.desc(), requests.c.id)
    .limit(bindparam("most"))
)
_MEMBERS = Statement(
    select(deliveries)
    .where(deliveries.c.org == bindparam("for_org"), deliveries.c.carrier_id == bindparam("of_carrier"))
    .order_by(deliveries.c.id)
)
_LOCK_CARRIER = Statement(
    update(deliveries)
    .where(
        deliveries.c.org == bindparam("for_org"),
        deliveries.c.id == bindparam("of_carrier"),
        deliveries.c.status != DeliveryStatus.UNDELIVERABLE.value,
        or_(deliveries.c.carrier_id.is_(None), deliveries.c.carrier_id == deliveries.c.id),
    )
    .values(carrier_id=bindparam("of_carrier"))
)
_TAKE = Statement(
    update(deliveries)
    .where(deliveries.c.org == bindparam("for_org"), deliveries.c.id == bindparam("delivery_id"), _UNTRIED)
    .values(carrier_id=bindparam("of_carrier"))
)
_DROP_POSTS = Statement(
    update(outbox)
    .where(
        outbox.c.delivery_id == bindparam("of_delivery"),
        outbox.c.kind == Errand.POST.value,
        outbox.c.status == "queued",
    )
    .values(status="done")
)
_PART = Statement(
    update(deliveries)
    .where(deliveries.c.org == bindparam("for_org"), deliveries.c.id == bindparam("delivery_id"))
    .values(carrier_id=None, shown_version=bindparam("shown_version"))
)


def list_members(tx: Tx, carrier_id: str) -> list[Delivery]:
    """Return whatever is shown in the message of a carrier, itself included; none if it carries nobody."""
    return [delivery_from(row) for row in tx.all(_MEMBERS, for_org=tx.org, of_carrier=carrier_id)]


def list_waiting_like(tx: Tx, delivery: Delivery, *, most: int) -> list[Delivery]:
    """Return, locked, the first cards for like requests that wait untried for the same chat, the oldest first."""
    found = tx.all(_WAITING_LIKE, **_place(tx, delivery), of_request=delivery.request_id, most=most)
    return list({row["id"]: delivery_from(row) for row in found}.values())


def list_waiting_low(tx: Tx, delivery: Delivery, *, most: int) -> list[Delivery]:
    """Return, locked, the first cards of low risk that are due untried for the same chat, the oldest first."""
    found = tx.all(_WAITING_LOW, **_place(tx, delivery), at=to_us(tx.now()), most=most)
    return list({row["id"]: delivery_from(row) for row in found}.values())


def list_company(tx: Tx, delivery: Delivery, *, most: int) -> list[Delivery]:
    """Return the cards of like requests that are out in the same chat, or on their way, the newest first."""
    found = tx.all(_COMPANY, **_place(tx, delivery), of_request=delivery.request_id, most=most)
    return [delivery_from(row) for row in found]


def lock_carrier(tx: Tx, delivery_id: str) -> bool:
    """Make a card a carrier, and keep others from joining or leaving it meanwhile. False: it is carried itself."""
    return tx.run(_LOCK_CARRIER, for_org=tx.org, of_carrier=delivery_id) == 1


def take(tx: Tx, delivery: Delivery, carrier_id: str) -> bool:
    """Show a card that waits untried in the message of a carrier: nothing is posted for it. False: it waits no more."""
    if tx.run(_TAKE, for_org=tx.org, delivery_id=delivery.id, of_carrier=carrier_id) != 1:
        return False
    tx.write(_DROP_POSTS, of_delivery=delivery.id)
    return True


def part(tx: Tx, delivery: Delivery, *, shown_version: int) -> None:
    """Take a card out of the message that it shares; it keeps its buttons and its place."""
    tx.write(_PART, for_org=tx.org, delivery_id=delivery.id, shown_version=shown_version)


def _place(tx: Tx, delivery: Delivery) -> dict[str, object]:
    return {
        "for_org": tx.org,
        "of_channel": delivery.channel,
        "of_chat": delivery.chat_id,
        "delivery_id": delivery.id,
    }
