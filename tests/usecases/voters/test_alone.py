"""Alone on the job: whoever asks approves it themselves where a rule lets them, and only while nobody else may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.card.card_for import outcome_sentence
from app.domain.people.people import Directory, Person
from app.domain.request.quorum import Stage
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.domain.text.language import Language
from app.domain.trail.told import told
from app.usecases.voters.electorate import voters_for, voters_of
from tests.domain.samples import START, a_call, a_request
from tests.fixtures.gateway import ManualClock
from tests.fixtures.second_factors import ALICE, BOB, DAVE, OLGA, Phone, enrolled, forward
from tests.requirements import requirement
from tests.usecases.voters.test_approvers import asked, claimed, facts

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

SOLO = "groups:\n  solo: [alice@acme.example]\n"
JOINED = "groups:\n  solo: [alice@acme.example, bob@acme.example]\n"
ALONE = "[{of: [solo], allow_alone: true}], assurance: L3"


async def lone(g: Gateway, stages: str = ALONE, group: str = SOLO, requester: str = ALICE) -> dict[str, Any]:
    """Let a group of one person be asked about what they asked for."""
    g.rewrite("groups:\n", group)
    return await asked(g, stages, requester=requester)


async def press(g: Gateway, request: dict[str, Any], phone: Phone, who: str = ALICE) -> dict[str, Any]:
    """Approve at L3."""
    if isinstance(g.clock, ManualClock):
        forward(g)
    return (await g.decide(request, who=who, typed=request["code"], totp=phone.next(g))).json()


@requirement("S-09")
async def test_whoever_asks_and_is_alone_approves_with_a_second_factor_and_everybody_reads_that(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    phone, request = await enrolled(g), await lone(g)
    assert request["state"] == "pending"
    assert (await g.decide(request)).json()["code"] == "step_up_needed"  # a click is not enough
    done = await press(g, request, phone)
    assert (done["state"], done["decisions"][0]["alone"]) == ("approved", True)
    assert facts(g, "request.approved")[-1]["alone"] is True
    said = [told(event.record, Language.EN) for event in await g.container.read.story("acme", request["id"])]
    assert (
        f"{ALICE} approved on api at L3, alone: it was their own, and nobody else might decide; that was enough" in said
    )
    stored = await g.container.read.get("acme", request["id"], agent=None)
    assert "alone: their own call, and nobody else may decide" in outcome_sentence(stored, Language.EN, str)
    assert "独自决定" in outcome_sentence(stored, Language.ZH, str)
    assert await claimed(g, request) == "executing"
    assert (await g.verify())[1] is None


@requirement("S-09")
async def test_without_a_word_of_it_in_the_rule_nobody_is_asked_about_their_own(gateway: Gateway) -> None:
    gateway.rewrite("groups:\n", SOLO)
    gateway.rewrite("stages: [{of: [finance]}]", "stages: [{of: [solo]}]")
    await gateway.reload()
    body = {"tool": "by_api", "arguments": {"n": 1}, "requester": ALICE}
    answer = await gateway.call("POST", "/v1/requests", body)
    assert (answer.status_code, answer.json()["decision"]) == (200, "deny")


@requirement("S-09")
@pytest.mark.parametrize(
    ("stages", "group"),
    [
        (ALONE, JOINED),
        ("[{of: [solo, dave@acme.example], allow_alone: true}], assurance: L3", SOLO),
    ],
    ids=["a colleague in the group", "somebody by name"],
)
async def test_nobody_is_alone_who_is_not(gateway: Gateway, stages: str, group: str) -> None:
    phone, request = await enrolled(gateway), await lone(gateway, stages, group)
    assert (await press(gateway, request, phone))["code"] == "not_eligible"
    assert gateway.rows("SELECT * FROM decisions") == []


@requirement("S-09", "S-23")
async def test_somebody_who_comes_before_the_press_or_before_the_call_runs_ends_it(gateway: Gateway) -> None:
    phone, request = await enrolled(gateway), await lone(gateway)
    gateway.rewrite(SOLO, JOINED)
    await gateway.reload()
    assert (await press(gateway, request, phone))["code"] == "not_eligible"
    gateway.rewrite(JOINED, SOLO)
    await gateway.reload()
    assert (await press(gateway, request, phone))["state"] == "approved"
    gateway.rewrite(SOLO, JOINED)
    await gateway.reload()
    assert await claimed(gateway, request) != "executing"
    assert (await gateway.read(request))["execution"] is None


@requirement("S-09")
async def test_an_agents_owner_is_alone_in_the_same_way_and_nobody_elses_call_is_their_own(gateway: Gateway) -> None:
    phone = await enrolled(gateway, OLGA)
    group = f"groups:\n  solo: [{OLGA}]\n"
    own = await lone(gateway, group=group, requester=DAVE)
    assert (await press(gateway, own, phone, OLGA))["state"] == "approved"


ALICE_ALONE = Directory(
    people={ALICE: Person(email=ALICE, name="Alice"), BOB: Person(email=BOB, name="Bob")},
    groups={"solo": frozenset({ALICE}), "both": frozenset({ALICE, BOB})},
)
STAGE = Stage(of=("solo",), need=1, allow_alone=True)


@requirement("S-09")
def test_only_one_person_in_all_stages_who_changed_nothing_and_handed_nothing_over_is_alone() -> None:
    policy = Policy(org="acme", version="1", default=Then.DENY, rules=(), tools={}, directory=ALICE_ALONE)
    call = a_call(requester=ALICE, owner=None)

    def alone(*stages: Stage, **more: Any) -> frozenset[str]:
        return voters_for(replace(call, **more), stages, policy, now=START).alone

    assert alone(STAGE) == {ALICE}
    assert alone(STAGE, owner=ALICE) == {ALICE}
    assert alone(STAGE, requester=BOB, owner=ALICE) == {ALICE}
    assert alone(STAGE, requester=BOB) == frozenset()  # it is not hers: she decides as anybody does
    assert alone(replace(STAGE, of=("both",))) == frozenset()
    assert alone(replace(STAGE, of=("both",)), owner=BOB) == frozenset()  # each of two might decide about the other's
    assert alone(STAGE, replace(STAGE, of=(BOB,))) == frozenset()
    assert alone(STAGE, Stage(of=("solo",), need=1)) == frozenset()
    assert alone(replace(STAGE, allow_alone=False)) == frozenset()
    assert alone(replace(STAGE, of=("nobody",))) == frozenset()
    changed = replace(a_request(stages=(STAGE,), call=call), edited_by=ALICE)
    assert voters_of(changed, policy, now=START).alone == frozenset()
