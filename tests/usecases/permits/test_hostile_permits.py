"""Permissions given beforehand, under attack: each call is judged again before it runs, and nobody passes their own."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from app.domain.identity.api_key import Scope
from app.storage.engine.dialect import to_us
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS
from tests.fixtures.standing import (
    ALICE,
    BOB,
    DAVE,
    OLGA,
    PAY,
    RITA,
    approved,
    break_glass,
    break_it,
    confirm,
    propose,
    standing,
    submit,
    write_standing,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

WIRE = {"payee": "Acme Ltd", "amount": "400", "currency": "CNY"}
MORE = {**WIRE, "amount": "500"}
RULES = "rules:\n"
UPDATE = "UPDATE standing_approvals SET status = 'revoked', revoked_by = 'x', revoked_at = 1 WHERE id = %s"
TWO_PEOPLE = """\
rules:
  - {id: two, tools: [wire], when: 'amount(args.amount) == amount("500")', then: ask, channels: [api],
     stages: [{of: [finance], need: 2}]}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose rules permit standing approvals."""
    return write_standing(tmp_path)


@requirement("S-26", "S-27")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (RULES, "rules:\n  - {id: cap, tools: [wire], when: 'amount(args.amount) == amount(\"500\")', then: deny}\n"),
        (RULES, TWO_PEOPLE),
        (
            "bob@acme.example: {name: Bob, memory: U_BOB}",
            "bob@acme.example: {name: Bob, memory: U_BOB, limit: 450 CNY}",
        ),
        ("payee: payee}, enforced: true}", "payee: payee}, enforced: true, requires_confirmation: true}"),
    ],
)
async def test_what_a_standing_approval_let_through_is_judged_again_by_its_own_arguments_before_it_runs(
    gateway: Gateway, old: str, new: str
) -> None:
    await standing(gateway, await approved(gateway, "wire", WIRE))
    request = (await submit(gateway, "wire", MORE))["request"]
    assert (request["state"], request["allowed_by"][:13]) == ("approved", "standing:sta_")
    gateway.rewrite(old, new)
    await gateway.reload()
    said = await gateway.claim(request, who="executor")
    assert (said.status_code, said.json()["code"]) == (409, "not_approved"), said.text
    assert gateway.rows("SELECT id FROM executions WHERE request_id = '" + request["id"] + "'") == []


@requirement("S-50", "S-27")
async def test_a_broken_glass_runs_nothing_that_todays_rules_deny(gateway: Gateway) -> None:
    await break_glass(gateway, tools=["wire"])
    request = (await submit(gateway, "wire", WIRE))["request"]
    assert request["state"] == "approved"
    gateway.rewrite(
        RULES, "rules:\n  - {id: stop, tools: [wire], when: 'amount(args.amount) == amount(\"400\")', then: deny}\n"
    )
    await gateway.reload()
    said = await gateway.claim(request, who="executor")
    assert (said.status_code, said.json()["code"]) == (409, "not_approved"), said.text


@requirement("S-50", "S-09")
async def test_who_asked_for_a_call_or_owns_its_agent_does_not_let_it_through_by_breaking_the_glass(
    gateway: Gateway,
) -> None:
    body = {"reason": "stuck", "tools": ["pay"], "minutes": 20}
    asked = await gateway.call("POST", "/v1/break-glass", body, who=OLGA)  # she answers for agent:shop
    await break_it(gateway, asked.json(), who=BOB)
    request = (await submit(gateway, "pay"))["request"]
    assert (request["state"], request["allowed_by"]) == ("pending", None)


@requirement("S-50", "S-09")
async def test_neither_does_the_requester(gateway: Gateway) -> None:
    await break_glass(gateway)
    request = (await submit(gateway, "pay", requester="Alice@Acme.example"))["request"]
    assert (request["state"], request["allowed_by"]) == ("pending", None)
    other = (await submit(gateway, "pay", requester=RITA))["request"]
    assert other["state"] == "approved"


@requirement("S-31", "S-50")
async def test_a_payment_that_nobody_approved_makes_nobody_known(gateway: Gateway) -> None:
    g = gateway
    await break_glass(g, tools=["wire"])
    request = (await submit(g, "wire", WIRE))["request"]
    assert (await g.claim(request, who="executor")).status_code == 200
    done: dict[str, Any] = {"claim_id": "claim-1", "status": "succeeded"}
    assert (await g.call("POST", f"/v1/requests/{request['id']}/outcome", done, who="executor")).status_code == 200
    path = f"/v1/break-glass/{request['allowed_by'].removeprefix('standing:')}/end"
    assert (await g.call("POST", path, {}, who=ALICE)).status_code == 200
    asked = (await submit(g, "wire", {**WIRE, "amount": "1"}))["request"]
    assert [each["kind"] for each in asked["cautions"]] == ["first_payee"]


TWO_STAGES = """\
  - {id: both, tools: [memo], then: ask, stages: [{of: [finance]}, {of: [legal]}], channels: [api],
     standing: {lasts: 1h, uses: 3, same: [to]}}
  - {id: note, tools: [note], then: ask"""


@requirement("S-26", "S-23")
async def test_two_people_who_are_not_all_whom_the_rule_asks_make_no_standing_approval(gateway: Gateway) -> None:
    g = gateway
    g.rewrite("  crisis:", "  legal: [dave@acme.example, alice@acme.example]\n  crisis:")
    g.rewrite("  - {id: note, tools: [note, memo], then: ask", TWO_STAGES)
    await g.reload()
    request = await g.ask("memo", {"to": "desk"})
    assert (await g.decide(request, who=RITA)).status_code == 200
    assert (await g.decide(request, who=DAVE)).json()["state"] == "approved"
    terms: dict[str, Any] = {"lasts_seconds": 3_600, "uses": 3, "each": None, "total": None}
    finance = (await propose(g, request, who=BOB, **terms)).json()
    refused = await confirm(g, finance, who=RITA)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_eligible"), refused.text
    assert (await confirm(g, finance, who=DAVE)).json()["state"] == "active"
    assert (await submit(g, "memo", {"to": "desk", "text": "a"}))["decision"] == "allow"
    g.rewrite("legal: [dave@acme.example, alice@acme.example]", "legal: [alice@acme.example]")
    await g.reload()
    assert (await submit(g, "memo", {"to": "desk", "text": "b"}))["decision"] == "ask"


@requirement("S-26")
async def test_a_permission_from_before_a_restore_lets_nothing_through_though_the_clearing_up_was_cut_off(
    gateway: Gateway,
) -> None:
    g = gateway
    await standing(g)
    await break_glass(g)
    assert (await submit(g))["decision"] == "allow"
    statement = "INSERT INTO restores (epoch, restored_by, restored_at, reason) VALUES (1, 'cli:x', ?, 'half done')"
    with sqlite3.connect(g.url.removeprefix("sqlite:///")) as database:
        database.execute(statement, (to_us(g.clock.now()),))
    request = (await submit(g, arguments={**PAY, "amount": "401"}))["request"]
    assert (request["state"], request["allowed_by"]) == ("pending", None)


@requirement("S-01", "S-10")
async def test_an_evaluation_run_is_not_let_past_the_executor(gateway: Gateway) -> None:
    g = gateway
    made = await g.container.keys.create(org="acme", scope=Scope.EVALUATION, label="eval", agent="shop", person=OLGA)
    g.keys["acme/evaluation"] = made.text
    said = await submit(g, "wire", WIRE, who="evaluation", evaluation=True)
    assert said["decision"] == "deny", said
    assert "executor" in said["reason"]
    g.rewrite("- {id: note,", "- {id: pings, tools: [unsay], then: allow}\n  - {id: note,")
    g.rewrite("unsay: {irreversible: true}", "unsay: {irreversible: true, enforced: true}")
    await g.reload()
    assert (await submit(g, "unsay", {}, who="evaluation", evaluation=True))["decision"] == "deny"


@requirement("S-01", "S-27")
async def test_an_approval_of_before_does_not_let_an_agent_run_what_only_an_executor_runs_by_now(
    gateway: Gateway,
) -> None:
    g = gateway
    request = await g.ask("unsay", {"n": 1})
    assert (await g.decide(request, who=RITA)).json()["state"] == "approved"
    g.rewrite("unsay: {irreversible: true}", "unsay: {irreversible: true, enforced: true}")
    await g.reload()
    said = await g.claim(request)
    assert (said.status_code, said.json().get("code")) == (409, "not_approved"), said.text
    assert "executor" in said.json()["detail"]
    assert (await g.read(request))["state"] == "lapsed"


async def _until_it_waits(g: Gateway, claim: asyncio.Task[Any]) -> None:
    while not claim.done() and not g.rows("SELECT 1 FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110
        await asyncio.sleep(0.002)


@requirement("S-26", "S-27")
async def test_no_claim_slips_through_while_a_standing_approval_is_being_revoked(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(postgres_url, config, platform) as g:
        grant = await standing(g, await approved(g, "wire", WIRE))
        request = (await submit(g, "wire", MORE))["request"]
        await g.key("executor")
        async with await psycopg.AsyncConnection.connect(postgres_url) as revoking:
            await revoking.execute("SET assent.org = 'acme'")
            done = await revoking.execute(UPDATE, (grant["id"],))
            assert done.rowcount == 1
            claim = asyncio.create_task(g.claim(request, who="executor"))
            async with asyncio.timeout(HANGS):
                await _until_it_waits(g, claim)
            await revoking.commit()
            said = await claim
        assert (said.status_code, said.json().get("code")) == (409, "not_approved"), said.text
