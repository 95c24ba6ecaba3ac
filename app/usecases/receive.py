"""Take a verified click: which card, which person, may they, and what do they hear.

The order is: the sealed token names a live card; the click came from the very place the card is in; the account is one
active, freshly confirmed person; only then is the click counted as seen, and `decide` asked. Whatever fails is told to
the person in a sentence, is recorded, and leaves the request waiting. Nothing here calls out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.decision import Evidence, Verdict
from app.domain.lifecycle import DeadlinePassed, advance
from app.domain.seals import BadTokenError, parse_token
from app.domain.words import say
from app.ports import AccountStatus, ClickOutcome, ClickResult
from app.storage.accounts import list_by_account
from app.storage.deliveries import find_by_handle
from app.storage.memory import seen_before
from app.storage.requests import lock_request
from app.usecases.carry_out import carry_out
from app.usecases.compose import place_of
from app.usecases.decide import decide, refused_click
from app.usecases.electorate import voters_for
from app.usecases.pressed import PressedCard, refusal

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.seals import SealedClick, Seals
    from app.policies.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.store import Store
    from app.storage.transaction import Tx

ACCOUNT_TRUSTED_FOR = timedelta(hours=1)
"""How long the platform's word about an account counts. It is renewed every few minutes; older is not good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What to answer. With `ask_reason` the click is a Deny that still needs its reason, by someone who may deny."""

    outcome: ClickOutcome
    ask_reason: bool = False


@dataclass(frozen=True, slots=True)
class _Refused(Exception):  # noqa: N818 - never leaves this module
    """Why a click does not count: the sentence's key, and what the person may do."""

    key: str
    result: ClickResult
    person: str | None = None
    record: bool = True


class Receive:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(self, org: str, channel: Channel, click: Click) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        try:
            sealed = parse_token(click.token)
        except BadTokenError:
            return Received(outcome=refusal(channel, "stale", ClickResult.REFUSED))
        return await self._store.write(lambda tx: self._unit(tx, channel, click, sealed), org=org)

    def _unit(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> Received:
        policy = self._book.current(tx.org).policy  # of this instant, not of when the click came in
        evidence = _evidence(channel, click)
        delivery = find_by_handle(tx, sealed.handle)
        locked = lock_request(tx, delivery.request_id) if delivery else None
        if delivery is None or locked is None:
            tx.append(refused_click(evidence, why="stale", person=None))
            return Received(outcome=refusal(channel, "stale", ClickResult.REFUSED))
        request, now = locked
        pressed = PressedCard(request=request, delivery=delivery, channel=channel, policy=policy, seals=self._seals)
        try:
            _check_place(pressed, click, sealed)
            person = _recognise(tx, channel, click, now)
            if click.wants_reason:
                return _before_reason(tx, pressed, person, now)
        except _Refused as refused:
            if refused.record:
                tx.append(refused_click(evidence, why=refused.key, person=refused.person), request_id=request.id)
            return Received(outcome=refusal(channel, refused.key, refused.result))
        if sealed.verdict is Verdict.DENY and not (click.reason or "").strip():
            return Received(outcome=refusal(channel, "reason_needed", ClickResult.RETRY))
        if seen_before(tx, channel.name, click.event_key):
            return Received(outcome=pressed.standing())
        decided = decide(
            tx,
            request,
            now,
            policy,
            person=person,
            verdict=sealed.verdict,
            reason=click.reason and click.reason.replace("\0", "\\u{0}"),  # PostgreSQL's texts have no NUL
            evidence=replace(evidence, card_revision=delivery.revision),
        )
        return Received(outcome=pressed.answer(decided))


def _evidence(channel: Channel, click: Click) -> Evidence:
    return Evidence(
        channel=channel.name,
        account_id=click.account_id,
        tenant=click.tenant,
        app_id=click.app_id,
        chat_id=click.chat_id,
        message_id=click.message_id,
    )


def _check_place(pressed: PressedCard, click: Click, sealed: SealedClick) -> None:
    """Refuse a click that does not come from the very card that we posted."""
    message = pressed.delivery.message
    if pressed.delivery.channel != pressed.channel.name:
        raise _Refused("stale", ClickResult.REFUSED)
    if message is None:  # the platform has not told us yet where the card is: a moment later it will have
        raise _Refused("retry", ClickResult.RETRY, record=False)
    try:
        pressed.seals.verify(sealed, place_of(pressed.request, pressed.delivery))
    except BadTokenError:
        raise _Refused("stale", ClickResult.REFUSED) from None
    same = (
        click.chat_id == message.chat_id
        and click.message_id == message.message_id
        and (not message.app_id or click.app_id in {"", message.app_id})
    )
    if not same:
        raise _Refused("stale", ClickResult.REFUSED)
    if message.tenant and click.tenant != message.tenant:
        raise _Refused("inactive", ClickResult.REFUSED)


def _recognise(tx: Tx, channel: Channel, click: Click, now: datetime) -> str:
    """Return the person behind an account, or raise _Refused: unmapped, ambiguous, inactive, foreign, unconfirmed."""
    known = list_by_account(tx, channel.name, click.account_id)
    if len(known) != 1:
        raise _Refused("unmapped", ClickResult.REFUSED)
    only = known[0]
    if only.account.tenant and only.account.tenant != click.tenant:
        raise _Refused("inactive", ClickResult.REFUSED, only.person)
    if only.account.status is not AccountStatus.ACTIVE:
        raise _Refused("inactive", ClickResult.REFUSED, only.person)
    if now - only.checked_at > ACCOUNT_TRUSTED_FOR:
        raise _Refused("unverified", ClickResult.RETRY, only.person)
    return only.person


def _before_reason(tx: Tx, pressed: PressedCard, person: str, now: datetime) -> Received:
    """Before the form for a reason opens: is there still something to deny, and may this person?"""
    request = pressed.request
    if request.status.final or now >= request.expires_at:
        over = carry_out(tx, request, advance(request, DeadlinePassed(), now=now))
        return Received(outcome=pressed.showing(over).standing())
    voters = voters_for(request.call, request.stages, pressed.policy, now=now)
    if person not in voters.entitled():
        raise _Refused("barred" if voters.is_barred(person) else "not_eligible", ClickResult.REFUSED, person)
    sentence = say(pressed.channel.language, "deny.reason")
    outcome = ClickOutcome(result=ClickResult.RETRY, sentence=sentence, card=pressed.now())
    return Received(outcome=outcome, ask_reason=True)
