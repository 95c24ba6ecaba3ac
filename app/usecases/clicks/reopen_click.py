"""Carry out a click on "Ask again"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.request.request import Status
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.usecases.asking.reopen import AskedAgain, Expired, as_it_stands, expired
from app.usecases.cards.compose import reason_told, to_person
from app.usecases.clicks.pressed import Received
from app.usecases.clicks.recognise import Recognised, recognise
from app.usecases.voters.may_ask_for import may_ask_for

if TYPE_CHECKING:
    from app.domain.identity.seals import SealedClick, Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.asking.reopen import Reopen


class ReopenClick:
    """The use case, from a card."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, reopen: Reopen) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals
        self._reopen = reopen

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        found = await self._store.write(lambda tx: self._pressed(tx, channel, click, sealed), org=org)
        if isinstance(found, Received):
            return found
        again = await self._reopen.again(found)
        return Received(outcome=_told(channel, again, self._book.current(org).policy, found.person))

    def _pressed(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> Expired | Received:
        policy = self._book.current(tx.org).policy
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        request, now = as_it_stands(tx, known.request, known.now)
        if not may_ask_for(request, known.person, policy, now):
            return Received(outcome=known.refuse(tx, "not_eligible"))
        if request.status is not Status.EXPIRED:
            return Received(outcome=known.pressed.showing(request).standing())
        # The click is not counted as seen: whoever presses twice finds the same request.
        return expired(tx, request, known.person)


def _told(channel: Channel, again: AskedAgain, policy: Policy, person: str) -> ClickOutcome:
    language = to_person(channel, policy, person).language
    if again.request is None:
        sentence = say(language, f"click.{again.key}", reason=visible(reason_told(again.reason, policy, language)))
        return ClickOutcome(result=ClickResult.REFUSED, sentence=sentence)
    key, result = ("reopened_before", ClickResult.ALREADY) if again.before else ("reopened", ClickResult.RECORDED)
    return ClickOutcome(result=result, sentence=say(language, f"click.{key}", code=again.request.code))
