"""Approvers by what they are to a call: the requester's manager, the requester, the agent's owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.fixtures.gateway import ACME
from tests.fixtures.memory_platform import MemorySettings
from tests.fixtures.specs import a_spec

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway

ALICE, BOB, DAVE, OLGA, RITA = (f"{name}@acme.example" for name in ("alice", "bob", "dave", "olga", "rita"))
RULE = "{id: pay, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}"
PEOPLE = "{name: Rita, memory: U_RITA}"
MANAGED = "{name: Rita, memory: U_RITA, manager: dave@acme.example}"


async def staged(gateway: Gateway, stages: str, rita: str = MANAGED) -> None:
    """Let payments be approved by these stages."""
    gateway.rewrite(PEOPLE, rita)
    gateway.rewrite(RULE, RULE.replace("[{of: [finance]}]", stages))
    await gateway.reload()


async def submitted(gateway: Gateway, **said: Any) -> httpx2.Response:
    body = {"tool": "pay", "arguments": {"payee": "Acme Ltd", "amount": 5}, **said}
    return await gateway.call("POST", "/v1/requests", body)


async def test_the_manager_approves_first_and_then_finance_and_nobody_else_in_their_places(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    await staged(g, "[{of: [manager]}, {of: [finance]}]")
    request = await g.ask(requester=RITA)
    assert {message.ref.chat_id for message in g.platform.of(request["id"])} == {"C1", "U_DAVE"}
    assert "the requester's manager" in repr(g.card(request).card)
    assert (await g.decide(request, who=RITA)).json()["code"] == "not_eligible"
    assert (await g.decide(request, who=ALICE)).json()["state"] == "pending"
    assert (await g.decide(request, who=DAVE)).json()["state"] == "approved"
    assert (await g.claim(request)).status_code == 200


async def test_who_is_the_manager_is_asked_of_the_file_at_each_vote_and_when_it_is_claimed(gateway: Gateway) -> None:
    await staged(gateway, "[{of: [manager]}]")
    first, second = await gateway.ask(requester=RITA), await gateway.ask(arguments={"amount": 7}, requester=RITA)
    assert (await gateway.decide(first, who=DAVE)).json()["state"] == "approved"
    gateway.rewrite("manager: dave@acme.example", "manager: bob@acme.example")
    await gateway.reload()
    assert (await gateway.decide(second, who=DAVE)).json()["code"] == "not_eligible"
    assert (await gateway.decide(second, who=BOB)).json()["state"] == "approved"
    refused = await gateway.claim(first)
    assert (refused.status_code, (await gateway.read(first))["state"]) == (409, "lapsed")


@pytest.mark.parametrize(
    ("said", "rita", "why"),
    [
        ({}, MANAGED, "no manager is known: the call names no requester"),
        ({"requester": RITA}, PEOPLE, f"no manager of {RITA} is known: people has no `manager` for them"),
        ({"requester": "x@else.example"}, MANAGED, "no manager of x@else.example is known: they are not in people"),
        ({"requester": RITA}, MANAGED.replace("dave", "olga"), ""),  # the agent is hers
    ],
)
async def test_without_a_manager_who_may_it_is_refused_at_once_and_says_why(
    gateway: Gateway, said: dict[str, Any], rita: str, why: str
) -> None:
    await staged(gateway, "[{of: [manager]}, {of: [finance]}]", rita)
    answer = (await submitted(gateway, **said)).json()
    assert answer["decision"] == "deny"
    assert "Nobody who may approve this is left" in answer["reason"]
    assert why in answer["reason"]
    assert gateway.platform.messages == []


async def test_where_others_may_as_well_the_missing_manager_keeps_nobody_from_it(gateway: Gateway) -> None:
    await staged(gateway, "[{of: [manager, finance]}]", PEOPLE)
    request = await gateway.ask(requester=RITA)
    assert (await gateway.decide(request, who=ALICE)).json()["state"] == "approved"


async def test_requester_and_owner_approve_their_own_where_the_stage_says_both(gateway: Gateway) -> None:
    stage = "{of: [requester], allow_requester: true}, {of: [owner], allow_owner: true}"
    await staged(gateway, f"[{stage}]")
    request = await gateway.ask(requester=RITA)
    assert (await gateway.decide(request, who=ALICE)).json()["code"] == "not_eligible"
    assert (await gateway.decide(request, who=RITA)).json()["state"] == "pending"
    assert (await gateway.decide(request, who=OLGA)).json()["state"] == "approved"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "[{of: [finance]}], channels: [chat], timeout: 30m",
            "[{of: [requester]}], channels: [chat]",
            '"requester" may',
        ),
        ("[{of: [finance]}], channels: [chat], timeout: 30m", "[{of: [owner]}], channels: [chat]", '"owner" may not'),
        (
            "[{of: [finance]}], channels: [chat], timeout: 30m",
            "[{of: [manager], need: 2}], channels: [chat]",
            "needs 2 people, but there are only 1",
        ),
        (PEOPLE, PEOPLE.replace("}", ", manager: rita@acme.example}"), "nobody is their own manager"),
        (PEOPLE, PEOPLE.replace("}", ", manager: nobody@acme.example}"), 'unknown person "nobody@acme.example"'),
        ("  legal: [dave", "  manager: [dave", '"manager" is a word of its own'),
    ],
)
def test_what_can_never_be_met_or_means_two_things_is_a_fault_of_the_file(
    tmp_path: Path, old: str, new: str, fault: str
) -> None:
    assert old in ACME
    path = tmp_path / "assent.yaml"
    path.write_text(ACME.replace(old, new, 1))
    with pytest.raises(PolicyFaultsError, match=fault):
        load_policy(path, environ={}, channel_types={"memory": a_spec("memory", MemorySettings)})
