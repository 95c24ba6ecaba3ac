"""After the tool: its runtime tells that it has run, and the execution that the call belonged to is settled."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from app.usecases.executing.settle_by_call import claim_of
from assent.command.hosts.event import Event
from assent.command.hosts.table import HOSTS
from tests.api.agents import acme_hooks
from tests.fixtures.gateway import ACME

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

HOOKS = """\
hooks:
  - {id: log, on: PostToolUse, use: audit-log}
  - {id: see, on: PostToolUse, python: tests.api.agents.acme_hooks.see}
  - {id: see-failure, on: PostToolUseFailure, python: tests.api.agents.acme_hooks.see}
rules:
"""
BY_API = {"amount": 5}


@pytest.fixture(autouse=True)
def hooked(config: Path) -> None:
    acme_hooks.SEEN.clear()
    (config / "acme.yaml").write_text(ACME.replace("rules:\n", HOOKS, 1))


async def executing(g: Gateway, *, call_id: str | None = "t1", claim_id: str = "claim-1") -> dict[str, Any]:
    """Bring a call to the point at which its tool runs."""
    request = await g.ask("by_api", BY_API, session="s", call_id=call_id)
    await g.decide(request)
    assert (await g.claim(request, claim_id=claim_id)).status_code == 200
    return request


async def done(g: Gateway, name: str = "PostToolUse", *, who: str = "agent:shop", **more: Any) -> dict[str, Any]:
    body = {"session_id": "s", "tool_name": "by_api", "tool_input": BY_API, "tool_response": "ok", **more}
    said = await g.call("POST", f"/v1/hooks/{name}", body, who=who)
    assert said.status_code == 200, said.text
    return said.json()["settled"]


NAMED = {"by its request": "request_id", "by the call's id": "tool_use_id", "by what was called": None}


@pytest.mark.parametrize("how", NAMED)
async def test_a_finished_call_settles_its_execution_once(either_gateway: Gateway, how: str) -> None:
    g = either_gateway
    request = await executing(g, call_id="t1" if how == "by the call's id" else None)
    named = {"by its request": {"request_id": request["id"]}, "by the call's id": {"tool_use_id": "t1"}}.get(how, {})
    settled = await done(g, **named)
    assert settled == {
        "request": request["id"], "state": "succeeded", "changed": True, "note": "recorded: succeeded",
    }  # fmt: skip
    again = await done(g, **named)
    assert (again["changed"], again["note"]) == (False, "already recorded: succeeded")
    assert [kind for kind, _ in g.trail(request)].count("execution.succeeded") == 1


async def test_it_is_found_by_the_claim_that_the_hook_command_made_for_another_id(gateway: Gateway) -> None:
    """A call that came back under a new id joined the request of the old one: only its claim carries the new id."""
    told = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "x", "tool_input": {}, "tool_use_id": "t2"}
    event = Event(HOSTS["claude-code"], told)
    assert event.claim_id() == claim_of("s", "t2")
    await executing(gateway, call_id="t1", claim_id=claim_of("s", "t2"))
    assert (await done(gateway, tool_use_id="t2"))["changed"] is True


@pytest.mark.parametrize(
    ("more", "state"), [({"error": "no money on DE02"}, "failed"), ({"is_interrupt": True, "error": "stop"}, "unknown")]
)
async def test_a_failure_fails_it_and_an_interruption_leaves_it_unknown(
    gateway: Gateway, more: dict[str, Any], state: str
) -> None:
    request = await executing(gateway)
    assert (await done(gateway, "PostToolUseFailure", tool_use_id="t1", **more))["state"] == state
    assert (await gateway.read(request))["execution"]["error"] == more["error"]
    assert acme_hooks.SEEN[-1].error == more["error"]


async def test_what_was_not_claimed_is_not_settled_and_the_answer_says_so(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", BY_API, session="s", call_id="t1")
    settled = await done(gateway, tool_use_id="t1")
    assert (settled["state"], settled["changed"]) == ("pending", False)
    assert "was not claimed" in settled["note"]
    await gateway.decide(request)
    assert (await done(gateway, tool_use_id="t1"))["state"] == "approved"
    assert (await gateway.claim(request)).status_code == 200  # it still can be


async def test_another_outcome_does_not_replace_the_first(gateway: Gateway) -> None:
    await executing(gateway)
    await done(gateway, tool_use_id="t1")
    settled = await done(gateway, "PostToolUseFailure", tool_use_id="t1", error="late")
    assert (settled["state"], settled["changed"]) == ("succeeded", False)
    assert "another outcome stands" in settled["note"]


async def test_a_report_by_the_claim_and_one_by_the_call_agree(gateway: Gateway) -> None:
    request = await executing(gateway)
    assert (await done(gateway, tool_use_id="t1"))["changed"] is True
    assert (await gateway.report(request)).json()["state"] == "succeeded"
    other = await gateway.ask("by_api", {"amount": 6}, session="s", call_id="t9")
    await gateway.decide(other)
    await gateway.claim(other)
    await gateway.report(other, result={"ref": 1})
    assert (await done(gateway, tool_use_id="t9"))["note"] == "already recorded: succeeded"


@pytest.mark.parametrize(
    "named",
    [{"tool_use_id": "unknown"}, {"request_id": "req_unknown"}, {"tool_input": {"amount": 6}}, {"session_id": None}],
)
async def test_a_call_that_nobody_was_asked_about_settles_nothing(gateway: Gateway, named: dict[str, Any]) -> None:
    request = await executing(gateway)
    settled = await done(gateway, **named)
    assert settled == {
        "request": None, "state": None, "changed": False, "note": "no request of this agent belongs to this call",
    }  # fmt: skip
    assert (await gateway.read(request))["state"] == "executing"


@pytest.mark.parametrize("wrong", [{"tool_name": "ping"}, {"session_id": "other"}, {"tool_use_id": "t9"}])
async def test_a_report_that_contradicts_the_request_that_it_names_settles_nothing(
    gateway: Gateway, wrong: dict[str, Any]
) -> None:
    request = await executing(gateway)
    settled = await done(gateway, request_id=request["id"], **wrong)
    assert (settled["request"], settled["changed"]) == (None, False)
    assert "nothing was recorded" in settled["note"]
    assert (await gateway.read(request))["state"] == "executing"
    assert (await done(gateway, request_id=request["id"], tool_use_id="t1"))["changed"] is True


async def test_a_call_that_came_back_under_a_new_id_is_settled_by_its_requests_id_too(gateway: Gateway) -> None:
    request = await executing(gateway, call_id="t1", claim_id=claim_of("s", "t2"))
    assert (await done(gateway, request_id=request["id"], tool_use_id="t2"))["changed"] is True


async def test_another_agent_settles_nothing_even_by_the_requests_own_id(gateway: Gateway) -> None:
    request = await executing(gateway)
    for named in ({"request_id": request["id"]}, {"tool_use_id": "t1"}, {}):
        assert (await done(gateway, who="agent:other", **named))["request"] is None
    assert (await gateway.read(request))["state"] == "executing"


async def test_the_chain_then_sees_the_result_connected_to_the_request(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    request = await executing(gateway)
    with caplog.at_level(logging.INFO, logger="assent.audit"):
        await done(gateway, tool_use_id="t1", duration_ms=1500)
    seen = acme_hooks.SEEN[-1]
    assert (seen.result, seen.duration, seen.request_id) == ("ok", 1.5, request["id"])
    assert f'"request_id": "{request["id"]}"' in caplog.text
