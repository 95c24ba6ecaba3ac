"""Carry out one outbox row: post a card or refresh one, and remember what the platform said.

Three steps, and only the middle one calls out: a unit decides what to do and remembers that it is being tried; the
channel does it; a unit remembers the answer. A worker may die between any two of them:

* before the platform took the card: the lease runs out, and the next worker posts it;
* after the platform took it, before we knew: the next worker must not post blindly. Within the platform's own
  deduplication it posts again with the same key; after that it looks for the card; if it cannot be found, it posts a
  new *revision*, whose buttons have another handle, and the old buttons are refused from that moment.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, assert_never

import structlog

from app.domain.errors import AssentError
from app.domain.request import DeliveryStatus
from app.failpoints import failpoint
from app.ports import ChannelRefusedError, ChannelUnavailableError, EditClosedError, Post
from app.storage import deliveries
from app.storage.outbox import Errand, OutboxRow, enqueue, settle
from app.storage.requests import find_request
from app.usecases.compose import compose
from app.usecases.remember_delivery import (
    Sending,
    Showing,
    give_up,
    new_handle,
    postpone,
    remember_posted,
    remember_shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.card import Card
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import Seals
    from app.policies.policy_book import PolicyBook
    from app.ports import Channel
    from app.storage.deliveries import Delivery
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.channel_book import ChannelBook

T = TypeVar("T")

log = structlog.get_logger(__name__)

_EDIT_MARGIN = timedelta(days=1)  # cards are posted anew this long before the platform stops their buttons
_REFRESH_FOR = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nothing:
    """The row asks for what is so already."""


_Plan = Sending | Showing | _Nothing


class Deliver:
    """The use case."""

    def __init__(
        self, *, store: Store, book: PolicyBook, channels: ChannelBook, seals: Seals, give_up_after: timedelta
    ) -> None:
        """Take what it works on.

        `give_up_after`: how long an unreachable platform is tried before the card is given up.
        """
        self._store = store
        self._book = book
        self._channels = channels
        self._seals = seals
        self._give_up_after = give_up_after

    async def __call__(self, row: OutboxRow) -> None:
        """Carry out a claimed row and settle or reschedule it."""
        channel = self._channels.find(row.org, row.channel)
        if channel is None:
            await self._refused(row, ChannelRefusedError("the channel is no longer configured"))
            return
        plan = await self._write(row, lambda tx: self._plan(tx, row, channel))
        try:
            await self._act(row, channel, plan)
        except EditClosedError as error:
            why = error.why
            await self._write(row, lambda tx: _post_anew(tx, row, plan, why))
        except ChannelRefusedError as error:
            await self._refused(row, error)
        except ChannelUnavailableError as error:
            await self._unavailable(row, plan, error)
        except AssentError:
            raise  # the store is away: the lease runs out, and the row is taken up again
        except Exception as error:
            # A defect in an adapter must not keep a request waiting for ever: it is tried again, and then given up.
            log.exception("delivery.crashed", channel=row.channel, delivery=row.delivery_id)
            await self._unavailable(row, plan, ChannelUnavailableError(type(error).__name__, ambiguous=True))

    async def _act(self, row: OutboxRow, channel: Channel, plan: _Plan) -> None:
        match plan:
            case Sending():
                await self._send(row, channel, plan)
            case Showing():
                await channel.refresh(plan.message, plan.card)
                await self._write(row, lambda tx: remember_shown(tx, row, plan))
            case _Nothing():
                await self._write(row, lambda tx: settle(tx, row))
            case _:
                assert_never(plan)

    # --- what to do ---------------------------------------------------------------------------------------------------

    def _plan(self, tx: Tx, row: OutboxRow, channel: Channel) -> _Plan:
        delivery = deliveries.find_delivery(tx, row.delivery_id)
        request = find_request(tx, delivery.request_id) if delivery else None
        if delivery is None or request is None:
            return _Nothing()
        card = compose(request, delivery, channel, self._book.current(row.org).policy, self._seals)
        match row.errand:
            case Errand.POST:
                return self._plan_post(tx, delivery, request, card, channel)
            case Errand.REFRESH:
                if delivery.message is None or delivery.shown_version >= request.version:
                    return _Nothing()
                return Showing(delivery=delivery, request=request, message=delivery.message, card=card)
            case _:
                assert_never(row.errand)

    def _plan_post(
        self, tx: Tx, delivery: Delivery, request: ConfirmationRequest, card: Card, channel: Channel
    ) -> _Plan:
        if delivery.status is not DeliveryStatus.QUEUED:
            return _Nothing()
        tried_at = delivery.first_tried_at
        if tried_at is None:
            if request.status.final and delivery.revision == 1:
                # It was settled before its first card went out: there is nothing to ask any more.
                deliveries.mark_shown(tx, delivery, shown_version=request.version, retired=True)
                return _Nothing()
            deliveries.mark_tried(tx, delivery)
            return Sending(delivery=delivery, request=request, card=card, look_first=False)
        recognised = tx.now() - tried_at < channel.deduplicates_for
        return Sending(delivery=delivery, request=request, card=card, look_first=not recognised)

    async def _send(self, row: OutboxRow, channel: Channel, plan: Sending) -> None:
        message = None
        if plan.look_first and plan.delivery.first_tried_at is not None:
            since = plan.delivery.first_tried_at - timedelta(minutes=1)
            message = await channel.find(plan.delivery.chat_id, _key(plan.delivery), since=since)
            if message is None:
                revised = await self._write(row, lambda tx: self._revise(tx, row, plan.delivery, channel))
                if revised is None:
                    return
                plan = revised
        if message is None:
            post = Post(card=plan.card, chat_id=plan.delivery.chat_id, key=_key(plan.delivery))
            failpoint("deliver.before_post")
            message = await channel.post(post)
            failpoint("deliver.after_post")
        sent, found, repost_after = plan, message, channel.edits_for - _EDIT_MARGIN
        await self._write(row, lambda tx: remember_posted(tx, row, sent, found, repost_after=repost_after))

    def _revise(self, tx: Tx, row: OutboxRow, delivery: Delivery, channel: Channel) -> Sending | None:
        """Supersede a card that may be out there unknown: from now on its buttons are refused."""
        if not deliveries.revise(tx, delivery, handle=new_handle(tx)):
            return None
        revised = deliveries.find_delivery(tx, delivery.id)
        request = find_request(tx, delivery.request_id)
        if revised is None or request is None:
            return None
        deliveries.mark_tried(tx, revised)
        card = compose(request, revised, channel, self._book.current(row.org).policy, self._seals)
        return Sending(delivery=revised, request=request, card=card, look_first=False)

    # --- what came of it ----------------------------------------------------------------------------------------------

    async def _unavailable(self, row: OutboxRow, plan: _Plan, error: ChannelUnavailableError) -> None:
        patience = self._give_up_after if row.errand is Errand.POST else _REFRESH_FOR
        # It surely did not arrive, now or in an earlier attempt: the next one need not look for it.
        forget = isinstance(plan, Sending) and plan.delivery.first_tried_at is None and not error.ambiguous
        if await self._write(row, lambda tx: postpone(tx, row, error, patience=patience, forget_attempt=forget)):
            log.warning("delivery.postponed", channel=row.channel, delivery=row.delivery_id, why=error.why)
        else:
            await self._refused(row, ChannelRefusedError(f"gave up: {error.why}"))

    async def _refused(self, row: OutboxRow, error: ChannelRefusedError) -> None:
        undeliverable = await self._write(row, lambda tx: give_up(tx, row, error.why))
        log.error("delivery.failed", channel=row.channel, delivery=row.delivery_id, why=error.why)
        if undeliverable:
            log.error("request.undeliverable", request=undeliverable, why=error.why)

    async def _write(self, row: OutboxRow, unit: Callable[[Tx], T]) -> T:
        return await self._store.write(unit, org=row.org)


def _post_anew(tx: Tx, row: OutboxRow, plan: _Plan, why: str) -> None:
    """Post a new card: the message can no longer be edited, so only another one can say what changed."""
    if isinstance(plan, Showing) and deliveries.revise(tx, plan.delivery, handle=new_handle(tx)):
        enqueue(tx, Errand.POST, plan.delivery.id, row.channel)
    settle(tx, row, error=why)


def _key(delivery: Delivery) -> str:
    """Name one revision of one delivery to the platform, in at most 50 characters."""
    return f"assent-{hashlib.sha256(f'{delivery.id}/{delivery.revision}'.encode()).hexdigest()[:40]}"
