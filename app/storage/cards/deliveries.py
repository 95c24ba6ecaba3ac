"""Which card lives where, so that a click can be matched and every copy can be refreshed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import and_, bindparam, case, func, or_, select, update

from app.domain.identity.seals import Place
from app.domain.request.request import Audience, DeliveryStatus
from app.ports import MessageRef
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.tables import deliveries

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest


UNASKED, SEEN, POSTED_AGAIN = 0, 1, 2
"""What is known of whether the platform shows a card: nobody asked yet; it was asked; it showed the one before not."""


class Delivery(Struct, frozen=True, kw_only=True):
    """One card in one place. `handle` names this revision in its buttons; an older revision has another one."""

    id: str
    request_id: str
    channel: str
    chat_id: str
    revision: int
    handle: str
    status: DeliveryStatus
    message: MessageRef | None  # None until the platform has told us where the card is
    first_tried_at: datetime | None
    shown_version: int  # the version of the request that the card shows; below 0 while it is being changed
    person: str | None = None  # whose own copy it is, by e-mail; None: the chat's
    audience: Audience = Audience.APPROVERS
    carrier_id: str | None = None  # in whose message it is shown: its own id where others are shown in its message
    posted_at: datetime | None = None  # when people could first see this revision
    content_refused: bool = False  # the platform would not show the call: cards here go without it

    @property
    def place(self) -> str:
        """Whose message it is shown in, by the id of that delivery: its own, unless it is carried."""
        return self.carrier_id or self.id


# A revision in the message that it was planned for: whoever left that message, or was posted anew, is not touched.
_AS_PLANNED = and_(
    deliveries.c.id == bindparam("delivery_id"),
    deliveries.c.revision == bindparam("of_revision"),
    func.coalesce(deliveries.c.carrier_id, deliveries.c.id) == bindparam("of_place"),
)


def place_of(request: ConfirmationRequest, delivery: Delivery) -> Place:
    """Return what the buttons of this delivery are bound to."""
    return Place(
        org=request.call.org,
        request_id=request.id,
        digest=request.digest,
        revision=delivery.revision,
        channel=delivery.channel,
        # A person's own: the platform names its chat only once the card is there, and the seal is older than that.
        chat_id=delivery.person or delivery.chat_id,
    )


_GET = Statement(
    select(deliveries).where(deliveries.c.org == bindparam("for_org"), deliveries.c.id == bindparam("delivery_id"))
)
_BY_HANDLE = Statement(
    select(deliveries).where(deliveries.c.org == bindparam("for_org"), deliveries.c.handle == bindparam("of_handle"))
)
_OF_REQUEST = Statement(
    select(deliveries)
    .where(deliveries.c.org == bindparam("for_org"), deliveries.c.request_id == bindparam("of_request"))
    .order_by(deliveries.c.channel)
)
_TRIED = Statement(
    update(deliveries)
    .where(
        deliveries.c.id == bindparam("delivery_id"),
        deliveries.c.first_tried_at.is_(None),
        or_(deliveries.c.carrier_id.is_(None), deliveries.c.carrier_id == deliveries.c.id),
    )
    .values(first_tried_at=bindparam("at"))
)
_UNTRIED = Statement(update(deliveries).where(deliveries.c.id == bindparam("delivery_id")).values(first_tried_at=None))
_LIVE = Statement(
    update(deliveries)
    .where(_AS_PLANNED)
    .values(
        {
            name: bindparam(name)
            for name in (
                "status",
                "app_id",
                "tenant",
                "chat_id",
                "message_id",
                "posted_at",
                "repost_at",
                "shown_version",
            )
        }
    )
    .values(error=None)
)
_SHOWN = Statement(
    update(deliveries)
    .where(_AS_PLANNED)
    .values(status=bindparam("status"), shown_version=bindparam("shown_version"), error=None)
)
_CHANGING = Statement(update(deliveries).where(_AS_PLANNED).values(shown_version=bindparam("attempt")))
_OUTDATED = Statement(
    update(deliveries)
    .where(deliveries.c.id == bindparam("delivery_id"), deliveries.c.revision == bindparam("of_revision"))
    .values(shown_version=0)
)
_BARED = Statement(
    update(deliveries)
    .where(deliveries.c.id == bindparam("delivery_id"), deliveries.c.content_refused == 0)
    .values(content_refused=1)
)
_FAILED = Statement(
    update(deliveries)
    .where(deliveries.c.id == bindparam("delivery_id"))
    .values(status=DeliveryStatus.UNDELIVERABLE.value, error=bindparam("error"))
)
_REVISED = Statement(
    update(deliveries)
    .where(
        deliveries.c.id == bindparam("delivery_id"),
        deliveries.c.revision == bindparam("of_revision"),
        deliveries.c.carrier_id.is_not_distinct_from(bindparam("of_carrier")),  # nobody has joined it meanwhile
    )
    .values(
        revision=bindparam("new_revision"),
        handle=bindparam("handle"),
        carrier_id=bindparam("carrier_id"),
        status=DeliveryStatus.QUEUED.value,
        message_id="",
        first_tried_at=None,
        repost_at=None,
        error=None,
        looked=case((deliveries.c.looked == SEEN, UNASKED), else_=deliveries.c.looked),
    )
)


def find_delivery(tx: Tx, delivery_id: str) -> Delivery | None:
    """Read a delivery."""
    row = tx.one(_GET, for_org=tx.org, delivery_id=delivery_id)
    return delivery_from(row) if row else None


def find_by_handle(tx: Tx, handle: str) -> Delivery | None:
    """Read the delivery whose *present* revision a button names."""
    row = tx.one(_BY_HANDLE, for_org=tx.org, of_handle=handle)
    return delivery_from(row) if row else None


def list_deliveries(tx: Tx, request_id: str) -> list[Delivery]:
    """Return every copy of a request's card."""
    return [delivery_from(row) for row in tx.all(_OF_REQUEST, for_org=tx.org, of_request=request_id)]


def mark_tried(tx: Tx, delivery: Delivery) -> None:
    """Remember when this revision was first sent: from then on the platform may have it.

    Guarded: if somebody has tried it meanwhile, or shows it in another message, the unit decides anew.
    """
    tx.guard(_TRIED, delivery_id=delivery.id, at=to_us(tx.now()))


def mark_untried(tx: Tx, delivery: Delivery) -> None:
    """Forget an attempt that surely left nothing on the platform."""
    tx.write(_UNTRIED, delivery_id=delivery.id)


def mark_live(tx: Tx, delivery: Delivery, message: MessageRef, *, repost_at: datetime, shown_version: int) -> bool:
    """Remember where the card is. False: this revision was superseded, or left that message, meanwhile."""
    touched = tx.run(
        _LIVE,
        **_planned(delivery),
        status=DeliveryStatus.LIVE.value,
        app_id=message.app_id,
        tenant=message.tenant,
        chat_id=message.chat_id,
        message_id=message.message_id,
        posted_at=to_us(tx.now()),
        repost_at=to_us(repost_at),
        shown_version=shown_version,
    )
    return touched == 1


def is_as_planned(tx: Tx, delivery: Delivery) -> bool:
    """Say whether nobody else has shown anything in this place, or begun to, since it was planned.

    By revision, message and attempt: a version alone comes back when somebody else shows the same one elsewhere.
    """
    now = find_delivery(tx, delivery.id)
    planned = (delivery.revision, delivery.place, delivery.shown_version)
    return now is not None and (now.revision, now.place, now.shown_version) == planned


def mark_changing(tx: Tx, delivery: Delivery, *, attempt: int) -> Delivery:
    """Remember that what the card shows is being changed: until that is known to be over, nobody knows what it shows.

    `attempt` is negative, and another one for every attempt. Returns the delivery as it stands then.
    """
    tx.run(_CHANGING, **_planned(delivery), attempt=attempt)
    return replace(delivery, shown_version=attempt)


def mark_shown(tx: Tx, delivery: Delivery, *, shown_version: int, retired: bool) -> bool:
    """Remember which version of the request the card shows, and whether its buttons are gone for good.

    False: this revision was superseded, or left that message, meanwhile.
    """
    status = DeliveryStatus.RETIRED if retired else DeliveryStatus.LIVE
    return tx.run(_SHOWN, **_planned(delivery), status=status.value, shown_version=shown_version) == 1


def mark_outdated(tx: Tx, delivery: Delivery) -> None:
    """Remember that a card must be shown anew although its request did not change."""
    tx.run(_OUTDATED, delivery_id=delivery.id, of_revision=delivery.revision)


def mark_bare(tx: Tx, delivery: Delivery) -> bool:
    """Remember that the platform refuses what the card says of the call. False: that is known already."""
    return tx.run(_BARED, delivery_id=delivery.id) == 1


def mark_undeliverable(tx: Tx, delivery: Delivery, why: str) -> None:
    """Give up on this copy."""
    tx.write(_FAILED, delivery_id=delivery.id, error=why)


def revise(tx: Tx, delivery: Delivery, *, handle: str, carrier_id: str | None = None) -> bool:
    """Supersede a card: the next one has a new handle, and buttons of the old one are refused from now on.

    It is then shown in the message of `carrier_id`, or alone. False: it was superseded, or is shared, by now.
    """
    touched = tx.run(
        _REVISED,
        delivery_id=delivery.id,
        of_revision=delivery.revision,
        of_carrier=delivery.carrier_id,
        new_revision=delivery.revision + 1,
        handle=handle,
        carrier_id=carrier_id,
    )
    return touched == 1


def _planned(delivery: Delivery) -> dict[str, object]:
    return {"delivery_id": delivery.id, "of_revision": delivery.revision, "of_place": delivery.place}


def delivery_from(row: Row) -> Delivery:
    """Read a row of the table."""
    message = MessageRef(
        app_id=row["app_id"], tenant=row["tenant"], chat_id=row["chat_id"], message_id=row["message_id"]
    )
    return Delivery(
        id=row["id"],
        request_id=row["request_id"],
        channel=row["channel"],
        chat_id=row["chat_id"],
        revision=row["revision"],
        handle=row["handle"],
        status=DeliveryStatus(row["status"]),
        message=message if row["message_id"] else None,
        first_tried_at=from_us(row["first_tried_at"]) if row["first_tried_at"] is not None else None,
        shown_version=row["shown_version"],
        person=row["person"],
        audience=Audience(row["audience"]),
        carrier_id=row["carrier_id"],
        posted_at=from_us(row["posted_at"]) if row["posted_at"] is not None else None,
        content_refused=bool(row["content_refused"]),
    )
