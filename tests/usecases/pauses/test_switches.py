"""The read-only switch: at once, for everybody or for one, everywhere within a second, and never by an agent."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.gateway import ACME, open_gateway

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway, ManualClock
    from tests.fixtures.memory_platform import MemoryPlatform

READS = ACME.replace("  ping: {}\n", "  ping: {writes: true}\n  read_all: {writes: false}\n")


@pytest.fixture(autouse=True)
def reading(config: Path) -> None:
    (config / "acme.yaml").write_text(READS)


async def call(g: Gateway, tool: str, who: str = "agent:shop") -> dict[str, str]:
    return (await g.call("POST", "/v1/requests", {"tool": tool, "arguments": {}}, who=who)).json()


async def switch(g: Gateway, *, who: str = "admin", **body: object) -> httpx2.Response:
    return await g.call("PUT", "/v1/switches/read-only", body, who=who)


async def test_while_it_is_on_only_what_is_declared_to_read_runs(either_gateway: Gateway) -> None:
    g = either_gateway
    said = await switch(g, on=True, reason="the audit is in the house")
    assert said.status_code == 200, said.text
    admin = said.json()["set_by"]
    assert admin.startswith("key:")
    denied = await call(g, "ping")
    assert (denied["decision"], denied["hook"]) == ("deny", "read-only")
    assert f"switched on by {admin} (the audit is in the house) on 20" in denied["message"]
    assert (await call(g, "read_all"))["decision"] == "allow"
    assert (await call(g, "pay"))["hook"] == "read-only"  # the file does not say what it does: it writes
    assert (await switch(g, on=False)).json()["on"] is False
    assert (await call(g, "ping"))["decision"] == "allow"
    assert [kind for kind, actor in g.trail() if actor == admin] == ["switch.set", "switch.set"]


async def test_one_agent_alone_may_be_read_only(gateway: Gateway) -> None:
    await switch(gateway, on=True, agent="shop")
    assert (await call(gateway, "ping"))["decision"] == "deny"
    assert "for the agent shop" in (await call(gateway, "ping"))["reason"]
    assert (await call(gateway, "ping", "agent:other"))["decision"] == "allow"
    listed = (await gateway.call("GET", "/v1/switches", who="admin")).json()["items"]
    assert [(each["name"], each["agent"], each["on"]) for each in listed] == [("read-only", "shop", True)]


async def test_it_is_the_orgs_own(gateway: Gateway) -> None:
    await switch(gateway, on=True)
    said = await gateway.call("POST", "/v1/requests", {"tool": "ping", "arguments": {}}, org="globex")
    assert said.json()["decision"] == "ask"
    listed = await gateway.call("GET", "/v1/switches", who="admin", org="globex")
    assert listed.json()["items"] == []


@pytest.mark.parametrize("who", ["agent:shop", "auditor", "alice@acme.example"])
async def test_only_an_admin_may_touch_or_see_it(gateway: Gateway, who: str) -> None:
    assert (await switch(gateway, who=who, on=False)).status_code == 403
    assert (await gateway.call("GET", "/v1/switches", who=who)).status_code == 403


async def test_it_is_in_force_on_other_replicas_within_a_second_and_after_a_restart(
    sqlite_url: str, config: Path, platform: MemoryPlatform, gateway: Gateway
) -> None:
    clock: ManualClock = gateway.clock  # pyright: ignore[reportAssignmentType] - of this fixture it is one
    async with open_gateway(sqlite_url, config, platform, clock=clock) as other:
        assert (await call(other, "ping"))["decision"] == "allow"
        await switch(gateway, on=True)
        clock.advance(timedelta(seconds=0.6))
        assert (await call(other, "ping"))["decision"] == "deny"
    async with open_gateway(sqlite_url, config, platform, clock=clock) as again:
        assert (await call(again, "ping"))["decision"] == "deny"


async def test_an_approval_is_not_handed_out_while_read_only_is_on_and_stays_unspent(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("by_api", {"what": 1}, session="s")
    await g.decide(request)
    for whose in ({}, {"agent": "shop"}):
        await switch(g, on=True, reason="month end", **whose)
        refused = await g.claim(request)
        assert (refused.status_code, refused.json()["code"]) == (409, "read_only")
        assert "month end" in refused.json()["detail"]
        assert (await g.read(request))["state"] == "approved"
        await switch(g, on=False, **whose)
    assert (await g.claim(request)).status_code == 200


async def test_an_approval_of_what_only_reads_is_handed_out_all_the_same(gateway: Gateway) -> None:
    gateway.rewrite("  by_api: {}\n", "  by_api: {writes: false}\n")
    await gateway.reload()
    request = await gateway.ask("by_api", {"what": 1})
    await gateway.decide(request)
    await switch(gateway, on=True)
    assert (await gateway.claim(request)).status_code == 200


async def test_the_switch_of_an_agent_above_keeps_the_approval_too(gateway: Gateway) -> None:
    await gateway.call("POST", "/v1/hooks/SessionStart", {"session_id": "b"}, who="agent:boss")
    request = await gateway.ask("by_api", {"what": 1}, session="s", parent_session="b")
    await gateway.decide(request)
    await switch(gateway, on=True, agent="boss")
    assert (await gateway.claim(request)).json()["code"] == "read_only"


async def test_a_switch_for_an_agent_that_nobody_knows_is_set_with_a_warning(gateway: Gateway) -> None:
    await call(gateway, "ping")  # its key names the agent shop
    assert "warning" not in (await switch(gateway, on=True, agent="shop")).json()
    warned = (await switch(gateway, on=True, agent="shpo")).json()
    assert warned["on"] is True
    assert 'did you mean "shop"?' in warned["warning"]
    gateway.rewrite("rules:\n", "agents: {clerk: {}}\nrules:\n")
    await gateway.reload()
    assert "warning" not in (await switch(gateway, on=True, agent="clerk")).json()
