"""Carry out a step in its transaction: the guarded save, the audit event, and what must happen after the commit.

Cards and notices are planned here too: rows first, messages after the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from app.domain.lifecycle.effect import (
    AskRequester,
    IssueGrant,
    Notify,
    PostCards,
    PostMore,
    RefreshCards,
    TellApprovers,
    TellEnd,
    Wake,
)
from app.domain.lifecycle.execution import issue
from app.domain.people.people import email_key
from app.domain.request.request import SEEN, Audience, DeliveryStatus
from app.domain.trail.audit import Kind, Record
from app.domain.trail.notes import ANSWER, REMINDER, approved_note, ended_note, parse_note
from app.storage.cards.accounts import list_of_person
from app.storage.cards.deliveries import Delivery, list_deliveries, revise
from app.storage.cards.outbox import Errand, enqueue, plan_delivery
from app.storage.requests.decisions import put_decision
from app.storage.requests.executions import save_execution, save_grant
from app.storage.requests.requests import insert_request, save_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from app.domain.lifecycle.effect import Effect
    from app.domain.lifecycle.lifecycle import Step
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx


def open_request(tx: Tx, step: Step, *, targets: Mapping[str, str], due_at: datetime | None = None) -> None:
    """Write a new request with its cards. `targets` maps each of its channels to the chat its cards go to.

    The cards go out at once, or at `due_at`.
    """
    request = step.request
    insert_request(tx, request)
    _record(tx, step)
    for effect in step.effects:
        match effect:
            case PostCards():
                for channel in request.card_channels:
                    plan_card(tx, request, channel, targets[channel], due_at=due_at)
            case _:
                pass  # nothing waits for, or shows, a request that is just being opened


def carry_out(
    tx: Tx, before: ConfirmationRequest, step: Step, *, chats: Mapping[str, str] | None = None
) -> ConfirmationRequest:
    """Write what a step changed and return the request as it now stands.

    `chats` maps channels that a step may bring in to the chat their cards go to. The writes are guarded: if a row is
    not the one the step was decided on, the store runs the unit again.
    """
    after = step.request
    if after.version == before.version:
        return after
    for effect in step.effects:
        if isinstance(effect, IssueGrant):
            after = issue(after, grant_id=tx.ids.new("gra"), not_after=effect.not_after)
    save_request(tx, before, after)
    save_grant(tx, after.id, before.grant, after.grant)
    save_execution(tx, after, before.execution, after.execution)
    _save_decisions(tx, before, after)
    _record(tx, step)
    for effect in step.effects:
        _follow(tx, after, effect, chats or {})
    return after


def seal_as_it_stands(tx: Tx, request: ConfirmationRequest, *, by: str, key_id: str) -> None:
    """Take a request's rows for what was asked, whatever seal they have, and say so in the trail."""
    after = replace(request, version=request.version + 1)
    save_request(tx, request, after, whole=True)
    record = Record(kind=Kind.SEALED, actor=by, facts={"key_id": key_id})
    tx.append(record, request_id=request.id, request_version=after.version)


def _follow(tx: Tx, request: ConfirmationRequest, effect: Effect, chats: Mapping[str, str]) -> None:
    match effect:
        case RefreshCards():
            refresh_cards(tx, request)
        case Wake():
            tx.changed(request.id, request)
        case PostMore():
            plan_channels(tx, request, effect.channels, chats=chats)
            plan_people(tx, request, effect.people)
        case TellEnd():
            plan_end_notices(tx, request)
        case AskRequester():
            requester = [email_key(request.call.requester)] if request.call.requester else []  # as accounts know them
            plan_people(tx, request, requester, audience=Audience.REQUESTER)
        case TellApprovers():
            plan_approval_notices(tx, request, effect.people)
        case Notify():
            plan_notices(tx, request, effect.note)
        case IssueGrant() | PostCards():
            pass  # the grant is issued above; the first cards are planned when a request is opened
        case _:
            assert_never(effect)


def refresh_cards(tx: Tx, request: ConfirmationRequest) -> None:
    """Ask for every copy that is out there to show the present state."""
    if not request.card_channels:
        return
    for delivery in list_deliveries(tx, request.id):
        if delivery.message is not None and delivery.status in SEEN:
            # Where several share a message, one errand shows them all.
            enqueue(tx, Errand.REFRESH, delivery.carrier_id or delivery.id, delivery.channel)


def _save_decisions(tx: Tx, before: ConfirmationRequest, after: ConfirmationRequest) -> None:
    earlier = {decision.person: decision for decision in before.decisions}
    for decision in after.decisions:
        if earlier.get(decision.person) != decision:
            put_decision(tx, after.id, decision, replaces=decision.person in earlier)


def _record(tx: Tx, step: Step) -> None:
    if step.record is None:
        raise ValueError("a change without a record")
    request = step.request
    tx.append(
        step.record, request_id=request.id, request_version=request.version, asked_at=request.created_at, at=step.at
    )


def plan_card(
    tx: Tx,
    request: ConfirmationRequest,
    channel: str,
    chat_id: str,
    *,
    person: str | None = None,
    audience: Audience = Audience.APPROVERS,
    due_at: datetime | None = None,
) -> None:
    """Plan one card: into a chat, or, where `person` is set, into that person's own; at once, or at `due_at`."""
    delivery = Delivery(
        id=tx.ids.new("dlv"),
        request_id=request.id,
        channel=channel,
        chat_id=chat_id,
        revision=1,
        handle=tx.ids.new("h").removeprefix("h_"),
        status=DeliveryStatus.QUEUED,
        message=None,
        first_tried_at=None,
        shown_version=0,
        person=person,
        audience=audience,
    )
    plan_delivery(tx, delivery, due_at=due_at)


def plan_channels(
    tx: Tx, request: ConfirmationRequest, channels: Iterable[str], *, chats: Mapping[str, str]
) -> list[str]:
    """Plan a card for each of these channels that has none yet; return where one was planned."""
    known = {(delivery.channel, delivery.chat_id) for delivery in list_deliveries(tx, request.id)}
    planned = [name for name in channels if name in chats and (name, chats[name]) not in known]
    for name in planned:
        plan_card(tx, request, name, chats[name])
    return planned


def plan_people(
    tx: Tx,
    request: ConfirmationRequest,
    people: Iterable[str],
    *,
    audience: Audience = Audience.APPROVERS,
    channels: Iterable[str] | None = None,
    due_at: datetime | None = None,
) -> list[str]:
    """Plan a copy of their own for each person, in each of the request's channels where they can be reached.

    `channels` are others than the request's. Returns who got one, or had one already.
    """
    there = list_deliveries(tx, request.id)
    # By person: once a copy is there, its chat is no longer the account; and a chat holds one card of a request.
    known = {(each.channel, each.person): each for each in there if each.person is not None}
    taken = {(each.channel, each.chat_id) for each in there}
    reached: list[str] = []
    for person in people:
        accounts = list_of_person(tx, person)
        for channel in request.card_channels if channels is None else channels:
            account = accounts.get(channel)
            if account is None or not account.account.status.reachable:
                continue
            copy = known.get((channel, person))
            if copy is not None and copy.audience is not audience and audience is Audience.APPROVERS:
                continue  # what they have takes an answer and decides nothing
            if copy is not None:
                _try_again(tx, copy)
            elif (channel, account.account.account_id) not in taken:
                plan_card(
                    tx, request, channel, account.account.account_id, person=person, audience=audience, due_at=due_at
                )
            reached.append(person)
    return reached


def _try_again(tx: Tx, copy: Delivery) -> None:
    """Queue a copy anew that was given up; one that is there, or on its way, stays as it is."""
    if copy.status is DeliveryStatus.UNDELIVERABLE and revise(tx, copy, handle=tx.ids.new("h").removeprefix("h_")):
        enqueue(tx, Errand.POST, copy.id, copy.channel)


def plan_approval_notices(tx: Tx, request: ConfirmationRequest, people: Iterable[str]) -> None:
    """Plan to tell each of these approvers, in chats of their own, that they approved.

    Under the copy of the card that they have; where they have none, one is posted, in whatever chat they have.
    """
    for person in people:
        own = [each for each in list_deliveries(tx, request.id) if each.person == person and each.message is not None]
        for copy in own:
            enqueue(tx, Errand.NOTIFY, copy.id, copy.channel, note=approved_note())
        if not own and not plan_people(tx, request, [person]):
            plan_people(tx, request, [person], channels=sorted(list_of_person(tx, person)))


def plan_end_notices(tx: Tx, request: ConfirmationRequest) -> None:
    """Plan to tell each who is to hear it how the request ended: once, in a chat of their own.

    Under a card of their own, where they have one, for what changes a card rings no bell. Else a card that says it, in
    the first of the request's channels where they can be reached, or in whatever chat they have.
    """
    there = list_deliveries(tx, request.id)
    for person in request.hearers:
        own = [each for each in there if each.person == person]
        shown = next((each for each in own if each.message is not None and each.status in SEEN), None)
        if shown is not None:
            enqueue(tx, Errand.NOTIFY, shown.id, shown.channel, note=ended_note(request.state.value))
        elif not any(each.status is DeliveryStatus.QUEUED for each in own):
            _plan_end(tx, request, person, there)


def _plan_end(tx: Tx, request: ConfirmationRequest, person: str, there: Sequence[Delivery]) -> None:
    known = list_of_person(tx, person).items()
    accounts = {name: each.account.account_id for name, each in known if each.account.status.reachable}
    ways = [name for name in dict.fromkeys((*request.card_channels, *sorted(accounts))) if name in accounts]
    failed = {each.channel: each for each in there if each.person == person}
    taken = {(each.channel, each.chat_id) for each in there}  # a chat holds one card of a request
    fresh = [name for name in ways if name not in failed and (name, accounts[name]) not in taken]
    if fresh:
        plan_card(tx, request, fresh[0], accounts[fresh[0]], person=person, audience=Audience.REQUESTER)
    elif failed:
        _try_again(tx, next(iter(failed.values())))


def plan_notices(tx: Tx, request: ConfirmationRequest, note: str) -> None:
    """Plan a notice under every card that is out there and whose readers it is for."""
    kind, _ = parse_note(note)
    audience = Audience.APPROVERS if kind in {REMINDER, ANSWER} else Audience.REQUESTER
    for delivery in list_deliveries(tx, request.id):
        if delivery.audience is audience and delivery.status is DeliveryStatus.LIVE:
            enqueue(tx, Errand.NOTIFY, delivery.id, delivery.channel, note=note)
