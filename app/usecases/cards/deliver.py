"""Carry out one outbox row: post a card or refresh one, and remember what the platform said.

Three steps, and only the middle one calls out: a unit decides what to do and remembers that it is being tried; the
channel does it; a unit remembers the answer. A worker may die between any two of them:

* before the platform took the card: the lease runs out, and the next worker posts it;
* after the platform took it, before we knew: the next worker must not post blindly. Within the platform's own
  deduplication it posts again with the same key; after that it looks for the card; if it cannot be found, it posts a
  new *revision*, whose buttons have another handle, and the old buttons are refused from that moment.

A message may show several requests (`bundle.py`). All of the above then holds for the message as a whole; and before
one that shows several is given up, each of them is posted alone.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, assert_never

import structlog
from msgspec import Struct
from msgspec.structs import replace

from app.bulkhead.calls import ChannelFaultyError, ChannelHangsError
from app.domain.errors import AssentError
from app.domain.request.redact import unquoted
from app.domain.request.request import DeliveryStatus
from app.failpoints import failpoint
from app.ports import ChannelRefusedError, ChannelUnavailableError, ContentRefusedError, EditClosedError, Post
from app.storage.cards import deliveries
from app.storage.cards.outbox import Errand, OutboxRow, enqueue, settle
from app.storage.requests.requests import find_request
from app.usecases.cards.bundle import (
    Grouping,
    post_anew,
    revise_all,
    set_free,
    set_unseen_free,
    shown_for_good,
    still_asked,
)
from app.usecases.cards.content_refused import bare_words, go_bare
from app.usecases.cards.give_up import give_up
from app.usecases.cards.message import compose_message, item_of, items_with, tells_something
from app.usecases.cards.next_way import NextWays
from app.usecases.cards.notices import notice_for
from app.usecases.cards.remember_delivery import Sending, Showing, look_again, postpone, remember_posted, remember_shown
from app.usecases.cards.secret_texts import complaint_without

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, MessageRef, Notice
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.cards.message import Item
    from app.usecases.cards.next_way import Ended
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.contact import Contact
    from app.usecases.platforms.pacing import Pacing

T = TypeVar("T")

log = structlog.get_logger(__name__)

_EDIT_MARGIN = timedelta(days=1)  # cards are posted anew this long before the platform stops their buttons
_LONGEST_WHY = 300
_REFRESH_FOR = timedelta(days=14)


class _Nothing(Struct, frozen=True, kw_only=True):
    """The row asks for what is so already."""


class _Saying(Struct, frozen=True, kw_only=True):
    """Say this under the message."""

    message: MessageRef
    notice: Notice


class _Later(Struct, frozen=True, kw_only=True):
    """Look again: the message that is to show something more is still under way."""


_Plan = Sending | Showing | _Saying | _Later | _Nothing


class Deliver:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        channels: ChannelBook,
        pacing: Pacing,
        seals: Seals,
        give_up_after: timedelta,
        contact: Contact,
    ) -> None:
        """Take what it works on.

        `give_up_after`: how long an unreachable platform is tried before the card is given up.
        """
        self._store = store
        self._book = book
        self._channels = channels
        self._ways = NextWays(book=book, channels=channels)
        self._pacing = pacing
        self._seals = seals
        self._give_up_after = give_up_after
        self._contact = contact

    async def __call__(self, row: OutboxRow) -> None:
        """Carry out a claimed row and settle or reschedule it."""
        channel = self._channels.find(row.org, row.channel)
        if channel is None:
            await self._given_up(row, "the channel is no longer configured")
            return
        plan = await self._write(row, lambda tx: self._plan(tx, row, channel))
        await self._carry_out(row, channel, plan)

    async def _carry_out(self, row: OutboxRow, channel: Channel, plan: _Plan) -> None:
        try:
            await self._act(row, channel, plan)
        except EditClosedError as error:
            why = error.why
            await self._write(row, lambda tx: _post_anew(tx, row, plan, why))
        except ContentRefusedError as error:
            await self._content_refused(row, channel, plan, error.why)
        except ChannelRefusedError as error:
            await self._refused(row, plan, error.why)
        except ChannelHangsError as error:
            await self._unavailable(row, plan, error)
        except ChannelFaultyError as error:
            await self._crashed(row, plan, error)
        except ChannelUnavailableError as error:
            await self._unavailable(row, plan, error)
        except AssentError:
            raise  # the store is away: the lease runs out, and the row is taken up again
        except Exception as error:
            log.exception("delivery.crashed", channel=row.channel, delivery=row.delivery_id)
            await self._crashed(row, plan, ChannelUnavailableError(type(error).__name__, ambiguous=True))

    async def _act(self, row: OutboxRow, channel: Channel, plan: _Plan) -> None:
        try:
            await self._do(row, channel, plan)
        except (ChannelRefusedError, ChannelUnavailableError) as error:
            error.why = _kept(error.why, plan)
            raise

    async def _do(self, row: OutboxRow, channel: Channel, plan: _Plan) -> None:
        match plan:
            case Sending():
                await self._send(row, channel, plan)
            case Showing():
                async with self._pacing.edit(row.org, channel):
                    await channel.refresh(plan.message, plan.card)
                self._contact.sent(row.channel)
                edits_for = channel.edits_for - _EDIT_MARGIN
                await self._write(row, lambda tx: remember_shown(tx, row, plan, edits_for=edits_for))
            case _Saying():
                async with self._pacing.post(row.org, channel, plan.message.chat_id):
                    await channel.notify(plan.message, plan.notice)
                self._contact.sent(row.channel)
                await self._write(row, lambda tx: settle(tx, row))
            case _Later():
                await self._write(row, lambda tx: look_again(tx, row))
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
        policy = self._book.current(row.org).policy
        if row.errand is Errand.NOTIFY:
            notice = notice_for(tx, row, request, delivery, channel, policy)
            return _Saying(message=delivery.message, notice=notice) if delivery.message and notice else _Nothing()
        item, grouping = item_of(tx, request, delivery), Grouping(tx, channel, policy, self._seals)
        match row.errand:
            case Errand.POST:
                return self._plan_post(tx, item, channel, policy, grouping)
            case Errand.REFRESH:
                return _plan_refresh(tx, row, item, grouping)
            case _:
                assert_never(row.errand)

    def _plan_post(self, tx: Tx, item: Item, channel: Channel, policy: Policy, grouping: Grouping) -> _Plan:
        delivery, tried_at = item.delivery, item.delivery.first_tried_at
        if delivery.status is not DeliveryStatus.QUEUED or delivery.carrier_id not in {None, delivery.id}:
            return _Nothing()  # it is out, or in the message of another
        if tried_at is None:
            tells = tells_something(item, channel, policy)
            unasked = item.request.status.final and not tells
            if delivery.carrier_id is None and unasked and delivery.revision == 1:
                # It was settled before its first card went out: there is nothing to ask any more.
                deliveries.mark_shown(tx, delivery, shown_version=item.request.version, retired=True)
                return _Nothing()
            grouped = grouping.concerns(item) and not tells
            if grouped and grouping.joins(item):
                return _Nothing()
            items = items_with(tx, item)
            if delivery.carrier_id is not None and delivery.revision == 1:
                items = still_asked(tx, items)
                if items is None:
                    return _Nothing()
            deliveries.mark_tried(tx, delivery)
            items = grouping.gather(item) if grouped else items
        else:
            items = items_with(tx, item)
        return Sending(
            items=items,
            card=compose_message(items, channel, policy, self._seals),
            look_first=tried_at is not None and tx.now() - tried_at >= channel.deduplicates_for,
            first=tried_at is None,
            shared=grouping.may_grow(items),
        )

    async def _send(self, row: OutboxRow, channel: Channel, plan: Sending) -> None:
        message = None
        if plan.look_first and plan.delivery.first_tried_at is not None:
            since = plan.delivery.first_tried_at - timedelta(minutes=1)
            message = await channel.find(plan.delivery.chat_id, _key(plan.delivery), since=since)
            if message is None:
                revised = await self._write(row, lambda tx: self._revise(tx, row, plan, channel))
                if revised is None:
                    return
                plan = revised
        if message is None:
            post = Post(card=plan.card, chat_id=plan.delivery.chat_id, key=_key(plan.delivery))
            failpoint("deliver.before_post")
            async with self._pacing.post(row.org, channel, post.chat_id):
                message = await channel.post(post)
            self._contact.sent(row.channel)
            failpoint("deliver.after_post")
        sent, found, edits_for = plan, message, channel.edits_for - _EDIT_MARGIN
        await self._write(row, lambda tx: remember_posted(tx, row, sent, found, edits_for=edits_for))

    def _revise(self, tx: Tx, row: OutboxRow, plan: Sending, channel: Channel) -> Sending | None:
        """Supersede a message that may be out there unknown: from now on its buttons are refused."""
        items = revise_all(tx, plan.items)
        if items is None:
            return None
        deliveries.mark_tried(tx, items[0].delivery)
        card = compose_message(items, channel, self._book.current(row.org).policy, self._seals)
        return replace(plan, items=items, card=card, look_first=False, first=True)

    # --- what came of it ----------------------------------------------------------------------------------------------

    async def _unavailable(self, row: OutboxRow, plan: _Plan, error: ChannelUnavailableError) -> None:
        if not error.limited:
            self._contact.unsent(row.channel)
        unseen = isinstance(plan, Showing) and any(item.delivery.message is None for item in plan.items)
        patience = _REFRESH_FOR if row.errand is Errand.REFRESH and not unseen else self._give_up_after
        # It surely did not arrive, now or in an earlier attempt: the next one need not look for it.
        forget = isinstance(plan, Sending) and plan.first and not error.ambiguous
        if await self._write(row, lambda tx: postpone(tx, row, error, patience=patience, forget_attempt=forget)):
            log.warning("delivery.postponed", channel=row.channel, delivery=row.delivery_id, why=error.why)
        else:
            await self._given_up(row, f"gave up: {error.why}")

    async def _crashed(self, row: OutboxRow, plan: _Plan, error: ChannelUnavailableError) -> None:
        """Try it again, and then give it up: a defect, also one of an adapter, keeps no request waiting for ever."""
        if await self._write(row, lambda tx: _set_free(tx, row, plan)):
            return  # it may be what they are together
        await self._unavailable(row, plan, error)

    async def _refused(self, row: OutboxRow, plan: _Plan, why: str) -> None:
        if await self._write(row, lambda tx: _set_free(tx, row, plan)):
            log.warning("bundle.dissolved", channel=row.channel, delivery=row.delivery_id, why=why)
        else:
            await self._given_up(row, why)

    async def _content_refused(self, row: OutboxRow, channel: Channel, plan: _Plan, why: str) -> None:
        """Say it without the call; what shows several requests falls apart first, for only one may be refused."""
        if isinstance(plan, _Saying) and plan.notice.text != (words := bare_words(channel)):
            plain = replace(plan, notice=replace(plan.notice, text=words))
            return await self._carry_out(row, channel, plain)
        alone = plan if isinstance(plan, (Sending, Showing)) and len(plan.items) == 1 else None
        if alone is not None and await self._write(row, lambda tx: go_bare(tx, row, alone, why)):
            return log.warning("delivery.bare", channel=row.channel, delivery=row.delivery_id, why=why)
        return await self._refused(row, plan, why)

    async def _given_up(self, row: OutboxRow, why: str) -> None:
        ended = await self._write(row, lambda tx: self._give_up(tx, row, why))
        log.error("delivery.failed", channel=row.channel, delivery=row.delivery_id, why=why)
        if ended is not None:
            log.error("request.undeliverable", request=ended.request_id, why=ended.why)

    def _give_up(self, tx: Tx, row: OutboxRow, why: str) -> Ended | None:
        """Give an errand up; first of all, whoever shares the message is set free."""
        delivery = deliveries.find_delivery(tx, row.delivery_id)
        if delivery is not None and delivery.carrier_id is not None:
            if row.errand is Errand.POST and _set_free(tx, row):
                return None
            set_unseen_free(tx, delivery)
        return give_up(tx, row, why, self._ways)

    async def _write(self, row: OutboxRow, unit: Callable[[Tx], T]) -> T:
        return await self._store.write(unit, org=row.org)


def _kept(why: str, plan: _Plan) -> str:
    """Return what is kept, in clear, of why a platform did not take something: it may quote what it was given."""
    match plan:
        case Sending() | Showing():
            why = complaint_without(why, plan.card, [item.request for item in plan.items])
        case _Saying():
            why = unquoted(why, plan.notice.text.splitlines())
        case _:
            pass
    return why[:_LONGEST_WHY]


def _plan_refresh(tx: Tx, row: OutboxRow, item: Item, grouping: Grouping) -> _Plan:
    if item.delivery.place != item.delivery.id:
        # One row for a message: what an attempt may have left there must be found by whoever takes that row up again.
        enqueue(tx, Errand.REFRESH, item.delivery.place, row.channel)
        return _Nothing()
    items = items_with(tx, item)
    carrier = items[0].delivery
    if carrier.carrier_id is None:
        if carrier.message is None or (carrier.shown_version >= item.request.version and not _tried(row)):
            return _Nothing()
    elif carrier.status is DeliveryStatus.UNDELIVERABLE:
        set_unseen_free(tx, carrier)
        return _Nothing()
    elif carrier.message is None:
        return _Later()
    elif all(each.delivery.shown_version >= each.request.version for each in items) and not _tried(row):
        return _Nothing()
    shown, card = grouping.shown(items)
    changing = tuple(_changing(tx, row, each) for each in shown)
    return Showing(items=changing, message=carrier.message, card=card)


def _tried(row: OutboxRow) -> bool:
    """Say whether an earlier attempt may have shown something, even after somebody else showed what is newer."""
    return row.attempts > 1


def _changing(tx: Tx, row: OutboxRow, item: Item) -> Item:
    """Note that this attempt changes what is shown of an item, unless that is settled for good."""
    if shown_for_good(item):
        return item
    name = hashlib.sha256(f"{row.id}/{row.attempts}".encode()).digest()
    attempt = -1 - int.from_bytes(name[:4], "big") % 2**30
    return replace(item, delivery=deliveries.mark_changing(tx, item.delivery, attempt=attempt))


def _set_free(tx: Tx, row: OutboxRow, plan: _Plan | None = None) -> bool:
    """Post alone what a message shows that cannot be sent, or shown, as it is. False: it shows one request."""
    delivery = deliveries.find_delivery(tx, row.delivery_id)
    if delivery is None or row.errand is Errand.NOTIFY:
        return False
    if delivery.carrier_id is None and isinstance(plan, (Sending, Showing)) and len(plan.items) > 1:
        settle(tx, row)  # what was refused showed several, and somebody else has set them free by now
        return True
    if delivery.carrier_id is None:
        return False
    return settle(tx, row) and set_free(tx, delivery, refreshing=row.errand is Errand.REFRESH)


def _post_anew(tx: Tx, row: OutboxRow, plan: _Plan, why: str) -> None:
    """Post a new card: the message can no longer be edited, so only another one can say what changed."""
    if isinstance(plan, Showing) and not all(shown_for_good(each) for each in plan.items):
        post_anew(tx, plan.delivery)
    settle(tx, row, error=why)


def _key(delivery: Delivery) -> str:
    """Name one revision of one delivery to the platform, in at most 50 characters."""
    return f"assent-{hashlib.sha256(f'{delivery.id}/{delivery.revision}'.encode()).hexdigest()[:40]}"
