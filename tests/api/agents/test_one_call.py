"""Judged, opened, held, decided and claimed in one call: what it answers, to whom, and what it never does."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.identity.api_key import Scope
from app.domain.request.decision import Verdict
from tests.api.agents.held_calls import held
from tests.api.agents.test_streams import counted_reads
from tests.fixtures.enforced import CALL, EXECUTOR, approved, enforce
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.api.agents.held_calls import HeldCall
    from tests.fixtures.gateway import Gateway

ONE = {"tool": "by_api", "arguments": {"n": 1}, "wait": 50, "claim_id": "claim-1"}
HOOK = {"tool_name": "by_api", "tool_input": {"n": 1}, "wait": 50, "claim_id": "claim-1"}
_BY_DOOR = {"/v1/requests": ONE, "/v1/hooks/PreToolUse": HOOK}


async def only(g: Gateway) -> dict[str, Any]:
    """The one request that there is, as an approver reads it."""
    [request] = (await g.call("GET", "/v1/requests", who="alice@acme.example")).json()["items"]
    return request


async def waiting(g: Gateway, **more: Any) -> tuple[HeldCall, dict[str, Any]]:
    """The one call, held, and its request."""
    call = await held(g, "POST", "/v1/requests", {**ONE, **more}, idempotency_key="once")
    return call, await only(g)


@pytest.mark.parametrize("door", _BY_DOOR)
async def test_one_call_for_the_approval_and_one_for_the_outcome(either_gateway: Gateway, door: str) -> None:
    g = either_gateway
    call = await held(g, "POST", door, _BY_DOOR[door])
    request = await only(g)
    assert request["state"] == "pending"
    assert (await g.decide(request)).status_code == 200
    said = await call.answer()
    assert (said.status, said.body["decision"], said.headers["cache-control"]) == (200, "claimed", "no-store")
    assert said.body["request"]["state"] == "executing"
    assert said.body["message"] == (
        f"Approved (request {request['id']}); it runs once, with the arguments that were approved."
    )
    # What it was handed is what a claim answers: the same claim, asked for again by the old call, says so.
    assert said.body["claimed"] == (await g.claim(request)).json()
    assert said.body["claimed"]["arguments"] == {"n": 1}
    assert (await g.report(request)).json()["state"] == "succeeded"
    assert [kind for kind, _ in g.trail(request)] == [
        "request.created", "request.approved", "grant.claimed", "execution.succeeded",
    ]  # fmt: skip


@requirement("F-54", "S-03")
async def test_whoever_comes_back_gets_the_same_answer_by_the_requests_id(either_gateway: Gateway) -> None:
    g = either_gateway
    said = await g.call("POST", "/v1/requests", {**ONE, "wait": 0})
    assert (said.status_code, said.json()["decision"]) == (202, "ask")
    request = said.json()["request"]
    path = f"/v1/requests/{request['id']}?claim_id=claim-1"
    still = await g.call("GET", path)
    assert (still.status_code, still.json()["decision"], still.json()["request"]["state"]) == (202, "ask", "pending")
    call = await held(g, "GET", f"{path}&wait=50")
    await g.decide(request)
    taken = await call.answer()
    assert (taken.status, taken.body["decision"]) == (200, "claimed")
    again = await g.call("GET", path)  # the answer was lost
    assert again.json()["claimed"] == taken.body["claimed"]
    other = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=claim-2")
    assert (other.status_code, other.json()["code"], other.json()["state"]) == (409, "already_claimed", "executing")
    assert other.json()["request_id"] == request["id"]
    assert len(g.rows("SELECT * FROM executions")) == 1


@pytest.mark.parametrize(
    ("tool", "decision"), [("ping", "allow"), ("destroy", "deny"), ("read_all", "allow"), ("unheard_of", "deny")]
)
async def test_what_nobody_is_asked_about_is_answered_as_ever(gateway: Gateway, tool: str, decision: str) -> None:
    plain = await gateway.call("POST", "/v1/requests", {"tool": tool, "arguments": {}})
    said = await gateway.call("POST", "/v1/requests", {**ONE, "tool": tool, "arguments": {}})
    assert (said.status_code, said.json()) == (plain.status_code, plain.json())
    assert said.json().get("decision", "deny") == decision or said.status_code == 422
    assert not gateway.rows("SELECT id FROM requests")


@pytest.mark.parametrize("end", ["denied", "expired", "cancelled"])
@pytest.mark.parametrize("claims", [True, False])
async def test_a_denial_comes_with_its_request_and_its_reason(gateway: Gateway, end: str, claims: bool) -> None:
    g = gateway
    call, request = await waiting(g, claim_id="claim-1" if claims else None)
    match end:
        case "denied":
            await g.decide(request, "deny", reason="not this month")
        case "expired":
            await g.advance(timedelta(minutes=30))
        case _:
            await g.call("POST", f"/v1/requests/{request['id']}/cancel", {"reason": "not this month"})
    said = await call.answer()
    assert (said.status, said.body["decision"], said.body["request"]["state"]) == (200, "deny", end)
    assert said.body["reason"] == ("no decision in time" if end == "expired" else "not this month")
    assert said.body["message"] == said.body["request"]["message"]
    assert not g.rows("SELECT * FROM executions")


async def test_who_only_waits_is_told_that_it_is_approved_and_claims_nothing(gateway: Gateway) -> None:
    call, request = await waiting(gateway, claim_id=None)
    await gateway.decide(request)
    said = await call.answer()
    assert (said.status, said.body["decision"], said.body["request"]["state"]) == (202, "ask", "approved")
    assert (await gateway.claim(request)).status_code == 200


async def test_people_change_the_call_and_the_changed_one_is_handed_out(gateway: Gateway) -> None:
    g = gateway
    call, request = await waiting(g)
    body = {"verdict": "approve", "digest": request["digest"], "arguments": {"n": 2}}
    edited = await g.call("POST", f"/v1/requests/{request['id']}/decisions", body, who="alice@acme.example")
    assert edited.json()["state"] == "pending"  # another digest, and somebody else must approve it
    assert (await g.decide(edited.json(), who="bob@acme.example")).json()["state"] == "approved"
    said = await call.answer()
    assert said.body["claimed"]["arguments"] == {"n": 2}
    assert said.body["claimed"]["digest"] == said.body["request"]["digest"] == edited.json()["digest"]
    assert "A person changed its arguments" in said.body["message"]


# --- who may ------------------------------------------------------------------------------------------------------


async def test_a_claim_id_where_only_an_executor_may_claim_is_refused_before_anybody_is_asked(
    gateway: Gateway,
) -> None:
    g = await enforce(gateway)
    await g.key("agent:shop")
    before = g.content()
    for tool in ("by_api", "ping"):  # asked about, and allowed by a rule
        said = await g.call("POST", "/v1/requests", {**ONE, "tool": tool, "arguments": CALL})
        assert (said.status_code, said.json()["code"]) == (403, "executor_only")
        assert "leave `claim_id` out" in said.json()["detail"]
    assert g.content() == before
    waits = {"tool": "by_api", "arguments": CALL, "wait": 0}
    assert (await g.call("POST", "/v1/requests", waits)).status_code == 202  # to wait is anybody's
    request = await only(g)
    for who in ("agent:shop", "alice@acme.example", "auditor", "admin"):
        said = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=c&wait=50", who=who)
        assert (said.status_code, said.json()["code"]) == (403, "wrong_scope"), who
    said = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=c&wait=50", who="agent:other")
    assert (said.status_code, said.json()["code"]) == (404, "not_found")


async def test_an_executor_takes_what_it_may_run_by_the_same_call(gateway: Gateway) -> None:
    g = await enforce(gateway)
    request = await approved(g)
    said = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=claim-1", who=EXECUTOR)
    assert (said.status_code, said.json()["decision"]) == (200, "claimed")
    assert said.json()["claimed"]["arguments"] == CALL
    assert said.json()["request"]["arguments"]["account"] != CALL["account"]  # masked, as in what it reads


async def test_an_evaluation_key_takes_nothing_that_it_did_not_open(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("by_api", {"n": 1}, session="s")
    made = await g.container.keys.create(org="acme", scope=Scope.EVALUATION, label="eval", agent="shop")
    g.keys["acme/eval"] = made.text
    joined = await g.call("POST", "/v1/requests", {**ONE, "session": "s"}, who="eval")
    back = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=c&wait=50", who="eval")
    for said in (joined, back):
        assert (said.status_code, said.json()["code"]) == (403, "wrong_scope")
    own = await held(g, "POST", "/v1/requests", {**ONE, "session": "s2"}, who="eval")
    mine = next(
        each for each in (await g.call("GET", "/v1/requests", who="eval")).json()["items"] if each["session"] == "s2"
    )
    await g.decide(mine)
    assert (await own.answer()).body["decision"] == "claimed"


@pytest.mark.parametrize("stopped", ["pause", "read-only"])
async def test_what_is_stopped_meanwhile_is_not_handed_out_and_not_spent(gateway: Gateway, stopped: str) -> None:
    g = gateway
    call, request = await waiting(g)
    switch: dict[str, Any] = {"on": True, "reason": "an audit"}
    assert (await g.call("PUT", f"/v1/switches/{stopped}", switch, who="admin")).status_code == 200
    await g.decide(request)
    said = await call.answer()
    assert (said.status, said.body["code"]) == (409, stopped.replace("pause", "paused").replace("-", "_"))
    assert said.body["request_id"] == request["id"]
    assert (await g.read(request))["state"] == "approved"
    refusals = [json.loads(row["facts"]) for row in g.rows("SELECT * FROM audit_events WHERE kind = 'access.refused'")]
    assert [(each["what"], each["why"], each["request"]) for each in refusals] == [
        ("POST /v1/requests", said.body["code"], request["id"])
    ]
    assert (await g.call("PUT", f"/v1/switches/{stopped}", {"on": False}, who="admin")).status_code == 200
    back = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=claim-1&wait=50")
    assert back.json()["decision"] == "claimed"


@requirement("F-53")
async def test_a_key_that_is_revoked_while_it_waits_takes_nothing(gateway: Gateway) -> None:
    g = gateway
    call, request = await waiting(g)
    [key] = [key for key in await g.container.keys.list("acme") if key.agent == "shop"]
    await g.container.keys.revoke("acme", key.id)
    await g.decide(request)
    assert (await call.answer()).status == 401
    assert not g.rows("SELECT * FROM executions")


# --- who is there -------------------------------------------------------------------------------------------------


@requirement("F-55")
async def test_nothing_is_claimed_for_a_caller_that_has_gone(either_gateway: Gateway) -> None:
    g = either_gateway
    call, request = await waiting(g)
    call.hang_up()
    await g.decide(request)
    assert (await call.answer()).status == 400  # to nobody
    assert (await g.read(request))["state"] == "approved"
    again = await g.call("POST", "/v1/requests", ONE, idempotency_key="once")
    assert (again.json()["decision"], again.json()["request"]["id"]) == ("claimed", request["id"])
    assert len(g.rows("SELECT id FROM requests")) == len(g.rows("SELECT id FROM executions")) == 1


@requirement("F-57")
async def test_a_gateway_that_stops_answers_pending_with_the_handle(gateway: Gateway) -> None:
    g = gateway
    first, request = await waiting(g)
    second = await held(g, "GET", f"/v1/requests/{request['id']}?wait=50&claim_id=claim-1")
    g.container.waiters.stop()
    for call in (first, second):
        said = await asyncio.wait_for(call.answer(), 30)  # at once, and not when the 50 seconds are over
        assert (said.status, said.headers["retry-after"], said.body["decision"]) == (202, "1", "ask")
        assert (said.body["request"]["id"], said.body["request"]["state"]) == (request["id"], "pending")


async def test_a_vote_wakes_who_waits_for_any_change(gateway: Gateway) -> None:
    g = gateway
    said = await g.call("POST", "/v1/requests", {"tool": "pay_two", "arguments": {"n": 1}})
    request = said.json()["request"]
    await g.quiet()
    path = f"/v1/requests/{request['id']}?wait=50&claim_id=claim-1"
    version = (await g.read(request))["version"]
    call = await held(g, "GET", f"{path}&since={version}")
    await g.decide(request)
    woken = await call.answer()
    assert (woken.status, woken.body["request"]["state"]) == (202, "pending")
    call = await held(g, "GET", path)  # without it, only by the decision
    await g.decide(request, who="bob@acme.example")
    assert (await call.answer()).body["decision"] == "claimed"


async def test_more_than_may_be_held_are_answered_pending_at_once(gateway: Gateway) -> None:
    g = gateway
    shares = g.container.waiters._places
    shares._most = 0
    said = await g.call("POST", "/v1/requests", ONE)
    assert (said.status_code, said.json()["request"]["state"]) == (202, "pending")
    assert len(g.container.waiters) == 0


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"wait": -1}, "wait"),
        ({"wait": "soon"}, "wait"),
        ({"claim_id": ""}, "claim_id"),
        ({"claim_id": "x" * 201}, "claim_id"),
        ({"claim_id": "a\0"}, "claim_id"),
    ],
)
async def test_what_is_no_wait_and_no_claim_id_is_named(gateway: Gateway, more: dict[str, Any], path: str) -> None:
    said = await gateway.call("POST", "/v1/requests", {**ONE, **more})
    assert (said.status_code, said.json()["path"]) == (422, path)
    assert not gateway.rows("SELECT id FROM requests")
    back = await gateway.http.get(
        "/v1/requests/req_1", params={"claim_id": "c", **more}, headers=await gateway.key("agent:shop")
    )
    assert (back.status_code, back.json()["path"]) == (422, f"query.{path}")


async def test_the_time_of_people_is_in_no_figure_of_the_gateways(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = gateway
    counted: list[tuple[str, int]] = []

    class Seen:
        def __getitem__(self, key: tuple[str, int]) -> SimpleNamespace:
            return SimpleNamespace(observe=lambda _: counted.append(key))

    monkeypatch.setattr(g.container.telemetry, "answers", Seen())
    call, request = await waiting(g)
    await g.decide(request)
    await call.answer()
    assert (await g.call("GET", f"/v1/requests/{request['id']}?claim_id=claim-1&wait=50")).status_code == 200
    assert counted == [("/v1/requests", 200), ("/v1/requests/{request_id}/decisions", 200)]  # the list, and the vote


async def test_a_held_call_reads_nothing_between_its_opening_and_its_claim(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.key("agent:shop")
    await gateway.key("alice@acme.example")
    call, request = await waiting(gateway)
    looks = counted_reads(gateway, monkeypatch)
    await gateway.container.decide(
        org="acme",
        request_id=request["id"],
        person="alice@acme.example",
        verdict=Verdict.APPROVE,
        reason=None,
        digest=request["digest"],
    )
    assert (await call.answer()).body["decision"] == "claimed"
    assert looks == []  # it was handed what the decision committed, and the claim reads behind its lock
