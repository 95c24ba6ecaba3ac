"""A hundred cards due at once, on a platform with a hard limit: all arrive, urgent ones first, hardly a call refused.

Time is one manual clock: the gateway's, the platform's, and that of the pace. Whoever waits moves it, once every call
that is under way has come back.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from app.usecases.cards.deliver import Deliver
from app.usecases.platforms.pacing import Pacing
from app.workers.outbox_worker import OutboxWorker
from channels.feishu.simulator.simulator import FeishuSimulator
from channels.slack.simulator.simulator import SlackSimulator
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from app.storage.engine.store import Store
    from channels.feishu.simulator.platform import Platform
    from channels.slack.simulator.state import World
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CARDS, URGENT, HOLD = 100, 5, 10


pytestmark = pytest.mark.heavy


@dataclass(slots=True, kw_only=True)
class Strict:
    """A gateway in front of a platform with a hard limit in its chat."""

    gateway: Gateway
    clock: ManualClock
    simulator: FeishuSimulator | SlackSimulator
    chat: str
    asleep: list[datetime] = field(default_factory=list[datetime])

    def arrived(self) -> list[str]:
        """Return what the chat shows, in order."""
        if isinstance(self.simulator, SlackSimulator):
            return [json.dumps(entry["blocks"]) for entry in self.simulator.view(self.chat)]
        messages = self.simulator.platform.messages
        return ["\n".join(self.simulator.texts(each)) for each, of in messages.items() if of.chat_id == self.chat]

    def refused(self) -> int:
        """Return how many calls the platform refused for its limit."""
        return self.place.refused_for_rate

    @property
    def place(self) -> World | Platform:
        """Where the platform's state is."""
        return self.simulator.world if isinstance(self.simulator, SlackSimulator) else self.simulator.platform

    async def wait(self, seconds: float) -> None:
        """Sleep: whoever wakes first moves the clock there, once nobody who is awake still calls."""
        channel: Any = self.gateway.container.channels.get("acme", "pay")
        at, me = self.clock.now() + timedelta(seconds=seconds), asyncio.current_task()
        assert me is not None
        channel.awake.discard(me)  # `counted` sets it
        self.asleep.append(at)
        await eventually(lambda: not channel.awake and at == min(self.asleep))
        self.asleep.remove(at)
        channel.awake.add(me)
        me.add_done_callback(channel.awake.discard)
        self.clock.advance(max(at - self.clock.now(), timedelta(0)))


def policy(channel: dict[str, object]) -> dict[str, object]:
    asks: dict[str, object] = {"then": "ask", "timeout": "2h", "channels": ["pay"], "remind": []}
    return {
        "org": "acme",
        "default": "deny",
        "people": {"alice@acme.example": {"name": "Alice"}},
        "groups": {"finance": ["alice@acme.example"]},
        "channels": {"pay": channel},
        "tools": {"routine": {}, "urgent": {}},
        "rules": [
            {"id": name, "tools": [name], "risk": risk, **asks, "stages": [{"of": ["finance"]}]}
            for name, risk in (("routine", "normal"), ("urgent", "high"))
        ],
    }


def counted(channel: Any) -> None:
    """Know which posts are under way, and which are about to be, by their tasks."""
    post, channel.awake = channel.post, set[Any]()

    async def counting(*arguments: Any) -> Any:
        me = asyncio.current_task()
        channel.awake.add(me)
        try:
            return await post(*arguments)
        finally:
            channel.awake.discard(me)

    channel.post = counting


@pytest.fixture(params=["feishu", "slack"])
async def strict(
    request: pytest.FixtureRequest, sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> AsyncIterator[Strict]:
    clock = ManualClock()
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("NO_PROXY", "no_proxy"):  # a Feishu channel on loopback writes them for its SDK
            patch.setenv(name, "")
        if request.param == "feishu":
            feishu = await stack.enter_async_context(FeishuSimulator(clock=clock))
            chat = feishu.add_chat(feishu.add_person("Alice", email="alice@acme.example"))
            settings = feishu.settings(chat)
            feishu.platform.enforces_rates, feishu.platform.holds_for = True, HOLD
            simulator: FeishuSimulator | SlackSimulator = feishu
        else:
            slack = await stack.enter_async_context(SlackSimulator(clock=clock))
            slack.add_person("U061F7AUR", name="alice", email="alice@acme.example")
            settings, chat = slack.configuration(), slack.room.id
            slack.world.limits_rate, slack.world.holds_for = True, HOLD
            simulator = slack
        environ = dict[str, str]()
        for secret in ("app_secret", "encrypt_key", "verification_token", "bot_token", "signing_secret", "app_token"):
            if secret in settings:
                environ[secret.upper()] = str(settings[secret])
                settings[secret] = f"${{{secret.upper()}}}"
        folder = tmp_path / "orgs"
        folder.mkdir()
        await asyncio.to_thread((folder / "acme.yaml").write_text, json.dumps(policy(settings)))
        gateway = await stack.enter_async_context(
            open_gateway(sqlite_url, folder, platform, clock=clock, environ=environ)
        )
        counted(gateway.container.channels.get("acme", "pay"))
        strict = Strict(gateway=gateway, clock=clock, simulator=simulator, chat=chat)
        gateway.container.pacing.clock = lambda: clock.now().timestamp()
        gateway.container.pacing.sleep = strict.wait
        yield strict


async def carried(strict: Strict, worker: OutboxWorker) -> None:
    """Be the worker until nothing waits any more."""
    while strict.gateway.rows("SELECT 1 FROM outbox WHERE status = 'queued'"):
        if not await worker.round():
            strict.clock.advance(timedelta(seconds=1))


@requirement("F-45", "F-29")
async def test_a_hundred_cards_all_arrive_urgent_ones_first_and_hardly_a_call_is_refused(strict: Strict) -> None:
    gateway = strict.gateway
    worker, tasks = gateway.container.work._running["acme", "pay"]
    tasks[0].cancel()  # this test is the worker
    await asyncio.gather(*tasks, return_exceptions=True)
    for n in range(CARDS):
        tool = "urgent" if n >= CARDS - URGENT else "routine"
        said = await gateway.call("POST", "/v1/requests", {"tool": tool, "arguments": {"n": n}})
        assert said.status_code == 202, said.text
    began = strict.clock.now()
    async with asyncio.timeout(120):
        await carried(strict, worker)
    cards = strict.arrived()
    assert len(cards) == CARDS
    assert all("urgent" in card for card in cards[:URGENT])
    assert strict.refused() < 0.05 * CARDS
    assert strict.clock.now() - began < timedelta(minutes=5)
    assert gateway.rows("SELECT id FROM outbox WHERE status = 'dead'") == []


@requirement("F-45")
async def test_after_a_refusal_nothing_is_tried_there_until_the_platform_wished(strict: Strict) -> None:
    gateway = strict.gateway
    worker, tasks = gateway.container.work._running["acme", "pay"]
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    strict.place.held_until[strict.chat] = strict.clock.now() + timedelta(
        seconds=HOLD
    )  # another app used the chat's limit up
    for n in range(20):
        await gateway.call("POST", "/v1/requests", {"tool": "routine", "arguments": {"n": n}})
    async with asyncio.timeout(60):
        await carried(strict, worker)
    assert len(strict.arrived()) == 20
    assert 1 <= strict.refused() <= 4  # what was under way together, and never again


class Awake:
    """The store, which nobody lets time pass beside."""

    def __init__(self, strict: Strict) -> None:
        self._strict = strict

    async def write(self, unit: Any, *, org: str) -> Any:
        channel: Any = self._strict.gateway.container.channels.get("acme", "pay")
        me = asyncio.current_task()
        assert me is not None
        channel.awake.add(me)
        me.add_done_callback(channel.awake.discard)
        return await self._strict.gateway.container.store.write(unit, org=org)


def replica(strict: Strict) -> OutboxWorker:
    """Return the worker of another replica, which shares with the first one the database alone."""
    container = strict.gateway.container
    pacing = Pacing(container.platforms, shared=cast("Store", Awake(strict)))
    pacing.clock, pacing.sleep = container.pacing.clock, strict.wait
    deliver = Deliver(
        store=container.store,
        book=container.book,
        channels=container.channels,
        pacing=pacing,
        seals=container.seals,
        give_up_after=container.settings.give_up_after,
        contact=container.contact,
    )
    return OutboxWorker(store=container.store, deliver=deliver, org="acme", channel="pay", tick=timedelta(hours=1))


@requirement("F-45")
async def test_two_replicas_keep_to_one_limit_together_and_no_card_is_lost(strict: Strict) -> None:
    gateway = strict.gateway
    _, tasks = gateway.container.work._running["acme", "pay"]
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for n in range(CARDS):
        await gateway.call("POST", "/v1/requests", {"tool": "routine", "arguments": {"n": n}})
    workers = [replica(strict), replica(strict)]
    began = strict.clock.now()
    async with asyncio.timeout(240):
        while strict.gateway.rows("SELECT 1 FROM outbox WHERE status = 'queued'"):
            if not any(await asyncio.gather(*(worker.round() for worker in workers))):
                strict.clock.advance(timedelta(seconds=1))
    assert len(strict.arrived()) == CARDS
    assert strict.refused() < 0.05 * CARDS
    assert strict.clock.now() - began < timedelta(minutes=5)


@requirement("F-45")
async def test_what_the_platform_said_to_one_replica_the_other_goes_by(strict: Strict) -> None:
    gateway = strict.gateway
    _, tasks = gateway.container.work._running["acme", "pay"]
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for n in range(8):
        await gateway.call("POST", "/v1/requests", {"tool": "routine", "arguments": {"n": n}})
    strict.place.held_until[strict.chat] = strict.clock.now() + timedelta(seconds=HOLD)  # another app used it up
    first, second = replica(strict), replica(strict)
    await first.round()
    refused = strict.refused()
    assert refused >= 1
    await second.round()
    assert strict.refused() == refused
    async with asyncio.timeout(120):
        while strict.gateway.rows("SELECT 1 FROM outbox WHERE status = 'queued'"):
            if not any([await first.round(), await second.round()]):
                strict.clock.advance(timedelta(seconds=1))
    assert len(strict.arrived()) == 8
