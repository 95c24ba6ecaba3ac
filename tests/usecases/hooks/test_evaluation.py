"""Evaluation runs: a key of that scope may have its questions answered without people; every other no stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import InvalidError
from app.domain.identity.api_key import Scope
from tests.fixtures.gateway import ACME, PAY

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway

HOOKS = (
    "hooks:\n  - {id: by-note, on: PreToolUse, tools: [pay, ping], python: tests.api.agents.acme_hooks.by_note}\n"
    "  - {id: broken, on: PreToolUse, tools: [long], python: tests.api.agents.acme_hooks.crash, on_error: ask}\n"
    "ask: {stages: [{of: [finance]}], channels: [api]}\nrules:\n"
)


@pytest.fixture(autouse=True)
def hooked(config: Path) -> None:
    (config / "acme.yaml").write_text(ACME.replace("rules:\n", HOOKS))


async def evaluate(g: Gateway, tool: str, arguments: dict[str, Any], *, flag: bool = True) -> httpx2.Response:
    if "acme/evaluation" not in g.keys:
        made = await g.container.keys.create(org="acme", scope=Scope.EVALUATION, label="eval", agent="shop")
        g.keys["acme/evaluation"] = made.text
    headers = {"authorization": f"Bearer {g.keys['acme/evaluation']}"}
    body = {"tool_name": tool, "tool_input": arguments, "session_id": "s", "evaluation": flag}
    return await g.http.post("/v1/hooks/PreToolUse", json=body, headers=headers)


async def test_an_ask_is_answered_without_people_and_every_bypass_is_in_the_trail(either_gateway: Gateway) -> None:
    g = either_gateway
    for _ in range(2):
        body = (await evaluate(g, "pay", PAY)).json()
        assert (body["decision"], body["rule"]) == ("allow", "pay")
        assert "nobody was asked" in body["reason"]
    assert [each for each in g.trail() if each[0] == "evaluation.bypassed"] == [
        ("evaluation.bypassed", "agent:shop")
    ] * 2
    assert g.rows("SELECT id FROM requests") == []


@pytest.mark.parametrize("tool", ["pay", "ping", "long"])
async def test_what_a_guard_asks_or_cannot_judge_is_not_skipped(gateway: Gateway, tool: str) -> None:
    arguments = {**PAY, "note": "ask"} if tool == "pay" else {"note": "ask"}
    body = (await evaluate(gateway, tool, arguments)).json()
    assert (body["decision"], body["hook"]) == ("deny", "broken" if tool == "long" else "by-note")
    assert "an evaluation run asks nobody" in body["reason"]
    assert "evaluation.bypassed" not in dict(gateway.trail())


async def test_what_the_agents_own_side_wants_asked_is_not_skipped(gateway: Gateway) -> None:
    await evaluate(gateway, "ping", {})
    headers = {"authorization": f"Bearer {gateway.keys['acme/evaluation']}"}
    body = {"tool": "ping", "arguments": {}, "confirm": "its own guard asks", "evaluation": True}
    said = (await gateway.http.post("/v1/requests", json=body, headers=headers)).json()
    assert (said["decision"], said["rule"]) == ("deny", "caller")


@pytest.mark.parametrize("path", ["claim", "outcome", "cancel"])
async def test_such_a_key_leaves_the_requests_of_others_alone(either_gateway: Gateway, path: str) -> None:
    g = either_gateway
    request = await g.ask("by_api", {"what": 1}, session="s", call_id="t1")
    await g.decide(request)
    if path == "outcome":
        await g.claim(request)
    before = await g.read(request)
    await evaluate(g, "by_api", {"what": 1}, flag=False)  # it comes back to the request, but did not open it
    headers = {"authorization": f"Bearer {g.keys['acme/evaluation']}"}
    bodies = {
        "claim": {"digest": request["digest"], "claim_id": "mine"},
        "outcome": {"claim_id": "claim-1", "status": "succeeded"},
        "cancel": {},
    }
    said = await g.http.post(f"/v1/requests/{request['id']}/{path}", json=bodies[path], headers=headers)
    assert (said.status_code, said.json()["code"]) == (403, "wrong_scope")
    assert await g.read(request) == before


async def test_such_a_key_settles_no_execution_of_others_by_telling_that_the_tool_has_run(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", {"what": 1}, session="s", call_id="t1")
    await gateway.decide(request)
    await gateway.claim(request)
    await evaluate(gateway, "ping", {})
    headers = {"authorization": f"Bearer {gateway.keys['acme/evaluation']}"}
    for named in ({"request_id": request["id"]}, {"tool_use_id": "t1"}):
        body = {"tool_name": "by_api", "tool_input": {"what": 1}, "session_id": "s", "tool_response": "ok", **named}
        said = await gateway.http.post("/v1/hooks/PostToolUse", json=body, headers=headers)
        settled = said.json()["settled"]
        assert (settled["request"], settled["changed"]) == (None, False)
        assert "did not open" in settled["note"]
    assert (await gateway.read(request))["state"] == "executing"


async def test_what_it_opened_itself_it_claims_and_settles(either_gateway: Gateway) -> None:
    g = either_gateway
    request = (await evaluate(g, "by_api", {"what": 1}, flag=False)).json()["request"]
    await g.decide(request)
    headers = {"authorization": f"Bearer {g.keys['acme/evaluation']}"}
    body = {"digest": request["digest"], "claim_id": "mine"}
    assert (await g.http.post(f"/v1/requests/{request['id']}/claim", json=body, headers=headers)).status_code == 200
    done = {"tool_name": "by_api", "request_id": request["id"], "session_id": "s", "tool_response": "ok"}
    said = await g.http.post("/v1/hooks/PostToolUse", json=done, headers=headers)
    assert said.json()["settled"]["changed"] is True


@pytest.mark.parametrize(("tool", "arguments", "by"), [("destroy", {}, "never"), ("ping", {"note": "deny"}, "by-note")])
async def test_guards_and_rules_that_deny_stand(
    gateway: Gateway, tool: str, arguments: dict[str, Any], by: str
) -> None:
    body = (await evaluate(gateway, tool, arguments)).json()
    assert body["decision"] == "deny"
    assert by in {body["rule"], body.get("hook")}
    assert "evaluation.bypassed" not in dict(gateway.trail())


async def test_without_the_flag_the_key_is_an_agents(gateway: Gateway) -> None:
    said = await evaluate(gateway, "pay", PAY, flag=False)
    request = said.json()["request"]
    assert said.status_code == 202
    assert request["arguments"] == PAY  # whole: it is the agent's own
    assert (await gateway.read(request))["id"] == request["id"]


@pytest.mark.parametrize("path", ["/v1/requests", "/v1/hooks/PreToolUse", "/v1/hooks/Stop"])
async def test_an_agents_key_that_claims_to_evaluate_is_refused(gateway: Gateway, path: str) -> None:
    body = {"evaluation": True}
    body |= {"tool": "ping", "arguments": {}} if path == "/v1/requests" else {"tool_name": "ping", "tool_input": {}}
    said = await gateway.call("POST", path, body)
    assert (said.status_code, said.json()["code"]) == (403, "wrong_scope")


async def test_such_a_key_needs_an_agent_and_an_admin_makes_it(gateway: Gateway) -> None:
    with pytest.raises(InvalidError, match="agent's name"):
        await gateway.container.keys.create(org="acme", scope=Scope.EVALUATION, label="eval")
    body = {"scope": "evaluation", "label": "eval", "agent": "shop"}
    assert (await gateway.call("POST", "/v1/keys", body, who="admin")).status_code == 201
