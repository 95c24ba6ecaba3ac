"""Take a verified click: a verdict is recorded here, everything else goes to the use case of its action.

Which card and which person it is, `recognise` says; only then is the click counted as seen, and `decide` asked. Where
an approval takes more than a click, what was typed is looked at before that (`step_up.py`). Nothing here calls out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from app.domain.card.card_for import instant_text
from app.domain.card.form import MOST, Field, Form
from app.domain.card.typed import TYPED, typed_field
from app.domain.identity.seals import BadTokenError, parse_token
from app.domain.lifecycle.lifecycle import DeadlinePassed, advance
from app.domain.lifecycle.step import no_place
from app.domain.people.assurance import Assurance
from app.domain.request.action import Action
from app.domain.request.decision import Verdict
from app.domain.text.visible import is_blank
from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.storage.requests.seen_before import seen_before
from app.usecases.clicks.pressed import Received, refusal
from app.usecases.clicks.recognise import Recognised, recognise
from app.usecases.deciding.decide import decide, withdraw_vote
from app.usecases.proving.step_up import locked_out, look_at_typed
from app.usecases.voters.electorate import acts_for, voters_of
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.card.card import Card
    from app.domain.identity.seals import SealedClick, Seals
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_OF_VOTES = frozenset({Action.APPROVE, Action.DENY, Action.WITHDRAW})

REASON = "reason"
"""The field of the form that asks why somebody denies."""


class ClickTaker(Protocol):
    """What is done for a control besides Approve and Deny."""

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        ...


class Receive:
    """The use case."""

    def __init__(
        self, *, store: Store, book: PolicyBook, seals: Seals, others: Mapping[Action, ClickTaker] | None = None
    ) -> None:
        """Take what it works on; `others` carry out what is no verdict."""
        self._store = store
        self._book = book
        self._seals = seals
        self._others = others or {}

    async def __call__(self, org: str, channel: Channel, click: Click) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        try:
            sealed = parse_token(click.token)
        except BadTokenError:
            return Received(outcome=refusal(channel, "stale", ClickResult.REFUSED))
        if sealed.action in _OF_VOTES:
            return await self._store.write(lambda tx: self._unit(tx, channel, click, sealed), org=org)
        other = self._others.get(sealed.action)
        if other is None:
            return Received(outcome=refusal(channel, "stale", ClickResult.REFUSED))
        return await other(org, channel, click, sealed)

    def _unit(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> Received:
        loaded = self._book.current(tx.org)  # of this instant, not of when the click came in
        policy = loaded.policy
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        channel = known.pressed.channel  # as this person reads it
        if sealed.action is Action.WITHDRAW:
            return Received(outcome=_withdraw(tx, channel, click, known))
        verdict = Verdict(sealed.action.value)
        typing = verdict is Verdict.APPROVE and known.request.assurance is Assurance.L2
        if click.wants_form:
            return _before_form(tx, known, verdict)
        unfit = _unfit(channel, click, verdict, typing=typing)
        if unfit is not None:
            return Received(outcome=unfit)
        if seen_before(tx, channel.name, click.event_key):
            return Received(outcome=_again(known, typing=typing))
        evidence = known.evidence
        if typing and _is_asked(known):
            mistaken = _mistaken(tx, known, click.fields[TYPED])
            if mistaken is not None:
                return Received(outcome=mistaken)
            evidence = replace(evidence, assurance=Assurance.L2)
        decided = decide(
            tx,
            known.request,
            known.now,
            loaded,
            person=known.person,
            verdict=verdict,
            reason=click.reason and click.reason.replace("\0", "\\u{0}"),  # PostgreSQL's texts have no NUL
            evidence=evidence,
        )
        return Received(outcome=known.pressed.answer(decided))


def _unfit(channel: Channel, click: Click, verdict: Verdict, *, typing: bool) -> ClickOutcome | None:
    """Say what is missing of what was filled in, or too long, whatever the platform's own form let through."""
    if verdict is Verdict.DENY and is_blank(click.reason or ""):
        return refusal(channel, "reason_needed", ClickResult.RETRY)
    if len(click.reason or "") > MOST:
        return ClickOutcome(result=ClickResult.RETRY, sentence=say(channel.language, "click.too_long", most=MOST))
    if typing and not click.fields.get(TYPED, "").strip():
        return refusal(channel, "type_needed", ClickResult.RETRY)
    return None


def _is_asked(known: Recognised) -> bool:
    """Say whether a person's approval could count now: nobody else's tries are counted, and `decide` says why not."""
    request = known.request
    if request.status.final or known.now >= request.expires_at:
        return False
    voters = voters_of(request, known.pressed.policy, now=known.now)
    return known.person in voters.entitled() and not voters.is_barred(known.person)


def _mistaken(tx: Tx, known: Recognised, text: str) -> ClickOutcome | None:
    """Look at what was typed beside an approval; None: it is what stands on the card."""
    channel = known.pressed.channel
    wrong = look_at_typed(tx, known.request, known.person, text, evidence=known.evidence)
    if wrong is None:
        return None
    if wrong.until is not None:
        return _locked(known, wrong.until)
    return refusal(channel, "wrong_code", ClickResult.RETRY, left=wrong.left)


def _locked(known: Recognised, until: datetime) -> ClickOutcome:
    pressed = known.pressed
    told = instant_text(until.replace(microsecond=0), pressed.policy.zone)
    return refusal(pressed.channel, "locked", ClickResult.REFUSED, until=told)


def _again(known: Recognised, *, typing: bool) -> ClickOutcome:
    """Answer what was sent a second time: it has had its effect."""
    voted = any(decision.person == known.person for decision in known.request.decisions)
    if typing and not voted and not known.request.status.final:
        return refusal(known.pressed.channel, "looked_at", ClickResult.RETRY)
    return known.pressed.standing()


def _withdraw(tx: Tx, channel: Channel, click: Click, known: Recognised) -> ClickOutcome:
    """Take the vote of whoever pressed back. They need not be entitled any longer: it only ever counts less."""
    if seen_before(tx, channel.name, click.event_key):
        return known.pressed.standing()
    policy = known.pressed.policy
    taken = withdraw_vote(tx, known.request, known.now, policy, person=known.person, evidence=known.evidence)
    return known.pressed.answer(taken)


def _before_form(tx: Tx, known: Recognised, verdict: Verdict) -> Received:
    """Before a form opens: is there still something to decide, and may this person?"""
    request, pressed = known.request, known.pressed
    if request.status.final or known.now >= request.expires_at:
        over = carry_out(tx, request, advance(request, DeadlinePassed(), now=known.now))
        return Received(outcome=pressed.showing(over).standing())
    voters = voters_of(request, pressed.policy, now=known.now)
    if known.person not in voters.entitled():
        why = no_place(request, known.person, barred=voters.is_barred(known.person))
        return Received(outcome=known.refuse(tx, str(why)))
    if verdict is Verdict.DENY:
        return pressed.asking(_reason_form(pressed.itself().title, pressed.channel))
    if request.assurance is not Assurance.L2:  # no card of this request has such a button
        return Received(outcome=known.refuse(tx, "stale" if request.assurance is Assurance.L1 else "step_up"))
    if not voters.may_approve(known.person, acts_for(known.person, request, voters)):
        return Received(outcome=known.refuse(tx, "over_limit"))
    until = locked_out(tx, request, known.person)
    if until is not None:
        return Received(outcome=_locked(known, until))
    return pressed.asking(approval_form(pressed.itself(), typed_field(request, pressed.channel.language)))


def _reason_form(title: str, channel: Channel) -> Form:
    language = channel.language
    reason = Field(name=REASON, label=say(language, "deny.reason"), hint=say(language, "deny.hint"))
    deny, cancel = say(language, "deny"), say(language, "cancel")
    return Form(title=deny, submit=deny, cancel=cancel, note=title, fields=(reason,))


def approval_form(card: Card, typed: Field) -> Form:
    """Say once more, where the form hides the card, what would run; the code stands there too."""
    language = card.language
    approve, cancel = say(language, "approve"), say(language, "cancel")
    note = card.buttons.confirm_text if card.buttons else card.title
    return Form(title=approve, submit=approve, cancel=cancel, note=note, fields=(typed,))
