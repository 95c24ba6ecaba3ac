"""Only an approval of exactly this call releases it, to exactly this agent, exactly once."""

from __future__ import annotations

import asyncio
import copy
import json
import unicodedata
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import assent
from app.domain.call.tool_call import ToolCall, binding_digest
from app.domain.lifecycle.execution import claim
from app.domain.lifecycle.lifecycle import NobodyReachable, advance
from app.domain.request.decision import Evidence, Verdict
from app.domain.text.canonical import canonical
from app.storage.requests.requests import lock_request
from app.usecases.deciding.decide import decide
from app.usecases.writing.carry_out import carry_out
from tests.fixtures.examples import examples
from tests.fixtures.gateway import PAY
from tests.fixtures.patience import eventually
from tests.fixtures.web_app import Dated
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway


async def _denied(g: Gateway) -> dict[str, Any]:
    request = await g.ask("by_api")
    await g.decide(request, "deny")
    return request


async def _expired(g: Gateway) -> dict[str, Any]:
    request = await g.ask("by_api")
    await g.advance(timedelta(minutes=30))
    return request


async def _cancelled(g: Gateway) -> dict[str, Any]:
    request = await g.ask("by_api")
    await g.call("POST", f"/v1/requests/{request['id']}/cancel", {})
    return request


async def _approved(g: Gateway, **more: Any) -> dict[str, Any]:
    request = await g.ask("by_api", **more)
    await g.decide(request)
    return request


@requirement("S-01")
@pytest.mark.parametrize(
    ("case", "status", "code"),
    [
        ("pending", 409, "not_approved"),
        ("denied", 409, "not_approved"),
        ("expired", 409, "not_approved"),
        ("cancelled", 409, "not_approved"),
        ("another agent", 404, "not_found"),
        ("another org", 404, "not_found"),
        ("another call's digest", 409, "digest_mismatch"),
        ("random bytes", 409, "digest_mismatch"),
    ],
)
@pytest.mark.sampled(3)
async def test_nothing_is_claimed_without_an_approval_of_exactly_this(
    gateway: Gateway, case: str, status: int, code: str
) -> None:
    g = gateway
    who, org, digest = "agent:shop", "acme", None
    match case:
        case "pending":
            request = await g.ask("by_api")
        case "denied":
            request = await _denied(g)
        case "expired":
            request = await _expired(g)
        case "cancelled":
            request = await _cancelled(g)
        case "another agent":
            request, who = await _approved(g), "agent:other"
        case "another org":
            request, org = await _approved(g), "globex"
        case "another call's digest":
            request, digest = await _approved(g), (await _approved(g, arguments={"n": 2}))["digest"]
        case _:
            request, digest = await _approved(g), "ab" * 32
    said = await g.claim(request, who=who, org=org, **({"digest": digest} if digest else {}))
    assert (said.status_code, said.json()["code"]) == (status, code)
    assert not g.rows("SELECT * FROM executions")
    assert not g.rows("SELECT * FROM grants WHERE status = 'consumed'")


@requirement("S-01")
@pytest.mark.parametrize("end", ["deny", "expire", "cancel", "undeliverable", "stolen", "unknown tool"])
async def test_the_sdks_guard_never_runs_the_tool_then(gateway: Gateway, end: str) -> None:
    g = gateway
    key = (await g.key("agent:shop"))["authorization"].removeprefix("Bearer ")
    ran: list[object] = []
    client = assent.AsyncGateway("http://127.0.0.1", key, session="s1", transport=Dated(g))

    @assent.guarded(client, tool="nothing" if end == "unknown tool" else "by_api")
    async def pay(n: int) -> None:
        ran.append(n)

    async def meanwhile() -> None:
        if end == "unknown tool":
            return
        await eventually(lambda: g.rows("SELECT id FROM requests"))
        request = (await g.call("GET", "/v1/requests")).json()["items"][0]
        match end:
            case "deny":
                await g.decide(request, "deny")
            case "expire":
                await g.advance(timedelta(minutes=30))
            case "cancel":
                await g.call("POST", f"/v1/requests/{request['id']}/cancel", {})
            case "undeliverable":
                await g.container.store.write(lambda tx: _unreachable(tx, request["id"]), org="acme")
            case _:
                await g.container.store.write(lambda tx: _approved_and_stolen(g, tx, request["id"]), org="acme")

    async with client, asyncio.TaskGroup() as group:
        group.create_task(meanwhile())
        with pytest.raises(assent.NotApprovedError):
            await pay(7)
    assert ran == []


def _approved_and_stolen(g: Gateway, tx: Tx, request_id: str) -> None:
    """Approve, and claim under another name, at one instant: the guard must find the approval spent."""
    locked = lock_request(tx, request_id)
    assert locked is not None
    decided = decide(
        tx,
        *locked,
        g.container.book.current("acme"),
        person="alice@acme.example",
        verdict=Verdict.APPROVE,
        reason=None,
        evidence=Evidence(channel="api"),
    )
    step = claim(decided.request, execution_id="exe_1", claim_id="thief", by="agent:shop", now=locked[1])
    carry_out(tx, decided.request, step)


def _unreachable(tx: Tx, request_id: str) -> None:
    locked = lock_request(tx, request_id)
    assert locked is not None
    carry_out(tx, locked[0], advance(locked[0], NobodyReachable(why="no such chat"), now=locked[1]))


# --- S-02 -------------------------------------------------------------------------------------------------------------

BOUND: dict[str, Any] = {
    "payee": "Café Zürich",
    "amount": 8_000_000,
    "currency": "CNY",
    "iban": "DE89370400440532013000",
    "urgent": True,
    "lines": [{"sku": "a-1", "count": 1}, {"sku": "b-2", "count": 12}],
    "memo": None,
}


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    match value:
        case dict():
            return [leaf for key, member in value.items() for leaf in _leaves(member, (*path, key))]
        case list():
            return [leaf for index, member in enumerate(value) for leaf in _leaves(member, (*path, index))]
        case _:
            return [path]


def _changed(value: Any, how: int) -> Any:
    """Change a leaf as little as can be; the type may change, the text may only look the same."""
    match value:
        case bool():
            return [not value, int(value), str(value).lower()][how % 3]
        case int():
            return [value + 1, value - 1, str(value), value + 0.5, -value][how % 5]
        case str():
            return [
                value + " ",
                value[:-1] + chr(ord(value[-1]) ^ 1),
                value.swapcase(),
                unicodedata.normalize("NFD", value) if not value.isascii() else value + "\u200b",
                value[1:],
            ][how % 5]
        case _:
            return ["", 0, False, []][how % 4]


def _call(arguments: dict[str, Any], tool: str = "pay") -> ToolCall:
    return ToolCall(
        org="acme",
        agent="shop",
        session=None,
        call_id=None,
        tool=tool,
        arguments=arguments,
        requester=None,
        owner="olga@acme.example",
        claim=None,
    )


def _digest(arguments: dict[str, Any]) -> str:
    at = datetime.fromisoformat("2026-03-01T10:30:00+00:00")
    return binding_digest(_call(arguments), request_id="req_1", nonce="n_1", policy_version="v1", expires_at=at)


@requirement("S-02")
@settings(max_examples=examples(400))
@given(leaf=st.sampled_from(_leaves(BOUND)), how=st.integers(0, 59), kind=st.sampled_from(["change", "add", "remove"]))
@pytest.mark.heavy
def test_one_changed_leaf_is_another_digest(leaf: tuple[Any, ...], how: int, kind: str) -> None:
    mutated = copy.deepcopy(BOUND)
    inner: Any = mutated
    for step in leaf[:-1]:
        inner = inner[step]
    match kind:
        case "change":
            inner[leaf[-1]] = _changed(inner[leaf[-1]], how)
        case "remove":
            del inner[leaf[-1]]
        case _ if isinstance(inner, dict):
            inner[f"{leaf[-1]} "] = inner[leaf[-1]]
        case _:
            inner.append(inner[leaf[-1]])
    assert _digest(mutated) != _digest(BOUND)


@requirement("S-02")
async def test_a_digest_over_changed_arguments_is_refused_and_the_stored_ones_are_handed_out(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("by_api", BOUND)
    row = g.rows(f"SELECT * FROM requests WHERE id = '{request['id']}'")[0]
    await g.decide(request)
    call = _call(BOUND, "by_api")
    bound = {
        "request_id": request["id"],
        "nonce": row["nonce"],
        "policy_version": row["policy_version"],
        "expires_at": datetime.fromisoformat(request["expires_at"]),
    }
    assert binding_digest(call, **bound) == request["digest"]  # the attacker knows everything
    for leaf in _leaves(BOUND):
        forged = copy.deepcopy(BOUND)
        inner: Any = forged
        for step in leaf[:-1]:
            inner = inner[step]
        inner[leaf[-1]] = _changed(inner[leaf[-1]], 0)
        digest = binding_digest(replace(call, arguments=forged), **bound)
        said = await g.claim(request, digest=digest)
        assert (said.status_code, said.json()["code"]) == (409, "digest_mismatch"), leaf
    assert (await g.claim(request)).json()["arguments"] == BOUND


@requirement("S-02")
async def test_order_and_white_space_make_no_difference(gateway: Gateway) -> None:
    first = await gateway.ask("by_api", BOUND, session="s1")
    shuffled = dict(reversed(list(BOUND.items())))
    text = json.dumps({"session": "s1", "arguments": shuffled, "tool": "by_api"}, indent=3).encode()
    assert canonical(json.loads(text)["arguments"]) == canonical(BOUND)
    said = await gateway.http.post("/v1/requests", content=text, headers=await gateway.key("agent:shop"))
    assert (said.json()["request"]["id"], said.json()["attached"]) == (first["id"], True)


# --- S-03 -------------------------------------------------------------------------------------------------------------


@requirement("S-03")
async def test_of_64_claims_at_once_exactly_one_succeeds(either_gateway: Gateway) -> None:
    g = either_gateway
    for round_ in range(4):
        request = await _approved(g, arguments={"round": round_})
        said = await asyncio.gather(*(g.claim(request, claim_id=f"claim-{n}") for n in range(64)))
        outcomes = Counter("won" if answer.status_code == 200 else answer.json()["code"] for answer in said)
        assert outcomes == {"won": 1, "already_claimed": 63}
    assert len(g.rows("SELECT * FROM executions")) == 4


@requirement("S-03")
async def test_the_same_claim_again_is_the_same_answer(gateway: Gateway) -> None:
    request = await _approved(gateway)
    first, second = await gateway.claim(request), await gateway.claim(request)
    assert first.json() == second.json()
    assert len(gateway.rows("SELECT * FROM executions")) == 1


# --- S-43 -------------------------------------------------------------------------------------------------------------


async def test_an_outcome_under_another_claim_is_told_that_it_is_one(gateway: Gateway) -> None:
    request = await _approved(gateway)
    assert (await gateway.claim(request)).status_code == 200
    body = {"claim_id": "another", "status": "succeeded"}
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/outcome", body, who="agent:shop")
    assert (said.status_code, said.json()["code"], said.json()["state"]) == (409, "already_claimed", "executing")
    assert "under another claim_id" in said.json()["detail"]


@requirement("S-43")
async def test_fifty_creations_with_one_key_are_one_request_and_one_card(either_gateway: Gateway) -> None:
    g = either_gateway
    body = {"tool": "pay", "arguments": {"payee": "X", "amount": 1}}
    said = await asyncio.gather(*(g.call("POST", "/v1/requests", body, idempotency_key="order-1") for _ in range(50)))
    assert {answer.status_code for answer in said} == {202}
    assert len({answer.json()["request"]["id"] for answer in said}) == 1
    await g.quiet()
    assert len(g.rows("SELECT id FROM requests")) == 1
    assert len(g.platform.messages) == 1

    other = {**body, "arguments": {"payee": "X", "amount": 2}}
    refused = await g.call("POST", "/v1/requests", other, idempotency_key="order-1")
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_mismatch")
    elsewhere = await g.call("POST", "/v1/requests", other, who="agent:other", idempotency_key="order-1")
    abroad = await g.call("POST", "/v1/requests", other, org="globex", idempotency_key="order-1")
    assert (elsewhere.status_code, abroad.status_code) == (202, 202)
    assert len(g.rows("SELECT id FROM requests")) == 3


async def test_what_stands_under_a_key_is_looked_for_by_its_agent_and_never_opened_by_looking(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    looked = "/v1/requests?idempotency_key=order-1"
    assert (await g.call("GET", looked)).json() == {"items": [], "next_cursor": None}
    assert g.rows("SELECT id FROM requests") == []
    body = {"tool": "by_api", "arguments": {"n": 1}}
    asked = (await g.call("POST", "/v1/requests", body, idempotency_key="order-1")).json()["request"]
    assert [each["id"] for each in (await g.call("GET", looked)).json()["items"]] == [asked["id"]]
    assert (await g.call("GET", looked, who="agent:other")).json()["items"] == [], "a key is one agent's"
    assert (await g.call("GET", looked, org="globex")).json()["items"] == []
    for who, path in (("admin", looked), ("agent:shop", f"{looked}&open=true"), ("agent:shop", looked[:-7])):
        refused = await g.call("GET", path, who=who)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid"), (who, path)


@requirement("S-43")
async def test_a_key_that_is_used_again_after_its_time_opens_a_new_question(gateway: Gateway) -> None:
    body = {"tool": "by_api", "arguments": {"n": 1}}
    first = (await gateway.call("POST", "/v1/requests", body, idempotency_key="order-1")).json()["request"]
    await gateway.decide(first)
    await gateway.advance(timedelta(hours=25))
    said = await gateway.call("POST", "/v1/requests", body, idempotency_key="order-1")
    assert said.status_code == 202, said.text
    assert said.json()["request"]["id"] != first["id"]
    assert said.json()["request"]["state"] == "pending"


async def test_a_tools_error_does_not_carry_sensitive_values_out(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two", PAY)
    await gateway.decide(request)
    await gateway.decide(request, who="bob@acme.example")
    assert (await gateway.claim(request)).status_code == 200
    said = await gateway.report(
        request, "failed", error="transfer to DE02-SECRET failed", result={"account": "DE02-SECRET"}
    )
    assert said.json()["execution"]["error"] == "transfer to ••• failed"
    assert said.json()["execution"]["result"] == {"account": "DE02-SECRET"}  # the agent's own
    seen = await gateway.read(request, who="alice@acme.example")
    assert (seen["execution"]["result"], seen["arguments"]["account"]) == (None, "•••")
    trail = (await gateway.call("GET", "/v1/audit?limit=1000", who="auditor")).text
    assert "DE02" not in trail


async def test_what_people_denied_under_a_key_stays_denied_when_a_rule_allows_it_later(gateway: Gateway) -> None:
    body = {"tool": "by_api", "arguments": {"n": 1}}
    asked = (await gateway.call("POST", "/v1/requests", body, idempotency_key="k-1")).json()["request"]
    await gateway.decide(asked, "deny")
    gateway.rewrite(
        "  - {id: reading,", "  - {id: now, tools: [by_api], when: agent.size() > 0, then: allow}\n  - {id: reading,"
    )
    await gateway.reload()
    again = (await gateway.call("POST", "/v1/requests", body, idempotency_key="k-1")).json()
    assert (again["decision"], again["request"]["state"]) == ("ask", "denied")
    assert (await gateway.call("POST", "/v1/requests", body)).json()["decision"] == "allow"
