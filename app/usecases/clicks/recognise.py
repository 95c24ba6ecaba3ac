"""Who pressed which card: the checks that every click passes before anything is done because of it.

The sealed token names a live card; the click came from the very place the card is in; the account is one active,
freshly confirmed person. Whatever fails is told to the person in a sentence, is recorded, and leaves the request
waiting. Only then does a use case count the click as seen (`seen_before`) and ask whether this person may.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.errors import LackingSecretError, NotFoundError, UnsealedError
from app.domain.identity.seals import BadTokenError
from app.domain.request.decision import Evidence
from app.ports import AccountStatus, ClickOutcome, ClickResult
from app.storage.cards.accounts import list_by_account
from app.storage.cards.deliveries import find_by_handle, place_of
from app.storage.requests.requests import lock_to_claim
from app.storage.requests.sealing import why_missing
from app.usecases.cards.compose import to_person
from app.usecases.cards.message import items_of
from app.usecases.clicks.pressed import PressedCard, refusal
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.errors import AssentError
    from app.domain.identity.seals import SealedClick, Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.ports import Channel, Click
    from app.storage.engine.transaction import Tx

ACCOUNT_TRUSTED_FOR = timedelta(hours=1)
"""How long the platform's word about an account counts. It is renewed every few minutes; older is not good enough."""

_NOT_HELD: Mapping[type[AssentError], str] = {UnsealedError: "unsealed", LackingSecretError: "lacking_secret"}


_ANSWERS_WITHIN = timedelta(seconds=5)
"""How soon a platform says where a card is. Later, the gateway was killed meanwhile, or the connection broke."""


class Recognised(Struct, frozen=True, kw_only=True):
    """A click on a live card by somebody whom we know. The request is locked; `now` was read behind the lock."""

    pressed: PressedCard
    person: str
    now: datetime
    evidence: Evidence

    @property
    def request(self) -> ConfirmationRequest:
        """The request that the card shows."""
        return self.pressed.request

    def refuse(self, tx: Tx, key: str, result: ClickResult = ClickResult.REFUSED) -> ClickOutcome:
        """Say, and record, why this person may not do what they pressed."""
        tx.append(refused_click(self.evidence, why=key, person=self.person), request_id=self.request.id)
        return refusal(self.pressed.channel, key, result)


@dataclass(frozen=True, slots=True)
class _Refused(Exception):  # noqa: N818 - never leaves this module
    """Why a click does not count: the sentence's key, and what the person may do."""

    key: str
    result: ClickResult
    person: str | None = None
    record: bool = True


def recognise(
    tx: Tx, channel: Channel, click: Click, sealed: SealedClick, *, policy: Policy, seals: Seals
) -> Recognised | ClickOutcome:
    """Lock the request of a click and say who pressed; or what they are told, where that cannot be said."""
    evidence = _evidence(channel, click)
    if sealed.key_id not in seals.key_ids:  # before any row is looked at: they may be sealed with that key as well
        tx.append(refused_click(evidence, why="other_secret", person=None))
        return refusal(spoken_to(tx, channel, click, policy), "other_secret", ClickResult.REFUSED)
    delivery = find_by_handle(tx, sealed.handle)
    held = lock_to_claim(tx, delivery.request_id) if delivery else None
    if delivery is None or held is None:
        error = why_missing(tx, delivery.request_id) if delivery is not None else NotFoundError()
        why = _NOT_HELD.get(type(error), "stale")
        tx.append(refused_click(evidence, why=why, person=None))
        return refusal(spoken_to(tx, channel, click, policy), why, ClickResult.REFUSED, **error.more)
    request, now = held.request, held.now
    pressed = PressedCard(
        request=request,
        delivery=delivery,
        channel=channel,
        policy=policy,
        seals=seals,
        pause=pause_shown(tx, request) if held.any_switch else None,
    )
    try:
        _check_place(pressed, click, sealed, now)
        person = _who(tx, pressed, click, now)
        if delivery.carrier_id is not None:
            pressed = replace(pressed, shared=items_of(tx, delivery.carrier_id))
        pressed = replace(pressed, channel=to_person(channel, policy, person))
        if _is_copy(pressed, click):
            tx.append(refused_click(evidence, why="copy", person=person), request_id=request.id)
            return pressed.on_a_copy()
    except _Refused as refused:
        if refused.record:
            tx.append(refused_click(evidence, why=refused.key, person=refused.person), request_id=request.id)
        return refusal(spoken_to(tx, channel, click, policy), refused.key, refused.result)
    seen = replace(evidence, card_revision=delivery.revision, shown_at=delivery.posted_at)
    return Recognised(pressed=pressed, person=person, now=now, evidence=seen)


def person_of_account(tx: Tx, channel: Channel, account_id: str) -> str | None:
    """Return the person behind an account that somebody named; None: nobody, several, or not one that may decide."""
    known = list_by_account(tx, channel.name, account_id)
    return known[0].person if len(known) == 1 and known[0].account.status is AccountStatus.ACTIVE else None


def spoken_to(tx: Tx, channel: Channel, click: Click, policy: Policy) -> Channel:
    """Return the channel as whoever pressed reads it, also where the press counts for nothing."""
    return to_person(channel, policy, person_of_account(tx, channel, click.account_id))


def _evidence(channel: Channel, click: Click) -> Evidence:
    return Evidence(
        channel=channel.name,
        account_id=click.account_id,
        tenant=click.tenant,
        app_id=click.app_id,
        chat_id=click.chat_id,
        message_id=click.message_id,
    )


def _check_place(pressed: PressedCard, click: Click, sealed: SealedClick, now: datetime) -> None:
    """Refuse a click that does not come from the very card that we posted.

    Where the platform's word on which that is never came, the click's is not taken for it: it may come from a copy, and
    in a person's own chat, or where accounts name no workspace, there would be nothing left to compare it with.
    """
    message, tried_at = pressed.delivery.message, pressed.delivery.first_tried_at
    if pressed.delivery.channel != pressed.channel.name:
        raise _Refused("stale", ClickResult.REFUSED)
    if message is None:  # the platform has not told us yet where the card is
        broken_off = tried_at is not None and now - tried_at > _ANSWERS_WITHIN
        raise _Refused("broken_off" if broken_off else "retry", ClickResult.RETRY, record=False)
    try:
        pressed.seals.verify(sealed, place_of(pressed.request, pressed.delivery))
    except BadTokenError:
        raise _Refused("stale", ClickResult.REFUSED) from None
    same = (
        click.chat_id == message.chat_id
        and click.message_id  # another than ours is a copy: see `_is_copy`
        and (not message.app_id or click.app_id in {"", message.app_id})
    )
    if not same:
        raise _Refused("stale", ClickResult.REFUSED)


def _is_copy(pressed: PressedCard, click: Click) -> bool:
    """Say whether it was pressed on another message of this chat: the platform shows twice what we sent once."""
    message = pressed.delivery.message
    return message is not None and click.message_id != message.message_id


def _who(tx: Tx, pressed: PressedCard, click: Click, now: datetime) -> str:
    """Return the person behind an account, or raise _Refused: unmapped, unknown, inactive, foreign, unconfirmed."""
    known = list_by_account(tx, pressed.channel.name, click.account_id)
    if len(known) != 1:
        turned_away = pressed.policy.directory.turned_away
        raise _Refused(turned_away.get((pressed.channel.name, click.account_id), "unmapped"), ClickResult.REFUSED)
    only = known[0]
    # A member of our workspace may be at home in another one: what the platform confirmed of the account says so.
    message = pressed.delivery.message
    tenants = {only.account.tenant, message.tenant if message is not None else ""} - {""}
    if tenants and click.tenant not in tenants:
        raise _Refused("inactive", ClickResult.REFUSED, only.person)
    if only.account.status is AccountStatus.UNKNOWN:
        raise _Refused("unknown", ClickResult.REFUSED, only.person)
    if only.account.status is not AccountStatus.ACTIVE:
        raise _Refused("inactive", ClickResult.REFUSED, only.person)
    if now - only.checked_at > ACCOUNT_TRUSTED_FOR:
        raise _Refused("unverified", ClickResult.RETRY, only.person)
    return only.person
