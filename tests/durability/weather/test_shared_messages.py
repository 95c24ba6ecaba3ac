"""Shared messages on a platform that fails in every way: nobody is lost, and no button decides another's request."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from app.ports import ChannelRefusedError, ChannelUnavailableError, EditClosedError
from tests.durability.invariants import faults
from tests.fixtures.gateway import open_gateway
from tests.fixtures.memory_platform import MemoryChannel
from tests.fixtures.shared_messages import click_on, items_of, places_of
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from app.domain.card.card import Card
    from app.ports import MessageRef, Post
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

PEOPLE = frozenset(f"{name}@acme.example" for name in ("alice", "bob", "carol", "olga", "rita"))
SOON = timedelta(milliseconds=1)
SEEDS = [0, 1, 3, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, *range(4, 8)))]
SETTINGS = """
  - {id: small, tools: [small], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30d, risk: low}
attention: {group: 10m, cool_down: 0s}
"""


class Sick:
    """A platform's moods: while it is sick, calls fail at random, before or after they took effect."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.sick = True
        self.closed = set[str]()  # messages that could not be edited when it mattered: their old buttons are dead

    def before(self, card: Card, ref: MessageRef | None = None) -> None:
        """Fail without effect."""
        if not self.sick:
            return
        if card.also and self.draw.random() < 0.2:
            raise ChannelRefusedError("too long together")
        if ref is not None and self.draw.random() < 0.1:
            self.closed.add(ref.message_id)
            raise EditClosedError("deleted")
        self._fail(0.2)

    def after(self) -> None:
        """Fail with the effect there."""
        if self.sick:
            self._fail(0.15, ambiguous=True)

    def _fail(self, chance: float, *, ambiguous: bool | None = None) -> None:
        if self.draw.random() >= chance:
            return
        if self.draw.random() < 0.3:
            raise asyncio.CancelledError  # the worker dies here
        either = self.draw.random() < 0.5 if ambiguous is None else ambiguous
        raise ChannelUnavailableError("away", retry_after=SOON, ambiguous=either)


@pytest.fixture
def sick(monkeypatch: pytest.MonkeyPatch) -> Sick:
    """Make the platform in memory a sick one."""
    mood, post, refresh = Sick(0), MemoryChannel.post, MemoryChannel.refresh

    async def sick_post(self: MemoryChannel, sent: Post) -> MessageRef:
        await asyncio.sleep(0)
        mood.before(sent.card)
        ref = await post(self, sent)
        mood.after()
        return ref

    async def sick_refresh(self: MemoryChannel, ref: MessageRef, card: Card) -> None:
        await asyncio.sleep(0)
        mood.before(card, ref)
        await refresh(self, ref, card)
        mood.after()

    monkeypatch.setattr(MemoryChannel, "post", sick_post)
    monkeypatch.setattr(MemoryChannel, "refresh", sick_refresh)
    return mood


def of_all(gateway: Gateway) -> dict[str, str]:
    return {row["id"]: row["state"] for row in gateway.rows("SELECT id, state FROM requests")}


async def work(gateway: Gateway, *, leases: bool) -> None:
    """Let two workers a channel do what is due; with `leases`, what dead ones hold as well."""
    if leases:
        gateway.rows("UPDATE outbox SET due_at = 1 WHERE status = 'queued'")
    for worker, _ in gateway.container.work._running.values():
        worker.nudge()
        for _ in range(4):
            await worker.round()


async def drained(gateway: Gateway) -> None:
    async with asyncio.timeout(60):
        while gateway.rows("SELECT 1 FROM outbox WHERE status = 'queued'"):
            await work(gateway, leases=True)
            await asyncio.sleep(0.01)


async def step(gateway: Gateway, draw: random.Random, n: int) -> None:
    """Do something that people, agents or the platform do."""
    match draw.randrange(6):
        case 0 | 1 | 2:
            tool = draw.choice(["long", "long", "small"])
            await ask(gateway, [tool] * draw.randint(1, 4), n, draw.choice(["s-1", "s-1", "s-2"]))
        case 3 | 4:
            waiting = [key for key, state in sorted(of_all(gateway).items()) if state == "pending"]
            if waiting:
                await press(gateway, draw.choice(waiting), draw.choice(["approve", "deny"]))
        case _:
            waiting = [key for key, state in sorted(of_all(gateway).items()) if state == "pending"]
            if waiting:
                await gateway.call("POST", f"/v1/requests/{draw.choice(waiting)}/cancel", {})
    await work(gateway, leases=draw.random() < 0.3)


async def ask(gateway: Gateway, tools: list[str], n: object, session: str = "s-1") -> None:
    """Submit some calls at once."""
    bodies = [
        {"tool": tool, "arguments": {"n": f"{n}-{index}"}, "session": session} for index, tool in enumerate(tools)
    ]
    for said in await asyncio.gather(*(gateway.call("POST", "/v1/requests", body) for body in bodies)):
        assert said.status_code == 202, said.text


async def press(gateway: Gateway, request_id: str, verdict: str) -> str:
    """Press a request's own button, and see that nothing but that request moved."""
    before = of_all(gateway)
    if not places_of(gateway, {"id": request_id}):
        return "nowhere"
    click = click_on(gateway, {"id": request_id}, verdict)
    answer = await gateway.container.clicks("acme", gateway.container.channels.get("acme", "chat"), click)
    after = of_all(gateway)
    assert {key for key in before if before[key] != after[key]} <= {request_id}
    return str((answer.body or {})["result"])


@asynccontextmanager
async def running(url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(url, config, platform) as gateway:
        yield gateway


@requirement("F-02", "F-03", "S-12", "S-21")
@pytest.mark.seeds(*SEEDS)
@pytest.mark.sampled(3)
async def test_every_request_that_waits_has_one_live_place_in_the_end_and_is_decided_there_alone(
    database_url: str, config: Path, platform: MemoryPlatform, sick: Sick, seed: int
) -> None:
    sick.draw = random.Random(seed)
    platform.findable = seed % 2 == 0
    platform.deduplicates_for = timedelta(hours=1) if seed % 3 == 0 else timedelta(0)
    acme = config / "acme.yaml"
    acme.write_text(acme.read_text().replace("  owned: {}\n", "  owned: {}\n  small: {}\n") + SETTINGS)
    draw = random.Random(f"steps {seed}")
    with capture_logs():
        async with running(database_url, config, platform) as gateway:
            for n in range(12):
                await step(gateway, draw, n)
        async with running(database_url, config, platform) as gateway:
            for n in range(100, 112):
                await step(gateway, draw, n)
            await ask(gateway, ["long"] * 4, "last")
            sick.sick = False
            await drained(gateway)
            await one_place_each(gateway, draw, sick.closed)
    assert faults(database_url, entitled=PEOPLE) == []


async def one_place_each(gateway: Gateway, draw: random.Random, closed: set[str]) -> None:
    waiting = [key for key, state in sorted(of_all(gateway).items()) if state == "pending"]
    assert len(waiting) > 3
    assert any(message.card.also for message in gateway.platform.messages)
    for key in waiting:
        [delivery] = gateway.rows(f"SELECT * FROM deliveries WHERE request_id = '{key}'")
        [(message, card)] = places_of(gateway, {"id": key})
        assert (delivery["status"], delivery["message_id"]) == ("live", message.ref.message_id)
        assert card.buttons is not None
        assert len(items_of(message)) <= 5
    draw.shuffle(waiting)
    for key in waiting:
        assert await press(gateway, key, "approve") == "recorded"
        assert of_all(gateway)[key] == "approved"
        await work(gateway, leases=False)
    await drained(gateway)
    requests = [{"id": key} for key in of_all(gateway)]
    assert [places_of(gateway, each) for each in requests] == [[] for _ in requests]
    of_now = {str(row["message_id"]) for row in gateway.rows("SELECT message_id FROM deliveries")} - closed
    live = [message for message in gateway.platform.messages if message.ref.message_id in of_now]
    assert not [card for message in live for card in items_of(message) if card.buttons]
    assert not gateway.rows("SELECT id FROM deliveries WHERE status IN ('queued', 'live')")
