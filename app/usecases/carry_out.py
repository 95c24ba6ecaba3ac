"""Carry out a step in its transaction: the guarded save, the audit event, and what must happen after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from app.domain.effect import IssueGrant, PostCards, RefreshCards, Wake
from app.domain.execution import issue
from app.domain.request import DeliveryStatus
from app.domain.tool_call import attach_key
from app.storage.decisions import put_decision
from app.storage.deliveries import Delivery, insert_delivery, list_deliveries
from app.storage.executions import save_execution, save_grant
from app.storage.outbox import Errand, enqueue
from app.storage.requests import insert_request, save_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.lifecycle import Step
    from app.domain.request import ConfirmationRequest
    from app.storage.transaction import Tx


def open_request(tx: Tx, step: Step, *, targets: Mapping[str, str]) -> None:
    """Write a new request with its cards. `targets` maps each of its channels to the chat its cards go to."""
    request = step.request
    insert_request(tx, request, attach_key=attach_key(request.call, request.call_digest))
    _record(tx, step)
    for effect in step.effects:
        match effect:
            case PostCards():
                for channel in request.card_channels:
                    _plan_card(tx, request, channel, targets[channel])
            case IssueGrant() | RefreshCards() | Wake():
                pass  # nothing waits for, or shows, a request that is just being opened


def carry_out(tx: Tx, before: ConfirmationRequest, step: Step) -> ConfirmationRequest:
    """Write what a step changed and return the request as it now stands.

    The writes are guarded: if a row is not the one the step was decided on, the store runs the unit again.
    """
    after = step.request
    if after.version == before.version:
        return after
    for effect in step.effects:
        if isinstance(effect, IssueGrant):
            after = issue(after, grant_id=tx.ids.new("gra"), not_after=effect.not_after)
    save_request(tx, before, after, attach_key=attach_key(after.call, after.call_digest))
    save_grant(tx, after.id, before.grant, after.grant)
    save_execution(tx, after, before.execution, after.execution)
    _save_decisions(tx, before, after)
    _record(tx, step)
    for effect in step.effects:
        match effect:
            case RefreshCards():
                refresh_cards(tx, after)
            case Wake():
                tx.changed(after.id)
            case IssueGrant() | PostCards():
                pass  # the grant is issued above; cards are planned when a request is opened
            case _:
                assert_never(effect)
    return after


def refresh_cards(tx: Tx, request: ConfirmationRequest) -> None:
    """Ask for every copy that is out there to show the present state."""
    if not request.card_channels:
        return
    for delivery in list_deliveries(tx, request.id):
        if delivery.message is not None and delivery.status in {DeliveryStatus.LIVE, DeliveryStatus.RETIRED}:
            enqueue(tx, Errand.REFRESH, delivery.id, delivery.channel)


def _save_decisions(tx: Tx, before: ConfirmationRequest, after: ConfirmationRequest) -> None:
    earlier = {decision.person: decision for decision in before.decisions}
    for decision in after.decisions:
        if earlier.get(decision.person) != decision:
            put_decision(tx, after.id, decision, replaces=decision.person in earlier)


def _plan_card(tx: Tx, request: ConfirmationRequest, channel: str, chat_id: str) -> None:
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
    )
    insert_delivery(tx, delivery)
    enqueue(tx, Errand.POST, delivery.id, channel)


def _record(tx: Tx, step: Step) -> None:
    if step.record is None:
        raise ValueError("a change without a record")
    tx.append(step.record, request_id=step.request.id, request_version=step.request.version)
