"""Give people more time: whoever may decide, the requester, or an administrator adds the first window once more.

What was approved stays bound to the deadline as it was asked; the extension is an event of the trail.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.asides import LONGEST, Extended
from app.domain.decision import Evidence
from app.domain.errors import AlreadySettledError, AssentError, ConflictError, NotEligibleError, NotFoundError
from app.domain.lifecycle import Refusal, Step, advance
from app.domain.people import email_key
from app.domain.present import instant_text
from app.domain.request import API
from app.domain.timetable import REMINDERS, reminders
from app.domain.words import say
from app.ports import ClickOutcome, ClickResult
from app.storage.memory import seen_before
from app.storage.requests import lock_request
from app.usecases.carry_out import carry_out
from app.usecases.consult import door_of
from app.usecases.decide import refused_click
from app.usecases.electorate import voters_of
from app.usecases.pressed import Received, refusal
from app.usecases.recognise import Recognised, recognise

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.policy import Policy
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import SealedClick, Seals
    from app.policies.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.pressed import PressedCard


class Extend:
    """The use case, for the card and for the API."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        return await self._store.write(lambda tx: self._unit(tx, channel, click, sealed), org=org)

    async def extend(self, *, org: str, request_id: str, by: str, person: str | None) -> ConfirmationRequest:
        """Add the time that people had at first, and return the request. `by` stands in the trail.

        `person` is the e-mail of a personal key; None: an administrator's. Raises NotFoundError, NotEligibleError,
        AlreadySettledError, and ConflictError where it was extended as often, or waits as long, as it may.
        """

        def unit(tx: Tx) -> ConfirmationRequest | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return NotFoundError()
            request, now = locked
            policy = self._book.current(org).policy
            evidence = Evidence(channel=API)
            if person is not None and not may_ask_for(request, person, policy, now):
                tx.append(refused_click(evidence, why="not_eligible", person=person), request_id=request.id)
                return NotEligibleError()
            step = advance(request, _more_time(request, policy, by=by, evidence=evidence), now=now)
            after = carry_out(tx, request, step)
            match step.refusal:
                case None:
                    return after
                case Refusal.SETTLED:
                    return AlreadySettledError(f"the request is {after.state.value}", state=after.state.value)
                case _:
                    return ConflictError("this request has been given all the time that it may have")

        return await self._store.write(unit, org=org, about=request_id)

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
        step = advance(request, _more_time(request, policy, by=known.person, evidence=known.evidence), now=known.now)
        after = pressed.showing(carry_out(tx, request, step))
        return Received(outcome=_answer(after, step))


def may_ask_for(request: ConfirmationRequest, person: str, policy: Policy, now: datetime) -> bool:
    """Say whether a person may ask for more time, or for another round: they may decide, or asked for the call."""
    if email_key(person) == request.call.requester:
        return True
    # Whoever changed it must leave the decision to others, but may keep them from running out of time.
    return person in voters_of(replace(request, edited_by=None), policy, now=now).entitled()


def _more_time(request: ConfirmationRequest, policy: Policy, *, by: str, evidence: Evidence) -> Extended:
    """Add the first window again, as far as a request may wait in all, with the reminders of the file in it."""
    window = (request.expires_at - request.created_at) / (request.extensions + 1)
    until = min(request.expires_at + window, request.created_at + LONGEST)
    added = max(until - request.expires_at, timedelta(0))
    asking = next((rule.asking for rule in policy.rules if rule.id == request.rule_id), None) or policy.ask
    remind = asking.remind if asking else REMINDERS
    timers = reminders(request.expires_at, added, remind)
    return Extended(by=by, until=until, timers=timers, facts=door_of(evidence))


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
    return ClickOutcome(result=result, sentence=sentence, card=after.now())
