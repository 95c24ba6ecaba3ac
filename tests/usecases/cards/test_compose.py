"""The card of a delivery is composed from its request and from what the file says of its tool today."""

from __future__ import annotations

import re
from datetime import timedelta, timezone
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import msgspec
import pytest
from msgspec.structs import replace

from app.domain.call.tool import Tool
from app.domain.identity.seals import Seals
from app.domain.people.assurance import Assurance
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import DeliveryStatus, ExecutionStatus, Settlement, Status
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.domain.text.language import Language
from app.policies.file.policy_file import load_policy
from app.storage.cards.deliveries import Delivery
from app.usecases.cards.compose import compose, review_place
from tests.domain.samples import START, a_call, a_decision, a_request, approved, claimed
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.ports import Channel

SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "sk-ant-" + "api03-" + "x1Y2" * 8,
    "xoxb-1234567890-abcdefghij",
    "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "npm_" + "a1B2" * 9,
    "hf_" + "aBcD" * 8,
]
CHANNEL = cast(
    "Channel", SimpleNamespace(language=Language.EN, text_budget=9_000, opens_forms=True)
)  # a card needs no more of it
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
    [({"oa__purchase_pay": Tool(name="oa__purchase_pay", money=("amount",))}, "¥80,000.00 CNY"), ({}, "80000")],
    ids=["a tool with money", "a tool that the file no longer knows"],
)
def test_money_of_the_tool_is_grouped_on_the_card(tools: dict[str, Tool], amount: str) -> None:
    policy = Policy(org="acme", version="p2", default=Then.DENY, tools=tools)
    shown = compose(a_request(), DELIVERY, CHANNEL, policy, SEALS)
    facts = {fact.label: fact.value for fact in (*shown.highlights, *shown.facts)}
    assert facts["amount"] == amount


def test_a_secret_in_the_agents_own_words_does_not_reach_the_chat() -> None:
    request = a_request()
    talkative = replace(request, call=replace(request.call, claim="my key is AKIAIOSFODNN7EXAMPLE, pay please"))
    policy = Policy(org="acme", version="p2", default=Then.DENY)

    said = compose(talkative, DELIVERY, CHANNEL, policy, SEALS).agent_says

    assert said is not None
    assert said.value == "my key is [redacted: AWS key], pay please"


@requirement("S-37")
@pytest.mark.parametrize("place", ["memo", "deep", "title", "why", "reason", "claim", "a name"])
@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_reaches_a_card_and_the_digest_stays(secret: str, place: str) -> None:
    request = _with_secret(secret, place)

    card = compose(request, DELIVERY, CHANNEL, Policy(org="acme", version="p2", default=Then.DENY), SEALS)

    assert secret not in msgspec.json.encode(card, enc_hook=str).decode()
    assert request.digest == a_request().digest
    if place in {"memo", "deep", "a name"}:
        assert card.hidden == "Values hidden on this card: 2. The call runs with the real ones."  # and the account


def _with_secret(secret: str, place: str) -> ConfirmationRequest:
    request = a_request()
    arguments = {"memo": {"memo": f"use {secret} now"}, "deep": {"list": [{"x": secret}]}, "a name": {f"n {secret}": 1}}
    call = replace(request.call, arguments={**request.call.arguments, **arguments.get(place, {})})
    if place == "claim":
        call = replace(call, claim=f"with {secret}")
    if place == "reason":
        settlement = Settlement(at=START, by="ann@acme.example", reason=f"you sent {secret}", via=None)
        return replace(request, status=Status.DENIED, settlement=settlement)
    texts = {place: f"Pay with {secret}"} if place in {"title", "why"} else {}
    return replace(request, call=call, **texts)


@requirement("S-37")
def test_an_argument_named_like_a_secret_is_hidden_and_an_account_that_people_compare_is_not() -> None:
    request = a_request()
    arguments = {**request.call.arguments, "api_key": "correct-horse-battery", "account": "4111111111111111"}
    call = replace(request.call, arguments=arguments)

    card = compose(
        replace(request, call=call), DELIVERY, CHANNEL, Policy(org="a", version="p", default=Then.DENY), SEALS
    )

    shown = {fact.label: fact.value for fact in card.arguments}
    assert shown["api_key"] == "[redacted: secret value]"
    assert shown["account"] == "4111111111111111"
    assert card.buttons is not None
    assert card.buttons.approve is not None


def test_dates_are_those_of_the_file_s_zone() -> None:
    policy = Policy(org="acme", version="p2", default=Then.DENY, zone=timezone(timedelta(hours=8)))
    card = compose(a_request(), DELIVERY, CHANNEL, policy, SEALS)
    assert card.until is not None
    assert card.until.value.startswith("18:30 · ")
    assert card.details[-1].value == "2026-03-01 18:30 UTC+8 (30 min from being asked)"


def test_a_call_too_long_for_a_card_says_where_it_is_seen_whole() -> None:
    request = a_request(call=a_call(arguments={"payee": "Acme", "memo": "m" * 20_000}))
    card = compose(request, DELIVERY, CHANNEL, Policy(org="acme", version="p2", default=Then.DENY), SEALS)
    assert card.withheld is not None
    assert card.withheld.endswith(review_place(request, Language.EN))
    assert request.id in card.withheld


def test_the_configuration_on_the_page_about_cards_gives_the_card_it_tells_of() -> None:
    page = (ROOT / "docs/cards.md").read_text(encoding="utf-8")
    shown = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    policy = load_policy(shown[1], environ={}, channel_types={}).policy
    card = compose(a_request(), DELIVERY, CHANNEL, policy, SEALS)
    assert [fact.value for fact in card.highlights] == ["¥80,000.00 CNY", "Acme Ltd"]
    assert card.until is not None
    assert card.until.value == "18:30 · then not paid"


@requirement("F-72")
def test_with_a_page_no_card_sends_anybody_to_a_terminal() -> None:
    """What a card cannot do, the page behind its button or its link can."""
    policy = Policy(org="acme", version="p2", default=Then.DENY, url="https://gate.example")
    long = a_request(call=a_call(arguments={"payee": "Acme", "memo": "m" * 20_000}))
    second = a_request(assurance=Assurance.L3, stages=(Stage(of=("finance",), need=1),))
    approved_own = replace(
        approved(), assurance=Assurance.L3, decisions=(a_decision("ann@acme.example", Verdict.APPROVE),)
    )
    for request in (long, second, approved_own):
        card = compose(request, replace(DELIVERY, person="ann@acme.example"), CHANNEL, policy, SEALS)
        said = " ".join([card.withheld or "", *card.warnings])
        assert said.strip()
        assert "terminal" not in said
        assert "See all of it" in said or f"https://gate.example/r/{request.id}" in said
    assert "approve it there" in str(compose(long, DELIVERY, CHANNEL, policy, SEALS).withheld)


@requirement("F-72")
def test_an_unknown_outcome_says_where_and_how_to_look() -> None:
    policy = Policy(org="acme", version="p2", default=Then.DENY)
    request = claimed(ExecutionStatus.UNKNOWN)
    card = compose(request, DELIVERY, CHANNEL, policy, SEALS)
    [look] = [fact.value for fact in card.facts if fact.label == "Where to look"]
    assert request.call.tool in look
    assert f"assent requests reconcile {request.id}" in look
    assert "before anybody repeats it" in str(card.outcome)
    done = compose(claimed(ExecutionStatus.SUCCEEDED), DELIVERY, CHANNEL, policy, SEALS)
    assert "Where to look" not in [fact.label for fact in done.facts]


def test_a_sub_agent_is_named_beside_its_agent() -> None:
    policy = Policy(org="acme", version="p2", default=Then.DENY)
    card = compose(a_request(call=a_call(sub_agent="researcher\u202e")), DELIVERY, CHANNEL, policy, SEALS)
    assert card.facts[0].value.startswith("agent payer, sub-agent researcher\\u{202E}")
