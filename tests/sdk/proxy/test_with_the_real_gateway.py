"""The MCP proxy, the official SDK's client and server, and the gateway itself, under the rules of docs/mcp.md."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.requirements import requirement
from tests.sdk.proxy.line import ProxyLine
from tests.sdk.real_gateway import RealGateway

pytestmark = [pytest.mark.process, pytest.mark.may_block, pytest.mark.heavy]

POLICY = """
org: acme
default: deny
attention: {cool_down: 0s}
people:
  wang@acme.example: {name: Wang}
groups:
  developers: [wang@acme.example]
rules:
  - {id: reading, tools: ["mcp__bank__env*"], then: allow}
  - {id: writing, tools: ["mcp__bank__*"], then: ask, stages: [{of: [developers], need: 1}], channels: [api]}
"""


@requirement("F-75", "S-01")
async def test_rules_name_the_servers_tools_people_decide_and_whoever_goes_leaves_no_card(tmp_path: Path) -> None:
    (tmp_path / "gateway").mkdir()
    ledger = tmp_path / "ledger"
    ledger.touch()
    with RealGateway(tmp_path / "gateway") as gateway:
        gateway.configure(POLICY)
        server = [sys.executable, str(Path(__file__).parent / "bank_server.py"), str(ledger)]
        line = ProxyLine(url=gateway.url, folder=tmp_path, key=gateway.key)
        command, *words = line.words("--name", "bank", "--", *server)
        async with Client(StdioServerParameters(command=command, args=words)) as client:
            assert not (await client.call_tool("environment", {})).is_error
            paying = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 5}))
            request = await asyncio.to_thread(gateway.pending)
            assert request["tool"] == "mcp__bank__pay"
            await asyncio.to_thread(gateway.decide, request, "approve")
            assert (await paying).content[0].text == "paid 5 to ACME"  # pyright: ignore[reportAttributeAccessIssue]
            left = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 6}))
            await asyncio.to_thread(gateway.pending)
            left.cancel()
        found = {one["arguments"]["amount"]: one for one in await asyncio.to_thread(gateway.requests)}
    assert ledger.read_text() == "pay ACME 5\n"
    assert found[5]["state"] == "succeeded"
    assert (found[6]["state"], found[6]["settled"]["reason"]) == (
        "cancelled",
        "abandoned: whoever made this call is gone",
    )
