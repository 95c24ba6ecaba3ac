"""OpenClaw waits ten minutes at most: its plugin sends a call as docs/hooks.md maps it, and is told to come back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

CALL = {"toolName": "by_api", "params": {"n": 1}, "runId": "run-1", "toolCallId": "call_1"}
CONTEXT = {"sessionKey": "agent:main:main", "requester": {"id": "u-1"}}


def mapped(event: dict[str, Any], ctx: dict[str, Any], claim_id: str) -> dict[str, Any]:
    """What the plugin sends: `tool_use_id` is left out, since who asks again comes with another one."""
    return {
        "tool_name": event.get("toolName"),
        "tool_input": event.get("params"),
        "session_id": ctx.get("sessionKey"),
        "wait": 0,
        "claim_id": claim_id,
    }


async def ask(g: Gateway, claim_id: str, **changed: Any) -> tuple[int, dict[str, Any]]:
    said = await g.call("POST", "/v1/hooks/PreToolUse", mapped({**CALL, **changed}, CONTEXT, claim_id))
    return said.status_code, said.json()


async def test_a_call_that_was_blocked_while_people_think_finds_its_approval_under_its_next_id(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    status, asked = await ask(g, "claim-1")
    assert (status, asked["decision"]) == (202, "ask")
    await g.decide(asked["request"])
    status, claimed = await ask(g, "claim-2", toolCallId="call_2")
    assert (status, claimed["decision"]) == (200, "claimed")
    assert (claimed["request"]["id"], claimed["claimed"]["arguments"]) == (asked["request"]["id"], {"n": 1})


async def test_what_its_page_sends_is_what_is_mapped_and_is_judged(gateway: Gateway) -> None:
    page = (ROOT / "docs/hosts/openclaw.md").read_text(encoding="utf-8")
    found = re.search(r"```json\nPOST (\S+)\n(.*?)```", page, re.DOTALL)
    assert found is not None
    body = json.loads(found[2])
    assert body.keys() == mapped(CALL, CONTEXT, "claim-1").keys()
    said = await gateway.call("POST", found[1], {**body, "tool_name": "by_api", "tool_input": {"n": 1}})
    assert (said.status_code, said.json()["decision"]) == (202, "ask")


async def test_other_parameters_do_not_find_it(gateway: Gateway) -> None:
    _, asked = await ask(gateway, "claim-1")
    await gateway.decide(asked["request"])
    status, other = await ask(gateway, "claim-2", params={"n": 2})
    assert (status, other["decision"]) == (202, "ask")
    assert other["request"]["id"] != asked["request"]["id"]


@pytest.mark.parametrize("params", [None, "", [], "{}", 7])
async def test_a_call_without_parameters_that_can_be_read_is_refused(gateway: Gateway, params: object) -> None:
    status, said = await ask(gateway, "claim-1", params=params)
    assert (status, said["path"]) == (422, "tool_input")


@pytest.mark.parametrize("name", [None, "", [], 7])
async def test_a_call_of_no_tool_is_refused(gateway: Gateway, name: object) -> None:
    status, said = await ask(gateway, "claim-1", toolName=name)
    assert (status, said["path"]) == (422, "tool_name")
