"""Carry out a click on "More time"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.card.card_for import instant_text
from app.domain.lifecycle.lifecycle import Refusal, Step, advance
from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.storage.requests.seen_before import seen_before
from app.usecases.clicks.pressed import Received, refusal
from app.usecases.clicks.recognise import Recognised, recognise
from app.usecases.deciding.extend import more_time
from app.usecases.voters.may_ask_for import may_ask_for
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from app.domain.identity.seals import SealedClick, Seals
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.clicks.pressed import PressedCard


class ExtendClick:
    """The use case, from a card."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        return await self._store.write(lambda tx: self._unit(tx, channel, click, sealed), org=org)

    def _unit(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> Received:
        policy = self._book.current(tx.org).policy
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        request, pressed = known.request, known.pressed
        if not may_ask_for(request, known.person, policy, known.now):
            return Received(outcome=known.refuse(tx, "not_eligible"))
        if not request.status.final and seen_before(tx, channel.name, click.event_key):
            return Received(outcome=_extended(pressed, ClickResult.ALREADY))
        step = advance(request, more_time(request, policy, by=known.person, evidence=known.evidence), now=known.now)
        after = pressed.showing(carry_out(tx, request, step))
        return Received(outcome=_answer(after, step))


def _answer(after: PressedCard, step: Step) -> ClickOutcome:
    match step.refusal:
        case None:
            return _extended(after, ClickResult.RECORDED)
        case Refusal.SETTLED:
            return after.standing()
        case _:
            return refusal(after.channel, "too_often", ClickResult.REFUSED)


def _extended(after: PressedCard, result: ClickResult) -> ClickOutcome:
    until = instant_text(after.request.expires_at, after.policy.zone)
    sentence = say(after.channel.language, "click.extended", until=until)
    return ClickOutcome(result=result, sentence=sentence, card=after.now)
