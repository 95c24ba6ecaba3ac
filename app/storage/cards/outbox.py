"""What must happen after a commit: rows that a worker claims, carries out, and settles.

A claim is a lease: it pushes `due_at` into the future, so a worker that dies leaves its row to the next one. Delivery
is at-least-once; the Delivery row and the platform's own deduplication make it idempotent.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, exists, func, select, update

from app.domain.request.request import DeliveryStatus, Risk, Status
from app.storage.cards.deliveries import UNASKED
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.engine.unreadable import readable
from app.storage.statements.together import Rank, inserting
from app.storage.tables.tables import deliveries, outbox, requests

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from app.storage.cards.deliveries import Delivery


class Errand(StrEnum):
    """What a row asks for."""

    POST = "post"
    REFRESH = "refresh"
    NOTIFY = "notify"


class OutboxRow(Struct, frozen=True, kw_only=True):
    """One errand. `attempts` counts the claims so far, this one included."""

    id: str
    org: str
    errand: Errand
    delivery_id: str
    channel: str
    attempts: int
    created_at: datetime
    note: str | None = None  # what a notice says


_PLAN = inserting(deliveries, rank=Rank.BELONG)
_INSERT = inserting(outbox, rank=Rank.BELONG_TO_THAT)
_DUE = Statement(
    select(outbox)
    .where(
        outbox.c.org == bindparam("for_org"),
        outbox.c.channel == bindparam("of_channel"),
        outbox.c.status == "queued",
        outbox.c.due_at <= bindparam("at"),
    )
    .order_by(outbox.c.due_at)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_URGENT = Statement(
    select(outbox)
    .select_from(
        outbox.join(deliveries, deliveries.c.id == outbox.c.delivery_id).join(
            requests, requests.c.id == deliveries.c.request_id
        )
    )
    .where(
        outbox.c.org == bindparam("for_org"),
        outbox.c.channel == bindparam("of_channel"),
        outbox.c.status == "queued",
        outbox.c.due_at <= bindparam("at"),
        outbox.c.kind == Errand.POST.value,
        requests.c.org == bindparam("for_org"),
        requests.c.status == Status.PENDING.value,
        requests.c.risk == Risk.HIGH.value,
    )
    .order_by(outbox.c.due_at)
    .limit(bindparam("most"))
    .with_for_update(of=outbox, skip_locked=True)
)
_LEASE = Statement(
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"), outbox.c.status == "queued")
    .values(due_at=bindparam("due_at"), attempts=bindparam("attempts"))
)
_SETTLE = Statement(
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"), outbox.c.attempts == bindparam("of_attempts"))
    .values(status=bindparam("status"), error=bindparam("error"))
)
_RESCHEDULE = Statement(
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"), outbox.c.attempts == bindparam("of_attempts"))
    .values(due_at=bindparam("due_at"), error=bindparam("error"))
)
_QUEUED_REFRESH = Statement(
    select(outbox.c.id).where(
        outbox.c.delivery_id == bindparam("of_delivery"),
        outbox.c.kind == Errand.REFRESH.value,
        outbox.c.status == "queued",
        outbox.c.attempts == 0,
    )
)
_ORPHANED = Statement(
    select(outbox.c.org, outbox.c.channel)
    .where(outbox.c.status == "queued", outbox.c.due_at <= bindparam("at"))
    .distinct()
)
_LEASED = Statement(
    update(outbox)
    .where(
        outbox.c.org == bindparam("for_org"),
        outbox.c.status == "queued",
        outbox.c.attempts > 0,
        outbox.c.due_at > bindparam("at"),
        outbox.c.due_at <= bindparam("until"),
    )
    .values(due_at=bindparam("at"))
)
_COUNTS = Statement(select(outbox.c.status, func.count().label("rows")).group_by(outbox.c.status))
_OLDEST = Statement(select(func.min(outbox.c.created_at).label("at")).where(outbox.c.status == "queued"))
_STUCK = Statement(
    select(outbox.c.channel)
    .where(
        outbox.c.org == bindparam("for_org"),
        outbox.c.status == "queued",
        outbox.c.created_at <= bindparam("at"),
    )
    .distinct()
)
_LIST = Statement(
    select(outbox)
    .where(outbox.c.org == bindparam("for_org"), outbox.c.status == bindparam("of_status"))
    .order_by(outbox.c.created_at)
    .limit(bindparam("most"))
)
_REVIVE = Statement(
    update(outbox)
    .where(outbox.c.org == bindparam("for_org"), outbox.c.status == "dead")
    .values(status="queued", due_at=bindparam("due_at"), created_at=bindparam("due_at"), attempts=0)
)
_REVIVE_DELIVERIES = Statement(
    update(deliveries)
    .where(
        deliveries.c.org == bindparam("for_org"),
        deliveries.c.status == DeliveryStatus.UNDELIVERABLE.value,
        exists().where(
            outbox.c.delivery_id == deliveries.c.id, outbox.c.status == "dead", outbox.c.kind == Errand.POST.value
        ),
    )
    .values(status=DeliveryStatus.QUEUED.value, first_tried_at=None, error=None)
)


def plan_delivery(tx: Tx, delivery: Delivery, *, due_at: datetime | None = None) -> None:
    """Plan a card: its row exists before anything is sent, and so does the errand that posts it, at once or later."""
    tx.gather(
        _PLAN,
        id=delivery.id,
        org=tx.org,
        request_id=delivery.request_id,
        channel=delivery.channel,
        chat_id=delivery.chat_id,
        revision=delivery.revision,
        handle=delivery.handle,
        status=delivery.status.value,
        app_id="",
        tenant="",
        message_id="",
        first_tried_at=None,
        posted_at=None,
        repost_at=None,
        shown_version=0,
        error=None,
        person=delivery.person,
        audience=delivery.audience.value,
        carrier_id=delivery.carrier_id,
        content_refused=int(delivery.content_refused),
        looked=UNASKED,
    )
    enqueue(tx, Errand.POST, delivery.id, delivery.channel, due_at=due_at)


def enqueue(
    tx: Tx, errand: Errand, delivery_id: str, channel: str, *, due_at: datetime | None = None, note: str | None = None
) -> None:
    """Ask for an errand, at once or at `due_at`, from when on patience with its platform is counted.

    A refresh that already waits, untried, will show the newest state anyway.
    """
    if errand is Errand.REFRESH and tx.one(_QUEUED_REFRESH, of_delivery=delivery_id):
        return
    now = tx.now()
    tx.gather(
        _INSERT,
        id=tx.ids.new("out"),
        org=tx.org,
        kind=errand.value,
        delivery_id=delivery_id,
        channel=channel,
        status="queued",
        due_at=to_us(due_at or now),
        attempts=0,
        created_at=to_us(due_at or now),
        error=None,
        note=note,
    )
    tx.outbox_filled()


def claim_due(tx: Tx, *, channel: str, most: int, lease: timedelta) -> list[OutboxRow]:
    """Take what is due for a channel, for as long as the lease lasts.

    Rows that another worker holds are passed over, and so is what cannot be read. First cards of high risk that people
    wait for come first.
    """
    now = tx.lock_now()
    due = {"for_org": tx.org, "of_channel": channel, "at": to_us(now), "most": most}
    rows = tx.all(_DUE, **due)
    if len(rows) == most:  # there may be more than there are turns: what is urgent takes the first ones
        urgent = tx.all(_URGENT, **due)
        rows = [*{row["id"]: row for row in [*urgent, *rows]}.values()][:most]
    taken = readable("outbox", rows, lambda row: _from_row(row, attempts=row["attempts"] + 1))
    for each in taken:
        tx.write(_LEASE, row_id=each.id, due_at=to_us(now + lease), attempts=each.attempts)
    if len(taken) < len(rows):
        known = {each.id for each in taken}
        for row in rows:
            if row["id"] not in known:  # no gateway wrote it: it must not stand before the others time and again
                tx.write(_LEASE, row_id=row["id"], due_at=to_us(now + lease), attempts=0)
    return taken


def end_leases(tx: Tx, *, lease: timedelta) -> int:
    """Make due what a worker took that cannot live any more; return how many. To be called where there is no other.

    What waits to be tried again, and not for longer than a lease, is tried now as well.
    """
    now = tx.now()
    return tx.run(_LEASED, for_org=tx.org, at=to_us(now), until=to_us(now + lease))


def settle(tx: Tx, row: OutboxRow, *, error: str | None = None) -> bool:
    """Close a row: done, or dead with the reason. False: the lease was lost, and another worker has it."""
    status = "dead" if error else "done"
    return tx.run(_SETTLE, row_id=row.id, of_attempts=row.attempts, status=status, error=error) == 1


def reschedule(tx: Tx, row: OutboxRow, *, due_at: datetime, error: str) -> bool:
    """Try again later. False: the lease was lost, and another worker has it."""
    return tx.run(_RESCHEDULE, row_id=row.id, of_attempts=row.attempts, due_at=to_us(due_at), error=error) == 1


def list_neglected(tx: Tx, *, since: timedelta) -> set[tuple[str, str]]:
    """Return the (org, channel) pairs for which something has been due so long that nobody carries it out."""
    at = to_us(tx.now() - since)
    return {(row["org"], row["channel"]) for row in tx.all(_ORPHANED, at=at)}


def list_stuck(tx: Tx, *, since: datetime) -> list[str]:
    """Return the org's channels for which something has waited since an instant or longer, tried or not."""
    return [row["channel"] for row in tx.all(_STUCK, for_org=tx.org, at=to_us(since))]


def count_by_status(tx: Tx) -> dict[str, int]:
    """Return how many rows are queued, done and dead."""
    return {row["status"]: int(row["rows"]) for row in tx.all(_COUNTS)}


def oldest_queued(tx: Tx) -> datetime | None:
    """Return since when the oldest errand waits that is not done."""
    row = tx.one(_OLDEST)
    return from_us(row["at"]) if row is not None and row["at"] is not None else None


def list_rows(tx: Tx, status: str, *, most: int) -> list[tuple[OutboxRow, str | None]]:
    """Return an org's rows of a status with their last error, oldest first."""
    rows = tx.all(_LIST, for_org=tx.org, of_status=status, most=most)
    return [(_from_row(row, attempts=row["attempts"]), row["error"]) for row in rows]


def revive_dead(tx: Tx) -> int:
    """Queue an org's dead rows again, as if they were new; return how many."""
    tx.write(_REVIVE_DELIVERIES, for_org=tx.org)
    return tx.run(_REVIVE, for_org=tx.org, due_at=to_us(tx.now()))


def _from_row(row: Row, *, attempts: int) -> OutboxRow:
    return OutboxRow(
        id=row["id"],
        org=row["org"],
        errand=Errand(row["kind"]),
        delivery_id=row["delivery_id"],
        channel=row["channel"],
        attempts=attempts,
        created_at=from_us(row["created_at"]),
        note=row["note"],
    )
