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
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, assert_never

import structlog

from app.domain.audit import Kind, Record
from app.domain.lifecycle import NobodyReachable, advance
from app.domain.request import API, DeliveryStatus
from app.failpoints import failpoint
from app.ports import ChannelRefusedError, ChannelUnavailableError, EditClosedError, Post
from app.storage import deliveries
from app.storage.outbox import Errand, OutboxRow, enqueue, reschedule, settle
from app.storage.requests import find_request, lock_request
from app.usecases.carry_out import carry_out
from app.usecases.compose import compose

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.card import Card
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import Seals
    from app.policies.policy_book import PolicyBook
    from app.ports import Channel, MessageRef
    from app.storage.deliveries import Delivery
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.channel_book import ChannelBook

T = TypeVar("T")

log = structlog.get_logger(__name__)

_SLOWEST = timedelta(seconds=60)
_EDIT_MARGIN = timedelta(days=1)  # cards are posted anew this long before the platform stops their buttons
_REFRESH_FOR = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Send:
    """Post this card.

    `look_first`: an earlier attempt may have left one that the platform will not recognise by itself.
    """

    delivery: Delivery
    request: ConfirmationRequest
    card: Card
    look_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Show:
    """Make the message show this card."""

    delivery: Delivery
    request: ConfirmationRequest
    message: MessageRef
    card: Card


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nothing:
    """The row asks for what is so already."""


_Plan = _Send | _Show | _Nothing


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
            match plan:
                case _Send():
                    await self._send(row, channel, plan)
                case _Show():
                    await channel.refresh(plan.message, plan.card)
                    await self._write(row, lambda tx: _shown(tx, row, plan))
                case _Nothing():
                    await self._write(row, lambda tx: settle(tx, row))
                case _:
                    assert_never(plan)
        except EditClosedError as error:
            why = error.why
            await self._write(row, lambda tx: self._anew(tx, row, plan, why))
        except ChannelRefusedError as error:
            await self._refused(row, error)
        except ChannelUnavailableError as error:
            await self._unavailable(row, error)

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
                return _Show(delivery=delivery, request=request, message=delivery.message, card=card)
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
            return _Send(delivery=delivery, request=request, card=card, look_first=False)
        recognised = tx.now() - tried_at < channel.deduplicates_for
        return _Send(delivery=delivery, request=request, card=card, look_first=not recognised)

    async def _send(self, row: OutboxRow, channel: Channel, plan: _Send) -> None:
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
        await self._write(row, lambda tx: _posted(tx, row, sent, found, repost_after=repost_after))

    def _revise(self, tx: Tx, row: OutboxRow, delivery: Delivery, channel: Channel) -> _Send | None:
        """Supersede a card that may be out there unknown: from now on its buttons are refused."""
        if not deliveries.revise(tx, delivery, handle=_handle(tx)):
            return None
        revised = deliveries.find_delivery(tx, delivery.id)
        request = find_request(tx, delivery.request_id)
        if revised is None or request is None:
            return None
        deliveries.mark_tried(tx, revised)
        card = compose(request, revised, channel, self._book.current(row.org).policy, self._seals)
        return _Send(delivery=revised, request=request, card=card, look_first=False)

    # --- what came of it ----------------------------------------------------------------------------------------------

    def _anew(self, tx: Tx, row: OutboxRow, plan: _Plan, why: str) -> None:
        """The message can no longer be edited: only a new one can say what changed."""
        if isinstance(plan, _Show) and deliveries.revise(tx, plan.delivery, handle=_handle(tx)):
            enqueue(tx, Errand.POST, plan.delivery.id, row.channel)
        settle(tx, row, error=why)

    async def _unavailable(self, row: OutboxRow, error: ChannelUnavailableError) -> None:
        def unit(tx: Tx) -> bool:
            now = tx.now()
            patience = self._give_up_after if row.errand is Errand.POST else _REFRESH_FOR
            if now - row.created_at > patience:
                return False
            delivery = deliveries.find_delivery(tx, row.delivery_id)
            if row.errand is Errand.POST and not error.ambiguous and delivery is not None:
                deliveries.mark_untried(tx, delivery)  # it surely did not arrive: the next attempt need not look for it
            backoff = min(timedelta(seconds=2 ** min(row.attempts, 10) / 2), _SLOWEST)
            reschedule(tx, row, due_at=now + (error.retry_after or backoff), error=error.why)
            return True

        if await self._write(row, unit):
            log.warning("delivery.postponed", channel=row.channel, delivery=row.delivery_id, why=error.why)
        else:
            await self._refused(row, ChannelRefusedError(f"gave up: {error.why}"))

    async def _refused(self, row: OutboxRow, error: ChannelRefusedError) -> None:
        """This copy will never arrive. If no other can, nobody can answer: the request ends, loudly."""

        def unit(tx: Tx) -> str | None:
            settle(tx, row, error=error.why)
            delivery = deliveries.find_delivery(tx, row.delivery_id)
            if delivery is None:
                return None
            if row.errand is Errand.POST:
                deliveries.mark_undeliverable(tx, delivery, error.why)
            facts = {"channel": row.channel, "delivery": delivery.id, "errand": row.errand.value, "why": error.why}
            tx.append(Record(kind=Kind.CARD_FAILED, actor="system", facts=facts), request_id=delivery.request_id)
            if row.errand is not Errand.POST:
                return None
            copies = deliveries.list_deliveries(tx, delivery.request_id)
            if any(copy.status is not DeliveryStatus.UNDELIVERABLE for copy in copies):
                return None
            locked = lock_request(tx, delivery.request_id)
            if locked is None or API in locked[0].channels:
                return None
            step = advance(locked[0], NobodyReachable(why=error.why), now=locked[1])
            carry_out(tx, locked[0], step)
            return delivery.request_id if step.refusal is None else None

        undeliverable = await self._write(row, unit)
        log.error("delivery.failed", channel=row.channel, delivery=row.delivery_id, why=error.why)
        if undeliverable:
            log.error("request.undeliverable", request=undeliverable, why=error.why)

    async def _write(self, row: OutboxRow, unit: Callable[[Tx], T]) -> T:
        return await self._store.write(unit, org=row.org)


def _key(delivery: Delivery) -> str:
    """Name one revision of one delivery to the platform, in at most 50 characters."""
    return f"assent-{hashlib.sha256(f'{delivery.id}/{delivery.revision}'.encode()).hexdigest()[:40]}"


def _handle(tx: Tx) -> str:
    return tx.ids.new("h").removeprefix("h_")


def _posted(tx: Tx, row: OutboxRow, sent: _Send, message: MessageRef, *, repost_after: timedelta) -> None:
    """Remember where the card is; if the request moved on meanwhile, the card is refreshed at once."""
    delivery, request = sent.delivery, sent.request
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
        current = find_request(tx, delivery.request_id)
        if current is not None and current.version > request.version:
            enqueue(tx, Errand.REFRESH, delivery.id, row.channel)
        elif request.status.final:
            deliveries.mark_shown(tx, delivery, shown_version=request.version, retired=True)
    settle(tx, row)


def _shown(tx: Tx, row: OutboxRow, plan: _Show) -> None:
    """Remember what the card shows; the first time that its buttons are gone, the trail says so."""
    final = plan.request.status.final
    deliveries.mark_shown(tx, plan.delivery, shown_version=plan.request.version, retired=final)
    if final and plan.delivery.status is not DeliveryStatus.RETIRED:
        facts = {"channel": row.channel, "delivery": plan.delivery.id, "state": plan.request.state.value}
        tx.append(Record(kind=Kind.CARD_RETIRED, actor="system", facts=facts), request_id=plan.request.id)
    settle(tx, row)
    current = find_request(tx, plan.request.id)
    if current is not None and current.version > plan.request.version:
        enqueue(tx, Errand.REFRESH, plan.delivery.id, row.channel)


def _hash(card: Card) -> str:
    """Name exactly what was shown."""
    return hashlib.sha256(repr(asdict(replace(card, buttons=None))).encode()).hexdigest()
