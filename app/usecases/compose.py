"""Compose the card of one delivery: the request as it stands, in its channel's language, with sealed buttons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.decision import Verdict
from app.domain.present import card_for
from app.domain.quorum import count
from app.domain.seals import Place
from app.domain.visible import visible
from app.usecases.decide import name_of
from app.usecases.electorate import voters_of
from assent.ready.redact import redact

if TYPE_CHECKING:
    from app.domain.card import Card
    from app.domain.policy import Policy
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import Seals
    from app.ports import Channel
    from app.storage.deliveries import Delivery


def place_of(request: ConfirmationRequest, delivery: Delivery) -> Place:
    """Return what the buttons of this delivery are bound to."""
    return Place(
        org=request.call.org,
        request_id=request.id,
        digest=request.digest,
        revision=delivery.revision,
        channel=delivery.channel,
        chat_id=delivery.chat_id,
    )


def compose(request: ConfirmationRequest, delivery: Delivery, channel: Channel, policy: Policy, seals: Seals) -> Card:
    """Build the card that this delivery should show now."""
    tokens = tally = None
    if not request.status.final:
        place = place_of(request, delivery)
        tokens = (
            seals.token(Verdict.APPROVE, delivery.handle, place),
            seals.token(Verdict.DENY, delivery.handle, place),
        )
        voters = voters_of(request.stages, request.barred, policy.directory)
        tally = count(request.stages, request.decisions, voters)
    tool = policy.tools.get(request.call.tool)
    return card_for(
        _without_secrets(request),
        language=channel.language,
        revision=delivery.revision,
        tally=tally,
        tokens=tokens,
        budget=channel.text_budget,
        name_of=lambda email: visible(name_of(policy, email)),
        money=tool.money if tool else (),
    )


def _without_secrets(request: ConfirmationRequest) -> ConfirmationRequest:
    """Take what has the shape of a secret out of the agent's own words: a chat is no place for one.

    The arguments stay as they are. They are what is approved, and the file says which of them are sensitive.
    """
    if not request.call.claim:
        return request
    return replace(request, call=replace(request.call, claim=str(redact(request.call.claim)[0])))
