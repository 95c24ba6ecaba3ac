"""Assent as an MCP server, to the official client: it asks people, says what they said, and claims no more."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.proxy.line import ProxyLine
from tests.sdk.proxy.wire import asked, raw

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = [pytest.mark.process, pytest.mark.may_block]

WIRE = {"action": "wire 80000 EUR to ACME", "details": {"amount": 80000}, "why": "the invoice is due"}


def assent(gateway: StubGateway, folder: Path, *options: str, era: str = "auto") -> Client:
    gateway.one_call = True
    command, *words = ProxyLine(url=gateway.url, folder=folder, kind="mcp-server").words(*options)
    return Client(StdioServerParameters(command=command, args=words), mode=era)


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    return result.content[0].text if result.is_error else result.structured_content  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_people_are_asked_and_what_they_approve_is_good_once_and_reported_as_the_agents_word(
    gateway: StubGateway, tmp_path: Path, era: str
) -> None:
    async with assent(gateway, tmp_path, era=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "request_approval", "check_request", "report_outcome",
        ]  # fmt: skip
        exhibit = {"kind": "link", "url": "https://erp.acme.example/7"}
        running = asyncio.ensure_future(told(client, "request_approval", **WIRE, evidence=[exhibit]))
        await asyncio.to_thread(gateway.arrived, "check")
        row = gateway.only
        assert row.evidence == [exhibit]
        assert (row.tool, row.claim) == ("mcp__assent__request_approval", "the invoice is due")
        assert row.arguments == {"action": "wire 80000 EUR to ACME", "details": {"amount": 80000}}
        gateway.decide(row.id, "approved")
        answer = await running
        assert (answer["decision"], answer["details"]) == ("approved", {"amount": 80000})
        assert "you carry the action out yourself" in answer["note"]
        assert (await told(client, "check_request", request_id=row.id))["decision"] == "approved"  # the same one run
        assert await told(client, "report_outcome", request_id=row.id, status="succeeded", note="done") is None
        assert "reported before" in await told(client, "report_outcome", request_id=row.id, status="failed")
    assert row.outcomes[0]["result"] == {"reported_by_the_agent": "done"}


async def test_what_is_not_decided_in_time_is_looked_up_later_and_a_no_is_a_no(
    gateway: StubGateway, tmp_path: Path
) -> None:
    async with assent(gateway, tmp_path, "--deadline", "2") as client:
        answer = await told(client, "request_approval", **WIRE)
        assert answer["decision"] == "pending"
        gateway.decide(answer["request_id"], "denied", reason="not this week")
        answer = await told(client, "check_request", request_id=answer["request_id"])
        assert answer["decision"] == "refused"
        assert 'Reason given: "not this week"' in answer["note"]
        assert "could not be looked up" in await told(client, "check_request", request_id="req_9999")
        assert await told(client, "request_approval", action=" ") == (
            "Bad arguments: 'action' must be a text of 1 to 2000 characters."
        )


async def test_whoever_stops_waiting_leaves_no_card_behind(gateway: StubGateway, tmp_path: Path) -> None:
    async with assent(gateway, tmp_path) as client:
        running = asyncio.ensure_future(told(client, "request_approval", **WIRE))
        await asyncio.to_thread(gateway.arrived, "check")
        running.cancel()
        await asyncio.to_thread(gateway.arrived, "cancel")
        second = asyncio.ensure_future(told(client, "request_approval", action="another"))
        await asyncio.to_thread(gateway.arrived, "check", 2)
    await asyncio.to_thread(gateway.arrived, "cancel", 2)
    with pytest.raises(Exception, match=r"."):
        await second


@requirement("F-75")
@pytest.mark.parametrize(("options", "state"), [((), "cancelled"), (("--keep-pending",), "pending")])
def test_a_signal_ends_it_orderly(gateway: StubGateway, tmp_path: Path, options: tuple[str, ...], state: str) -> None:
    gateway.one_call = True
    words = ProxyLine(url=gateway.url, folder=tmp_path, kind="mcp-server").words(*options)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"jsonrpc":"2.0","id":9,"method":NaN}\n')
    process.stdin.write(raw(asked(1, {"name": "request_approval", "arguments": WIRE})))
    process.stdin.flush()
    gateway.arrived("check", within=30.0)
    process.terminate()
    with process.stdout, process.stdin:
        told = [json.loads(line) for line in process.stdout]
        assert process.wait(HANGS) == 0
    assert [each["id"] for each in told] == [9, 1]
    assert told[1]["result"]["isError"] is True
    assert told[1]["result"]["content"][0]["text"].startswith("Not approved: the approval gate was ended")
    assert gateway.only.state == state


@requirement("F-75")
@pytest.mark.parametrize(("options", "state"), [((), "cancelled"), (("--keep-pending",), "pending")])
async def test_what_is_to_be_looked_up_is_withdrawn_when_its_client_goes_unless_it_is_to_come_back(
    gateway: StubGateway, tmp_path: Path, options: tuple[str, ...], state: str
) -> None:
    async with assent(gateway, tmp_path, "--deadline", "2", *options) as client:
        assert (await told(client, "request_approval", **WIRE))["decision"] == "pending"
    if state == "cancelled":
        await asyncio.to_thread(gateway.arrived, "cancel")
    assert gateway.only.state == state
