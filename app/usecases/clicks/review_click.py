"""Carry out a click on "See all of it"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.storage.requests.seen_before import seen_before
from app.usecases.clicks.pressed import Received, refusal
from app.usecases.clicks.recognise import Recognised, recognise
from app.usecases.reading.review import may_look

if TYPE_CHECKING:
    from app.domain.identity.seals import SealedClick, Seals
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.reading.review import Review


class ReviewClick:
    """The use case, from a card."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, review: Review) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals
        self._review = review

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick) -> Received:
        """Answer a press of "See all of it" with a link, for that person alone. Raises UnavailableError."""
        return await self._store.write(lambda tx: self._pressed(tx, channel, click, sealed), org=org)

    def _pressed(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> Received:
        policy = self._book.current(tx.org).policy
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        channel = known.pressed.channel  # as this person reads it
        if not may_look(known.request, policy, known.person, now=known.now):
            return Received(outcome=known.refuse(tx, "no_view"))
        if policy.url is None:
            return Received(outcome=refusal(channel, "review_off", ClickResult.REFUSED))
        if seen_before(tx, channel.name, click.event_key):
            return Received(outcome=refusal(channel, "review_sent", ClickResult.ALREADY))
        way = self._review.link(tx, policy.url, known.request.id, known.person, channel.name)
        sentence = say(channel.language, "click.review", link=way.url)
        return Received(outcome=ClickOutcome(result=ClickResult.RECORDED, sentence=sentence, link=way.url))
