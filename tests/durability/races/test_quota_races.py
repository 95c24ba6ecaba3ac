"""One agent's burst at its bound of waiting requests, on every replica: exactly as many open as may wait."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

MOST = 6
PENDING = "SELECT count(*) AS n FROM requests WHERE agent = 'flood' AND state = 'pending'"


@requirement("F-49", "S-32")
async def test_a_burst_opens_as_many_as_may_wait_and_not_one_more(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    """Replicas know nothing of each other's numbers: each begins the burst with a number that is too low."""
    async with AsyncExitStack() as stack:
        gateways = [
            await stack.enter_async_context(
                open_gateway(database_url, config, platform, max_pending_per_agent=MOST, calls_per_second=1e9)
            )
            for _ in range(1 if database_url.startswith("sqlite") else 2)
        ]
        await gateways[0].key("agent:flood")
        gateways[-1].keys |= gateways[0].keys
        for round_ in range(6):
            opened = await burst(gateways, round_)
            assert len(opened) == MOST
            assert gateways[0].rows(PENDING) == [{"n": MOST}]
            for at, id_ in enumerate(opened):
                await settle(gateways[at % len(gateways)], id_)
        _, fault = await gateways[0].verify()
        assert fault is None


async def burst(gateways: list[Gateway], round_: int) -> list[str]:
    """Create five times as many as may wait, all at once and over the replicas in turn; return what was opened."""
    said = await asyncio.gather(
        *(
            gateways[n % len(gateways)].call(
                "POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": [round_, n]}}, who="agent:flood"
            )
            for n in range(5 * MOST)
        )
    )
    assert {answer.status_code for answer in said} == {202, 429}
    return [answer.json()["request"]["id"] for answer in said if answer.status_code == 202]


async def settle(gateway: Gateway, id_: str) -> None:
    """Free a place."""
    said = await gateway.call("POST", f"/v1/requests/{id_}/cancel", {}, who="agent:flood")
    assert said.status_code == 200, said.text
