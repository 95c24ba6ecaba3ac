"""The rate limit of an org's file: counted in the store, for all replicas, over restarts."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.fixtures.gateway import ACME, open_gateway

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

LIMIT = (
    "hooks:\n  - {on: PreToolUse, tools: [ping], use: rate-limit, options: {limit: 2/minute, per: [agent]}}\nrules:\n"
)
PING = {"tool": "ping", "arguments": {}}


async def ping(g: Gateway, who: str = "agent:shop") -> str:
    return (await g.call("POST", "/v1/requests", PING, who=who)).json()["decision"]


async def test_replicas_share_the_count_and_a_restart_keeps_it(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    (config / "acme.yaml").write_text(ACME.replace("rules:\n", LIMIT))
    async with open_gateway(database_url, config, platform) as first:
        assert await ping(first) == "allow"
        if database_url.startswith("postgresql"):
            async with open_gateway(database_url, config, platform) as second:
                assert await ping(second) == "allow"
        else:
            assert await ping(first) == "allow"
    async with open_gateway(database_url, config, platform) as third:
        said = (await third.call("POST", "/v1/requests", PING)).json()
        assert (said["decision"], said["hook"]) == ("deny", "rate-limit")
        assert "wait" in said["message"]
        assert await ping(third, "agent:other") == "allow"


async def test_a_call_after_the_window_goes_again(gateway: Gateway) -> None:
    gateway.rewrite("rules:\n", LIMIT)
    await gateway.reload()
    assert [await ping(gateway) for _ in range(3)] == ["allow", "allow", "deny"]
    await gateway.advance(timedelta(seconds=61))
    assert await ping(gateway) == "allow"
