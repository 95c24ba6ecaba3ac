"""One agent floods with all it has: its own calls are refused, its neighbours are served, and the memory holds.

Nothing here says how fast: a slow day changes how long this takes, and nothing else.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.api.wire import bodies
from channels.feishu.simulator.server import serve
from tests.durability.races.test_races import number
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

QUOTA = 20
DEEP = b'{"tool":"by_api","arguments":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}"
KIB = 1 if sys.platform == "linux" else 1024  # in which unit the peak is told
MOST_GROWN = 96 * 1024  # KiB


@requirement("F-37", "S-32", "S-33")
@pytest.mark.parametrize(
    "rounds", [150, pytest.param((3_000, 60_000), marks=[pytest.mark.long, pytest.mark.timeout(7200)], id="many")]
)
async def test_whoever_floods_is_stopped_and_whoever_does_not_is_served(
    database_url: str,
    config: Path,
    platform: MemoryPlatform,
    monkeypatch: pytest.MonkeyPatch,
    rounds: Any,
    *,
    bounded: bool,
) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.5)
    many = number(rounds, bounded=bounded)
    async with (
        open_gateway(database_url, config, platform, max_pending_per_agent=QUOTA, calls_per_second=1e9) as g,
        serve(g.app) as address,
        httpx2.AsyncClient(base_url=address, timeout=60) as http,
    ):
        flood = Flood(http, address, await g.key("agent:flood"))
        await flood.round(0)  # what is made once is there now
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, many, 50):
            attack = asyncio.ensure_future(flood.round(start))
            await neighbours(g, start)
            await attack
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // KIB
        assert grown < MOST_GROWN
        assert set(flood.said["creations"]) == {202, 429}
        assert flood.said["creations"][202] == QUOTA
        assert flood.said["creations"][429] >= many - QUOTA
        assert set(flood.said["huge"]) <= {408, 413}  # 408: on a slow day a large body takes too long to arrive
        assert set(flood.said["deep"]) <= {408, 422}
        assert set(flood.said["slow"]) <= {408, 413, 422}
        pending = "SELECT count(*) AS n FROM requests WHERE agent = 'flood' AND status = 'pending'"
        assert g.rows(pending) == [{"n": QUOTA}]
        assert not g.rows("SELECT id FROM requests WHERE agent = 'flood' AND status <> 'pending'")


async def neighbours(g: Gateway, start: int) -> None:
    """Do everything that others do meanwhile: an agent asks, a person decides, the agent claims and reports."""
    said = await g.call("POST", "/v1/requests", {"tool": "ping", "arguments": {"n": start}}, who="agent:neighbour")
    assert (said.status_code, said.json()["decision"]) == (200, "allow")
    body = {"tool": "by_api", "arguments": {"n": start}}
    asked = (await g.call("POST", "/v1/requests", body, who="agent:neighbour")).json()["request"]
    assert (await g.decide(asked)).json()["state"] == "approved"
    assert (await g.claim(asked, who="agent:neighbour")).status_code == 200
    report = {"claim_id": "claim-1", "status": "succeeded"}
    path = f"/v1/requests/{asked['id']}/outcome"
    assert (await g.call("POST", path, report, who="agent:neighbour")).json()["state"] == "succeeded"


class Flood:
    """One agent's key, used without end."""

    def __init__(self, http: httpx2.AsyncClient, address: str, headers: dict[str, str]) -> None:
        self.said: dict[str, Counter[int]] = {name: Counter() for name in ("creations", "huge", "deep", "slow")}
        self._http = http
        self._port = int(address.rsplit(":", 1)[1])
        self._headers = headers

    async def round(self, start: int) -> None:
        """Send fifty calls, and a few of each other kind, all at once."""
        creations = (self._creation(start + n) for n in range(50))
        others = [each() for _ in range(3) for each in (self._huge, self._deep, self._slow)]
        await asyncio.gather(*creations, *others)

    async def _creation(self, n: int) -> None:
        body = {"tool": "by_api", "arguments": {"n": n, "x": "y" * 2_000}}
        said = await self._http.post("/v1/requests", json=body, headers=self._headers)
        self.said["creations"][said.status_code] += 1

    async def _huge(self) -> None:
        async def body() -> AsyncIterator[bytes]:
            for _ in range(200):
                yield b" " * 64 * 1024

        try:
            said = await self._http.post("/v1/requests", content=body(), headers=self._headers)
        except httpx2.TransportError:  # the connection was closed on what was still being sent
            self.said["huge"][413] += 1
        else:
            self.said["huge"][said.status_code] += 1

    async def _deep(self) -> None:
        said = await self._http.post("/v1/requests", content=DEEP, headers=self._headers)
        self.said["deep"][said.status_code] += 1

    async def _slow(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        lines = "".join(f"{key}: {value}\r\n" for key, value in {"content-length": "100", **self._headers}.items())
        writer.write(f"POST /v1/requests HTTP/1.1\r\nhost: x\r\n{lines}\r\n{{".encode())
        try:
            line = await asyncio.wait_for(reader.readline(), 60)
        finally:
            writer.close()
        self.said["slow"][int(line.split()[1])] += 1
