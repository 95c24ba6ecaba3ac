"""Approve with changes on the wire: what is sent, what is answered, and how an agent's runtime settles such a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.editing import ALICE, BOB, EDITING, TRANSFER, edit
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

STORED = {**TRANSFER, "memo": "none"}


@pytest.fixture
async def g(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(EDITING)
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


async def post(gateway: Gateway, moment: str, **body: Any) -> dict[str, Any]:
    """Report a moment of a runtime that gives its calls no ids."""
    said = await gateway.call("POST", f"/v1/hooks/{moment}", {"session_id": "s-1", **body})
    assert said.status_code in {200, 202}, said.text
    return said.json()


@pytest.mark.parametrize("verdict", ["deny", "withdraw"])
async def test_only_an_approval_comes_with_other_arguments(g: Gateway, verdict: str) -> None:
    request = await g.ask("transfer", TRANSFER)
    said = await g.decide(request, verdict, arguments=STORED)
    assert (said.status_code, said.json()["code"], said.json()["path"]) == (422, "invalid", "arguments")
    assert (await g.read(request))["state"] == "pending"


async def test_only_approvers_change_calls_and_only_of_their_own_org(g: Gateway) -> None:
    request = await g.ask("transfer", TRANSFER)
    body = {"verdict": "approve", "digest": request["digest"], "arguments": STORED}
    path = f"/v1/requests/{request['id']}/decisions"
    for who in ("agent:shop", "admin", "auditor"):
        assert (await g.call("POST", path, body, who=who)).status_code == 403
    assert (await g.call("POST", path, body, who="gina@globex.example", org="globex")).status_code == 404


async def test_the_digest_is_that_of_what_was_read(g: Gateway) -> None:
    request = await g.ask("transfer", TRANSFER)
    said = await g.decide(request, arguments={**STORED, "amount": 5000}, digest="0" * 64)
    assert (said.status_code, said.json()["code"]) == (409, "digest_mismatch")


async def test_arguments_are_whole_and_defaults_fill_what_is_left_out(g: Gateway) -> None:
    request = await g.ask("transfer", {**TRANSFER, "memo": "hello"})
    assert (await edit(g, request, without="payee", amount=5000)).json()["code"] == "bad_arguments"
    assert (await edit(g, request, without="memo")).json()["arguments"]["memo"] == "none"
    after = await g.read(request, who=BOB)
    assert after["proposed"] == {**TRANSFER, "memo": "hello", "account": "•••8603"}


async def test_a_change_is_named_also_where_what_was_and_what_is_are_masked_alike(g: Gateway) -> None:
    request = await g.ask("transfer", TRANSFER)
    assert request["changed"] == []
    alike = "X" + TRANSFER["account"][1:]
    await edit(g, request, account=alike)
    after = await g.read(request, who=BOB)
    assert after["arguments"]["account"] == after["proposed"]["account"]
    assert after["changed"] == ["account"]
    assert alike not in str(after)


async def test_what_everybody_reads_tells_whose_the_change_is(g: Gateway) -> None:
    request = await g.ask("transfer", TRANSFER)
    assert (request["proposed"], request["edited_by"]) == (None, None)
    await edit(g, request, payee="Beta Ltd")
    for who in (BOB, "auditor", "admin"):
        seen = await g.read(request, who=who)
        assert (seen["edited_by"], seen["arguments"]["payee"], seen["proposed"]["payee"]) == (
            ALICE,
            "Beta Ltd",
            "Acme Ltd",
        )
    trail = (await g.call("GET", f"/v1/requests/{request['id']}", who="auditor")).json()
    assert "payee: Acme Ltd → Beta Ltd" in trail["message"]


@requirement("S-02")
async def test_an_agent_that_makes_the_changed_call_stands_on_its_changed_request(g: Gateway) -> None:
    request = await g.ask("transfer", TRANSFER, session="s-1")
    await edit(g, request, amount=5000)
    changed = {**STORED, "amount": 5000}
    for arguments in (TRANSFER, changed):
        again = await g.call("POST", "/v1/requests", {"tool": "transfer", "arguments": arguments, "session": "s-1"})
        assert (again.json()["request"]["id"], again.json()["attached"]) == (request["id"], True)
    other = await g.call("POST", "/v1/requests", {"tool": "transfer", "arguments": changed, "session": "s-2"})
    assert other.json()["request"]["id"] != request["id"]
    await g.claim(await g.read(request))
    after = await g.call("POST", "/v1/requests", {"tool": "transfer", "arguments": changed, "session": "s-1"})
    assert after.json()["request"]["id"] != request["id"]  # it was good for one run


@requirement("S-02")
async def test_a_finished_call_without_an_id_settles_the_request_that_was_changed_to_it_and_no_other_call_does(
    g: Gateway,
) -> None:
    request = await g.ask("transfer", TRANSFER, session="s-1")
    await edit(g, request, amount=5000)
    await g.claim(await g.read(request))
    about = {"tool_name": "transfer", "tool_response": "done"}
    wrong = await post(g, "PostToolUse", tool_input=STORED, **about)
    assert wrong["settled"]["changed"] is False
    assert "people changed them" in wrong["settled"]["note"]
    assert (await g.read(request))["state"] == "executing"
    right = await post(g, "PostToolUse", tool_input={**STORED, "amount": 5000}, **about)
    assert (right["settled"]["request"], right["settled"]["changed"]) == (request["id"], True)
    assert (await g.read(request))["state"] == "succeeded"
