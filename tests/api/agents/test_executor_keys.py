"""An executor's key runs what executors run, of every agent of its org, and does and sees nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from app.domain.errors import InvalidError
from app.domain.identity.api_key import Scope
from tests.fixtures.enforced import CALL, EXECUTOR, approved, enforce, reported
from tests.requirements import requirement

if TYPE_CHECKING:
    from typing import Any

    from tests.fixtures.gateway import Gateway

DIGEST = "ab" * 32
ELSEWHERE = [
    ("POST", "/v1/requests", {"tool": "by_api", "arguments": {}}),
    ("POST", "/v1/hooks/PreToolUse", {"session_id": "s", "tool_name": "by_api", "tool_input": {}}),
    ("POST", "/v1/hooks/PostToolUse", {"session_id": "s", "tool_name": "by_api", "tool_input": {}}),
    ("POST", "/v1/hooks/SessionStart", {"session_id": "s"}),
    ("POST", "/v1/requests/{id}/decisions", {"verdict": "approve", "digest": DIGEST}),
    ("POST", "/v1/requests/{id}/cancel", {}),
    ("POST", "/v1/requests/{id}/questions", {"text": "why?"}),
    ("POST", "/v1/requests/{id}/remind", {}),
    ("POST", "/v1/requests/{id}/extend", {"minutes": 5}),
    ("POST", "/v1/requests/{id}/reopen", {}),
    ("GET", "/v1/requests/{id}/events", None),
    ("GET", "/v1/events", None),
    ("GET", "/v1/audit", None),
    ("GET", "/v1/keys", None),
    ("POST", "/v1/keys", {"scope": "admin", "label": "mine"}),
    ("GET", "/v1/switches", None),
    ("GET", "/v1/policies/{id}", None),
]


@requirement("S-16", "S-48")
async def test_it_neither_asks_nor_decides_nor_reads_anything_else(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await gateway.ask("by_api", CALL)
    await gateway.key(EXECUTOR)
    before = gateway.content()
    for method, path, body in ELSEWHERE:
        said = await gateway.call(method, path.replace("{id}", request["id"]), body, who=EXECUTOR)
        assert said.status_code in {403, 404, 405}, (method, path, said.text)
        if said.status_code != 403:  # no such route: then nobody has it
            again = await gateway.call(method, path.replace("{id}", request["id"]), body, who="admin")
            assert again.status_code == said.status_code, (method, path)
    after = gateway.content()
    for name in ("requests", "decisions", "grants", "executions", "switches" if "switches" in after else "policies"):
        assert after[name] == before[name]


@requirement("S-16")
async def test_every_route_of_the_api_that_lets_it_in_is_one_of_five(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await approved(gateway)
    assert (await gateway.call("GET", "/v1/requests", who=EXECUTOR)).status_code == 200
    assert (await gateway.read(request, who=EXECUTOR))["state"] == "approved"
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
    assert (await reported(gateway, request, "unknown")).status_code == 200
    body = {"status": "succeeded", "note": "the ledger has it"}
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", body, who=EXECUTOR)
    assert said.json()["state"] == "succeeded"
    actors = [actor for kind, actor in gateway.trail(request) if kind.startswith(("grant", "execution"))]
    key = gateway.rows("SELECT id FROM api_keys WHERE scope = 'executor'")[0]["id"]
    assert actors == [f"key:{key}"] * 3


@requirement("S-14", "S-16")
async def test_it_lists_open_requests_of_all_agents_that_executors_run_and_no_others(either_gateway: Gateway) -> None:
    gateway = await enforce(either_gateway)
    mine = await approved(gateway)
    other = await gateway.ask("by_api", CALL, who="agent:other")
    plain = await gateway.ask("staged", {})
    done = await approved(gateway, arguments={**CALL, "amount": "2.00"})
    await gateway.claim(done, who=EXECUTOR)
    await reported(gateway, done)
    foreign = await gateway.ask("by_api", CALL, org="globex")
    listed = (await gateway.call("GET", "/v1/requests", who=EXECUTOR)).json()["items"]
    assert {item["id"] for item in listed} == {mine["id"], other["id"]}
    assert all(item["enforced"] and item["arguments"]["account"] != CALL["account"] for item in listed)
    for hidden in (plain, foreign):
        for path in ("", "?wait=0.1"):
            assert (await gateway.call("GET", f"/v1/requests/{hidden['id']}{path}", who=EXECUTOR)).status_code == 404
        assert (await gateway.claim(hidden, who=EXECUTOR)).status_code == 404
        assert (await reported(gateway, hidden)).status_code == 404


@requirement("S-01", "S-16")
async def test_the_agents_key_neither_claims_nor_settles_what_an_executor_runs_but_reads_its_result(
    either_gateway: Gateway,
) -> None:
    gateway = await enforce(either_gateway)
    request = await approved(gateway, session="s-1", call_id="c-1")
    refused = await gateway.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (403, "wrong_scope")
    assert refused.json()["detail"] == "this tool runs behind an executor: wait for its outcome"
    claimed = await gateway.claim(request, who=EXECUTOR)
    assert claimed.json()["arguments"] == CALL
    moment = {"session_id": "s-1", "tool_use_id": "c-1", "tool_name": "by_api", "tool_input": CALL}
    told = await gateway.call("POST", "/v1/hooks/PostToolUse", moment)
    assert told.json()["settled"]["changed"] is False
    assert "executor" in told.json()["settled"]["note"]
    assert (await gateway.report(request)).json()["code"] == "wrong_scope"
    assert (await reported(gateway, request, "unknown")).json()["state"] == "unknown"
    lie = {"status": "failed", "note": "trust me"}
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", lie)
    assert said.json()["code"] == "wrong_scope"
    assert (await reported(gateway, request, result={"receipt": "R-1"})).json()["state"] == "succeeded"
    read = await gateway.read(request)
    assert (read["state"], read["execution"]["result"]) == ("succeeded", {"receipt": "R-1"})
    assert (await gateway.read(request, who=EXECUTOR))["execution"]["result"] is None


async def test_what_is_not_enforced_is_the_agents_as_before(gateway: Gateway) -> None:
    request = await approved(gateway)
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 404
    assert (await gateway.claim(request)).status_code == 200


@requirement("S-14")
async def test_another_orgs_executor_knows_nothing_of_it(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await approved(gateway)
    assert (await gateway.call("GET", "/v1/requests", who=EXECUTOR, org="globex")).json()["items"] == []
    assert (await gateway.claim(request, who=EXECUTOR, org="globex")).status_code == 404
    assert (await gateway.read(request))["grant"]["status"] == "issued"


@pytest.mark.parametrize("whose", [{"agent": "shop"}, {"person": "alice@acme.example"}])
async def test_it_is_nobodys(gateway: Gateway, whose: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="no agent's and no person's"):
        await gateway.container.keys.create(org="acme", scope=Scope.EXECUTOR, label="x", **whose)


async def test_a_revoked_one_runs_nothing(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await approved(gateway)
    await gateway.key(EXECUTOR)
    key = gateway.rows("SELECT id FROM api_keys WHERE scope = 'executor'")[0]["id"]
    await gateway.container.keys.revoke("acme", key)
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 401
    await gateway.advance(timedelta(minutes=6))
    assert (await gateway.read(request))["state"] == "lapsed"


async def narrow(gateway: Gateway, who: str, *tools: str) -> str:
    """Make an executor's key that runs some tools; return the name under which the fixture knows it."""
    made = await gateway.container.keys.create(org="acme", scope=Scope.EXECUTOR, label=who, tools=tools)
    gateway.keys[f"acme/{who}"] = made.text
    return who


@requirement("S-73")
async def test_a_key_runs_what_it_names_and_knows_nothing_of_the_rest(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await approved(gateway)
    sms = await narrow(gateway, "executor:sms", "sms_*", "pin")
    assert (await gateway.call("GET", "/v1/requests?limit=1", who=sms)).json() == {"items": [], "next_cursor": None}
    assert (await gateway.call("GET", f"/v1/requests/{request['id']}", who=sms)).status_code == 404
    assert (await gateway.call("GET", f"/v1/requests/{request['id']}?wait=1", who=sms)).status_code == 404
    assert (await gateway.claim(request, who=sms)).status_code == 404
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
    assert (await reported(gateway, request, who=sms)).status_code == 404
    reconciled = {"status": "failed", "note": "so they say"}
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", reconciled, who=sms)
    assert said.status_code == 404
    assert (await reported(gateway, request)).status_code == 200


@requirement("S-73")
async def test_a_page_is_full_of_what_a_key_runs(gateway: Gateway) -> None:
    await enforce(gateway)
    mine = [(await approved(gateway, arguments={**CALL, "n": n}))["id"] for n in range(2)]
    for n in range(3):
        await approved(gateway, "pay", {"payee": "Acme Ltd", "amount": 1, "currency": "CNY", "account": f"{n}"})
    own = await narrow(gateway, "executor:api", "by_*")
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        page = (await gateway.call("GET", f"/v1/requests?limit=1{cursor}", who=own)).json()
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(seen) == sorted(mine)


@requirement("S-73")
async def test_what_one_key_claimed_no_other_repeats_or_settles_but_an_administrator(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await approved(gateway)
    other = await narrow(gateway, "executor:other", "*")
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
    assert (await gateway.claim(request, who=other)).json()["code"] == "already_claimed"  # with the same claim's id
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
    refused = await reported(gateway, request, "failed", who=other, error="it was not")
    assert (refused.status_code, refused.json()["code"]) == (403, "wrong_scope")
    assert (await reported(gateway, request, "unknown")).status_code == 200
    evidence = {"status": "failed", "note": "statement of today", "error": "not paid"}
    path = f"/v1/requests/{request['id']}/reconcile"
    assert (await gateway.call("POST", path, evidence, who=other)).status_code == 403
    assert (await gateway.call("POST", path, evidence, who="admin")).status_code == 200


@requirement("S-73")
@pytest.mark.parametrize(
    ("scope", "tools"), [(Scope.EXECUTOR, ()), (Scope.EXECUTOR, ("",)), (Scope.AGENT, ("*",)), (Scope.ADMIN, ("*",))]
)
async def test_an_executors_key_names_tools_and_no_other_does(
    gateway: Gateway, scope: Scope, tools: tuple[str, ...]
) -> None:
    whose: dict[str, Any] = {"agent": "shop", "person": "olga@acme.example"} if scope is Scope.AGENT else {}
    with pytest.raises(InvalidError, match="name the tools"):
        await gateway.container.keys.create(org="acme", scope=scope, label="x", tools=tools, **whose)
