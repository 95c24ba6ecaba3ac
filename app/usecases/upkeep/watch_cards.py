"""Ask a platform once, a little after it took a card, whether it shows it.

An answer of success is no message on anybody's screen. Where the platform says surely that it is not there, the card is
posted anew: the buttons of the one that nobody saw are refused from then on, should it turn up after all. If the second
one is not there either, this way to people is given up like one that refuses cards. A platform that does not say, or
may not be asked, is not guessed about: `assent doctor` names the scope.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog
from msgspec import Struct

from app.abilities.askable import AskableChannel
from app.domain.request.request import DeliveryStatus
from app.domain.trail.audit import Kind, Record
from app.ports import ChannelRefusedError, ChannelUnavailableError
from app.storage.cards.deliveries import find_delivery, mark_undeliverable
from app.storage.cards.outbox import Errand
from app.storage.cards.unseen import list_unseen, mark_missing, mark_seen
from app.storage.requests.requests import lock_request
from app.usecases.cards.bundle import post_anew, set_unseen_free
from app.usecases.cards.next_way import NextWays

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.pacing import Pacing

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(seconds=10)
"""How often is asked for what has come since."""

WHY: Final = "the platform took the card twice, and shows neither"
_MOST: Final = 40
"""Cards of one channel that one round asks for; the next one takes the rest."""


class _Asked(Struct, frozen=True, kw_only=True):
    """What came of one question: the cards of one chat, and the messages that are not there."""

    cards: tuple[Delivery, ...]
    missing: frozenset[str]


class WatchCards:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, channels: ChannelBook, pacing: Pacing) -> None:
        """Take what it works on."""
        self._store = store
        self._channels = channels
        self._pacing = pacing
        self._ways = NextWays(book=book, channels=channels)

    async def __call__(self) -> None:
        """Do one round over all channels that can be asked, beside each other: one that is slow holds up no other."""
        rounds = (
            self._look(org, channel, channel)
            for (org, _), channel in self._channels.all().items()
            if isinstance(channel, AskableChannel)
        )
        await asyncio.gather(*rounds)

    async def _look(self, org: str, channel: Channel, askable: AskableChannel) -> None:
        unseen = await self._store.read(lambda tx: list_unseen(tx, channel.name, tx.now(), most=_MOST), org=org)
        for cards in _by_chat(unseen):
            asked = await self._ask(org, channel, askable, cards)
            if asked is None:
                return  # it is away, or wants to be asked later: the next round asks again
            await self._store.write(lambda tx, asked=asked: self._remember(tx, asked), org=org)

    async def _ask(
        self, org: str, channel: Channel, askable: AskableChannel, cards: tuple[Delivery, ...]
    ) -> _Asked | None:
        refs = tuple(dict.fromkeys(card.message for card in cards if card.message is not None))
        try:
            async with self._pacing.look(org, channel):
                missing = await askable.list_missing(refs)
        except ChannelUnavailableError as error:
            log.info("cards.unasked", channel=channel.name, why=error.why)
            return None
        except ChannelRefusedError as error:
            log.warning("cards.not_askable", channel=channel.name, why=error.why)
            return _Asked(cards=cards, missing=frozenset())
        return _Asked(cards=cards, missing=missing)

    def _remember(self, tx: Tx, asked: _Asked) -> None:
        for card in asked.cards:
            if card.message is None or card.message.message_id not in asked.missing:
                mark_seen(tx, card)
        for message_id in sorted(asked.missing):
            self._miss(tx, [card for card in asked.cards if card.message and card.message.message_id == message_id])

    def _miss(self, tx: Tx, shown: list[Delivery]) -> None:
        """Post the cards of a message that is not there anew, once; and then try the next way for each."""
        waiting = [(card, locked) for card in _in_order(shown) if (locked := _still_there(tx, card)) is not None]
        first = [mark_missing(tx, card) for card, _ in waiting]
        for card, locked in waiting:
            if all(first):
                facts = {"channel": card.channel, "delivery": card.id, "revision": card.revision}
                tx.append(Record(kind=Kind.CARD_MISSING, actor="system", facts=facts), request_id=card.request_id)
                log.warning("card.missing", channel=card.channel, delivery=card.id, request=card.request_id)
            else:
                self._give_up(tx, card, locked)
        if waiting and all(first):
            post_anew(tx, waiting[0][0])

    def _give_up(self, tx: Tx, card: Delivery, locked: tuple[ConfirmationRequest, datetime]) -> None:
        set_unseen_free(tx, card)
        mark_undeliverable(tx, card, WHY)
        facts = {"channel": card.channel, "delivery": card.id, "errand": Errand.POST.value, "why": WHY}
        if card.person is not None:
            facts["person"] = card.person
        tx.append(Record(kind=Kind.CARD_FAILED, actor="system", facts=facts), request_id=card.request_id)
        log.error("delivery.failed", channel=card.channel, delivery=card.id, why=WHY)
        ended = self._ways.open_next(tx, *locked, ending=True)
        if ended is not None:
            log.error("request.undeliverable", request=ended.request_id, why=ended.why)


def _still_there(tx: Tx, card: Delivery) -> tuple[ConfirmationRequest, datetime] | None:
    """Lock the request of a card. None: somebody settled it, or posted the card anew, since it was asked for."""
    locked = lock_request(tx, card.request_id)
    current = find_delivery(tx, card.id)
    if locked is None or locked[0].status.final or current is None or current.status is not DeliveryStatus.LIVE:
        return None
    return locked if current.revision == card.revision else None


def _in_order(cards: list[Delivery]) -> list[Delivery]:
    """Return cards in the order in which their requests are locked everywhere."""
    return sorted(cards, key=lambda each: each.request_id)


def _by_chat(cards: list[Delivery]) -> list[tuple[Delivery, ...]]:
    """Return the cards of each chat together, the oldest chat first."""
    chats: dict[str, list[Delivery]] = {}
    for card in cards:
        chats.setdefault(card.chat_id, []).append(card)
    return [tuple(each) for each in chats.values()]
