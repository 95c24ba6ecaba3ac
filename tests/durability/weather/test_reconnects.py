"""A gateway restarts under many who wait: each is sent away, comes back, is held again and hears its answer.

Nothing here says how fast: a slow day changes how long this takes, and nothing else.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from assent.client.pace import Pace
from assent.client.wire import Wire
from assent.command import exchange
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

AGENTS = 20
MOST_BYTES_EACH = 64 * 1024
"""Of one who waits: his call, his task and his place, and the client that this test holds for him as well."""
MOST_WEIGHED = 1_000
"""To be weighed makes whoever comes several times slower."""
PATIENT = 600
"""Seconds that each waits at most: all twenty thousand must have come before the first goes, however slow the day."""
MANY = pytest.mark.parametrize(
    "many",
    [
        100,
        pytest.param(500, marks=[pytest.mark.heavy, pytest.mark.whole, pytest.mark.timeout(240)]),
        pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="20k"),
    ],
)
Held = list["asyncio.Future[httpx2.Response]"]


def agent(n: int) -> str:
    return f"agent:a{n % AGENTS}"


async def opened(g: Gateway, n: int) -> dict[str, Any]:
    said = await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": n}}, who=agent(n))
    return said.json()["request"]


def waiting(g: Gateway, made: list[dict[str, Any]], places: range) -> Held:
    """Let one wait at each of these places, by turns for each of the requests."""
    return [
        asyncio.ensure_future(g.call("GET", f"/v1/requests/{made[n % AGENTS]['id']}?wait={PATIENT}", who=agent(n)))
        for n in places
    ]


async def held(g: Gateway, many: int) -> None:
    await eventually(lambda: len(g.container.waiters) == many, seconds=PATIENT)


@requirement("F-36")
@MANY
async def test_all_who_waited_are_held_again_and_answered(
    database_url: str,
    config: Path,
    platform: MemoryPlatform,
    many: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    bounded: bool,
) -> None:
    monkeypatch.setattr("app.api.agents.requests.LONGEST_WAIT", PATIENT)
    many = min(many, 5_000) if bounded else many
    share = many // AGENTS
    async with open_gateway(database_url, config, platform, calls_per_second=1e9) as g:
        made = [await opened(g, n) for n in range(AGENTS)]
        await g.key("alice@acme.example")
        before = waiting(g, made, range(many))
        await held(g, many)
        keys = g.keys
    sent_away = await asyncio.gather(*before)
    assert Counter(said.status_code for said in sent_away) == {503: many}
    assert {int(said.headers["retry-after"]) for said in sent_away} == {1}
    del before, sent_away
    async with open_gateway(database_url, config, platform, calls_per_second=1e9) as g:
        g.keys.update(keys)
        assert (await g.decide(made[0])).status_code == 200
        await asyncio.gather(*(g.read(each, who=agent(n)) for n, each in enumerate(made)))  # known from here on
        weighed = min(many, MOST_WEIGHED)
        again = waiting(g, made, range(many - weighed))
        await held(g, (many - weighed) // AGENTS * (AGENTS - 1))
        gc.collect()
        tracemalloc.start()
        try:
            again += waiting(g, made, range(many - weighed, many))
            first = await asyncio.gather(*again[::AGENTS])  # what was decided is told, whoever else comes back
            await held(g, many - share)
            gc.collect()
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert Counter(said.json()["state"] for said in first) == {"approved": share}
        assert not [each for n, each in enumerate(again) if n % AGENTS and each.done()]
        assert grown / weighed < MOST_BYTES_EACH
        await asyncio.gather(*(g.decide(each, "deny") for each in made[1:]))
        answers = await asyncio.gather(*again)
        assert Counter(said.json()["state"] for said in answers) == {"approved": share, "denied": many - share}
        assert len(g.container.waiters) == 0
        assert (await g.verify())[1] is None


@requirement("F-36")
async def test_all_who_are_told_the_same_span_come_back_at_different_instants() -> None:
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    wire = Wire("http://gateway.test", "key", transport=None, pace=Pace(sleep=sleep))
    async with anyio.create_task_group() as group:
        for _ in range(1_000):
            group.start_soon(lambda: wire.back_off(1, at_least=1.0, at_most=30.0))
    assert all(1.0 <= each <= 1.5 for each in slept)  # never earlier than the gateway asked
    tenths = Counter(int((each - 1.0) * 20) for each in slept)
    assert all(tenths[n] > 50 for n in range(10))
    await wire.back_off(1, at_least=60.0, at_most=30.0)
    assert slept[-1] == 30.0


@requirement("F-36")
def test_so_do_hooks_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()
    monkeypatch.setattr(exchange.time, "sleep", slept.append)
    for _ in range(1_000):
        exchange.pause(1, at_least=1.0, at_most=30.0)
    assert all(1.0 <= each <= 1.5 for each in slept)
    assert len({round(each, 2) for each in slept}) > 40
