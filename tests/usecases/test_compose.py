"""The card of a delivery is composed from its request and from what the file says of its tool today."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from app.domain.card import Language
from app.domain.policy import Policy
from app.domain.request import DeliveryStatus
from app.domain.rule import Then
from app.domain.seals import Seals
from app.domain.tool import Tool
from app.storage.deliveries import Delivery
from app.usecases.compose import compose
from tests.domain.samples import a_request

if TYPE_CHECKING:
    from app.ports import Channel

CHANNEL = cast("Channel", SimpleNamespace(language=Language.EN, text_budget=9_000))  # a card needs no more of it
SEALS = Seals(["x" * 40])
DELIVERY = Delivery(
    id="dlv_1",
    request_id="req_1",
    channel="chat",
    chat_id="C1",
    revision=1,
    handle="h1",
    status=DeliveryStatus.QUEUED,
    message=None,
    first_tried_at=None,
    shown_version=0,
)


@pytest.mark.parametrize(
    ("tools", "amount"),
    [({"oa__purchase_pay": Tool(name="oa__purchase_pay", money=("amount",))}, "80,000"), ({}, "80000")],
    ids=["a tool with money", "a tool that the file no longer knows"],
)
def test_money_of_the_tool_is_grouped_on_the_card(tools: dict[str, Tool], amount: str) -> None:
    policy = Policy(org="acme", version="p2", default=Then.DENY, tools=tools)
    facts = {fact.label: fact.value for fact in compose(a_request(), DELIVERY, CHANNEL, policy, SEALS).facts}
    assert facts["amount"] == amount


def test_a_secret_in_the_agents_own_words_does_not_reach_the_chat() -> None:
    request = a_request()
    talkative = replace(request, call=replace(request.call, claim="my key is AKIAIOSFODNN7EXAMPLE, pay please"))
    policy = Policy(org="acme", version="p2", default=Then.DENY)

    said = compose(talkative, DELIVERY, CHANNEL, policy, SEALS).agent_says

    assert said is not None
    assert said.value == "my key is [redacted: AWS key], pay please"
