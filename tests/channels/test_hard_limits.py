"""A hundred cards due at once, on a platform with a hard limit: all arrive, urgent ones first, hardly a call refused.

Time is one manual clock: the gateway's, the platform's, and that of the pace. Whoever waits moves it, once every call
that is under way has come back.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from channels.feishu.simulator.simulator import FeishuSimulator
from channels.slack.simulator.simulator import SlackSimulator
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from app.workers.outbox_worker import OutboxWorker
    from channels.feishu.simulator.platform import Platform
    from channels.slack.simulator.state import World
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CARDS, URGENT, HOLD = 100, 5, 10


@dataclass(slots=True, kw_only=True)
class Strict:
    """A gateway in front of a platform with a hard limit in its chat."""

    gateway: Gateway
    clock: ManualClock
    simulator: FeishuSimulator | SlackSimulator
    chat: str

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
        """Let time pass, after whatever is under way."""
        channel: Any = self.gateway.container.channels.get("acme", "pay")
        await eventually(lambda: channel.under_way == 0)  # `counted` sets it
        self.clock.advance(timedelta(seconds=seconds))


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
    """Count the posts that are under way."""
    post, channel.under_way = channel.post, 0

    async def counting(*arguments: Any) -> Any:
        channel.under_way += 1
        try:
            return await post(*arguments)
        finally:
            channel.under_way -= 1

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
