"""Those who hold the line: waiters, the event stream, and a stop that sends everybody away politely."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.usecases.reading.wait import Waiters
from app.workers.outbox_worker import OutboxWorker
from channels.feishu.simulator.server import serve
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

HANGS = 30  # seconds: half of what the calls ask to wait, so that one which does not end early is seen


async def _held(g: Gateway, count: int) -> None:
    await eventually(lambda: len(g.container.waiters) >= count, seconds=20)


async def test_a_waiter_is_answered_by_the_decision(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("by_api")
    await g.key("alice@acme.example")
    waiting = asyncio.ensure_future(g.call("GET", f"/v1/requests/{request['id']}?wait=60"))
    await _held(g, 1)
    await g.decide(request)
    async with asyncio.timeout(HANGS):
        assert (await waiting).json()["state"] == "approved"


async def test_a_waiter_on_another_replica_hears_of_it(
    postgres_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with (
        open_gateway(postgres_url, config, platform) as one,
        open_gateway(postgres_url, config, platform) as two,
    ):
        request = await one.ask("by_api")
        two.keys.update(one.keys)
        await one.key("alice@acme.example")
        waiting = asyncio.ensure_future(two.call("GET", f"/v1/requests/{request['id']}?wait=60"))
        await _held(two, 1)
        await one.decide(request)
        async with asyncio.timeout(HANGS):
            assert (await waiting).json()["state"] == "approved"


async def test_a_vote_wakes_who_asked_for_any_change(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two")
    await gateway.key("alice@acme.example")
    waiting = asyncio.ensure_future(
        gateway.call("GET", f"/v1/requests/{request['id']}?wait=60&since={request['version']}")
    )
    await _held(gateway, 1)
    await gateway.decide(request)
    seen = (await waiting).json()
    assert (seen["state"], seen["version"], len(seen["decisions"])) == ("pending", 2, 1)


async def _many(g: Gateway, waiters: int, requests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        (await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": n}})).json()["request"]
        for n in range(requests)
    ]
    await g.key("alice@acme.example")
    held = [
        asyncio.ensure_future(g.call("GET", f"/v1/requests/{made[n % requests]['id']}?wait=60")) for n in range(waiters)
    ]
    await _held(g, waiters)
    looks = counted_reads(g, monkeypatch)
    await asyncio.gather(*(g.decide(request, "approve" if n % 2 else "deny") for n, request in enumerate(made)))
    answers = await asyncio.gather(*held)
    states = Counter(answer.json()["state"] for answer in answers)
    assert states == {"approved": waiters // 2, "denied": waiters // 2}
    assert len(g.container.waiters) == 0
    # Each is woken for its own request alone, and handed what was committed; a decision looks at a few rows itself.
    assert len(looks) <= 10 * requests


def counted_reads(g: Gateway, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Write down each read of the store from now on."""
    looks, plain = list[None](), g.container.store.read

    async def read(*args: Any, **named: Any) -> Any:
        looks.append(None)
        return await plain(*args, **named)

    monkeypatch.setattr(g.container.store, "read", read)
    return looks


@pytest.mark.heavy
@pytest.mark.parametrize("waiters", [400, pytest.param(2_000, marks=pytest.mark.whole)])
async def test_thousands_of_waiters_on_one_process_are_all_answered(
    sqlite_url: str, config: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch, waiters: int
) -> None:
    async with open_gateway(sqlite_url, config, platform, calls_per_second=1e9) as g:
        await _many(g, waiters, 20, monkeypatch)


@pytest.mark.long
async def test_ten_thousand_waiters_on_one_process_are_all_answered(
    sqlite_url: str, config: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch, bounded: bool
) -> None:
    async with open_gateway(sqlite_url, config, platform, calls_per_second=1e9) as g:
        await _many(g, 3_000 if bounded else 10_000, 100, monkeypatch)


async def test_who_comes_when_all_places_are_taken_is_answered_at_once(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(sqlite_url, config, platform, max_waiters=1) as g:
        request = await g.ask("by_api")
        first = asyncio.ensure_future(g.call("GET", f"/v1/requests/{request['id']}?wait=60"))
        await _held(g, 1)
        async with asyncio.timeout(HANGS):
            second = await g.call("GET", f"/v1/requests/{request['id']}?wait=60")
        assert second.json()["state"] == "pending"
        assert not first.done()
        await g.decide(request)
        assert (await first).json()["state"] == "approved"


@requirement("S-54")
async def test_a_stop_sends_waiters_away_and_denies_nobody(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    held = [asyncio.ensure_future(gateway.call("GET", f"/v1/requests/{request['id']}?wait=60")) for _ in range(20)]
    await _held(gateway, 20)
    gateway.container.waiters.stop()
    answers = await asyncio.gather(*held)
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "unavailable")}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers)
    assert (await gateway.http.get("/readyz")).status_code == 503
    assert (await gateway.http.get("/healthz")).status_code == 200
    assert [row["status"] for row in gateway.rows("SELECT status FROM requests")] == ["pending"]
    assert gateway.trail(request)[-1][0] == "request.created"


async def test_a_loop_that_is_nudged_while_it_is_stopped_stops() -> None:
    class Idle:
        async def write(self, *_: object, **__: object) -> list[object]:
            return []

    for _ in range(20):
        worker = OutboxWorker(store=Idle(), deliver=None, org="acme", channel="chat", tick=timedelta(hours=1))  # pyright: ignore[reportArgumentType] - never delivers
        task = asyncio.ensure_future(worker.run())
        for _ in range(4):
            await asyncio.sleep(0)
        worker.nudge()
        await asyncio.sleep(0)  # the nudge has woken it, but it has not run yet
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=1)
        assert done, "the cancellation was swallowed"


def test_a_waiter_that_comes_while_stopping_is_not_kept() -> None:
    async def run() -> None:
        waiters = Waiters(most=10)
        waiters.stop()
        assert waiters.register("acme", "req_1").done()

    asyncio.run(run())


# --- the stream -------------------------------------------------------------------------------------------------------


async def _read(http: httpx2.AsyncClient, headers: dict[str, str], count: int) -> list[dict[str, Any]]:
    """Read so many events of the stream."""
    found: list[dict[str, Any]] = []
    event: dict[str, Any] = {}
    async with asyncio.timeout(HANGS), http.stream("GET", "/v1/events", headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if line == "" and event:
                found.append(event)
                event = {}
            elif name in {"id", "event", "data"}:
                event[name] = json.loads(value) if name != "event" else value
            if len(found) == count:
                break
    return found


@pytest.fixture
async def line(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with serve(gateway.app) as address, httpx2.AsyncClient(base_url=address, timeout=HANGS) as http:
        yield http


async def test_a_stream_resumes_where_it_broke_off(gateway: Gateway, line: httpx2.AsyncClient) -> None:
    g = gateway
    headers = await g.key("auditor")
    for n in range(3):
        await g.ask("by_api", {"n": n})
    first = await _read(line, {**headers, "last-event-id": "0"}, 2)
    rest = await _read(line, {**headers, "last-event-id": str(first[-1]["id"])}, 1)
    seen = [event["data"]["seq"] for event in (*first, *rest)]
    assert [event["id"] for event in (*first, *rest)] == seen
    assert seen == [1, 2, 3]


async def test_a_stream_tells_what_happens_while_it_is_open(gateway: Gateway, line: httpx2.AsyncClient) -> None:
    g = gateway
    headers = await g.key("auditor")
    await g.key("alice@acme.example")
    await g.key("agent:shop")
    reading = asyncio.ensure_future(_read(line, headers, 2))
    await eventually(lambda: g.container.feed._listeners)
    request = await g.ask("by_api")
    await g.decide(request)
    assert [event["event"] for event in await reading] == ["request.created", "request.approved"]


@requirement("S-14")
async def test_an_agent_hears_of_its_own_requests_alone(gateway: Gateway, line: httpx2.AsyncClient) -> None:
    g = gateway
    await g.ask("by_api", {"n": 1}, who="agent:other")
    await g.ask("all", {"n": 2}, org="globex")
    mine = await g.ask("by_api", {"n": 3})
    headers = {**await g.key("agent:shop"), "last-event-id": "0"}
    [event] = await _read(line, headers, 1)
    assert event["data"]["request_id"] == mine["id"]
    for bad in ("x", "-1", "9" * 40, "²"):
        given = {"authorization": headers["authorization"], "last-event-id": bad}
        said = await line.get("/v1/events", headers=httpx2.Headers(given, encoding="latin-1"))
        assert said.status_code == 422, bad


async def test_streams_end_when_the_process_stops(gateway: Gateway, line: httpx2.AsyncClient) -> None:
    reading = asyncio.ensure_future(_read(line, await gateway.key("auditor"), 1))
    await eventually(lambda: gateway.container.feed._listeners)
    gateway.container.feed.stop()
    assert await reading == []
