"""Compose the card of one delivery: the request as it stands, in its channel's language, with sealed buttons."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from app.domain.decision import Verdict
from app.domain.present import card_for
from app.domain.quorum import count
from app.domain.seals import Place
from app.domain.shown import Terms
from app.domain.visible import visible
from app.domain.words import say
from app.usecases.decide import name_of
from app.usecases.electorate import voters_shown
from assent.ready.redact import redact
from assent.ready.redact_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.canonical import JsonValue
    from app.domain.card import Card, Language
    from app.domain.policy import Policy
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import Seals
    from app.ports import Channel
    from app.storage.deliveries import Delivery

# The number of a card or account is what people compare before they pay; the file says where it is sensitive.
_IN_ARGUMENTS = tuple(shape for shape in SHAPES if shape.name != "card-number")

_BY_NAME = "assignment"  # the shape that also goes by the names of arguments


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


def compose(
    request: ConfirmationRequest,
    delivery: Delivery,
    channel: Channel,
    policy: Policy,
    seals: Seals,
) -> Card:
    """Build the card that this delivery should show now."""
    tokens = tally = None
    if not request.status.final:
        place = place_of(request, delivery)
        tokens = (
            seals.token(Verdict.APPROVE, delivery.handle, place),
            seals.token(Verdict.DENY, delivery.handle, place),
        )
        tally = count(request.stages, request.decisions, voters_shown(request, policy))
    tool = policy.tools.get(request.call.tool)
    terms = Terms(
        language=channel.language,
        name_of=lambda email: visible(name_of(policy, email)),
        zone=policy.zone,
        money=tool.money if tool else (),
        visible_arguments=without_secrets(request.call.arguments),
        review=review_place(request, channel.language),
    )
    shown = _around(request)
    return card_for(shown, terms, revision=delivery.revision, tally=tally, tokens=tokens, budget=channel.text_budget)


def without_secrets(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return arguments without what has the shape or the name of a secret."""
    # Most calls have nothing of the kind: one look over the whole spares a look at each text for each shape.
    text = json.dumps(arguments, ensure_ascii=False).lower()
    likely = [shape for shape in _IN_ARGUMENTS if shape.name == _BY_NAME or any(hint in text for hint in shape.hints)]
    return cast("dict[str, JsonValue]", redact(dict(arguments), shapes=likely)[0])


def review_place(request: ConfirmationRequest, language: Language) -> str:
    """Say where a call that no card can carry is seen whole: for want of a page, through the gateway's API."""
    return say(language, "withheld.review", request=request.id)


def _around(request: ConfirmationRequest) -> ConfirmationRequest:
    """Take what has the shape of a secret out of the texts around the call: a chat is no place for one.

    The arguments themselves stay: they are what is approved, and what is hidden of them is counted (`Terms`).
    """
    call, settlement = request.call, request.settlement
    return replace(
        request,
        call=replace(call, claim=_clean(call.claim)) if call.claim else call,
        title=_clean(request.title),
        why=_clean(request.why),
        settlement=replace(settlement, reason=_clean(settlement.reason))
        if settlement and settlement.reason
        else settlement,
    )


def _clean(text: str) -> str:
    return str(redact(text)[0])
