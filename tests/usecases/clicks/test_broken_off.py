"""A gateway is killed while it posts a card: people see it, and its buttons count as soon as the next gateway runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.gateway import PAY, ManualClock, open_gateway
from tests.fixtures.memory_platform import MemoryChannel
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


async def asked(g: Gateway, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Submit a call whose card arrives, and whose answer does not."""
    post = MemoryChannel.post

    async def unanswered(self: MemoryChannel, post_: Any) -> Any:
        await post(self, post_)
        await asyncio.Event().wait()

    patch.setattr(MemoryChannel, "post", unanswered)
    said = await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": PAY})
    request = said.json()["request"]
    await eventually(lambda: g.platform.of(request["id"]))
    return request


async def pressed(g: Gateway, request: dict[str, Any]) -> dict[str, Any]:
    """Press Approve, whatever else goes on."""
    click = g.platform.press(g.card(request), "U_ALICE", "approve")
    answer = await g.container.clicks("acme", g.container.channels.get("acme", "chat"), click)
    return answer.body or {}


@requirement("F-03")
async def test_its_buttons_count_as_soon_as_the_next_gateway_runs(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock()
    with pytest.MonkeyPatch.context() as patch:
        async with open_gateway(sqlite_url, config, platform, clock=clock) as g:
            request = await asked(g, patch)
    clock.advance(timedelta(seconds=6))  # of the thirty that the killed one had taken
    async with open_gateway(sqlite_url, config, platform, clock=clock) as g:
        await g.quiet()
        assert len(platform.of(request["id"])) == 1
        assert (await pressed(g, request))["result"] == "recorded"
        assert (await g.read(request))["state"] == "approved"


@requirement("F-03")
async def test_until_its_place_is_known_a_person_hears_how_long_it_may_take(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await asked(gateway, monkeypatch)
    said = await pressed(gateway, request)
    assert (said["result"], said["sentence"]) == ("retry", "Nothing was recorded. Please press again in a moment.")
    assert isinstance(gateway.clock, ManualClock)
    gateway.clock.advance(timedelta(seconds=6))
    said = await pressed(gateway, request)
    assert said["result"] == "retry"
    assert "press again in half a minute" in said["sentence"]
    assert (await gateway.read(request))["decisions"] == []


async def test_what_another_replica_holds_is_left_to_it(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    await asked(gateway, monkeypatch)
    monkeypatch.setattr(gateway.container.store.dialect, "name", "postgresql")
    before = gateway.rows("SELECT id, due_at FROM outbox")
    await gateway.container.work.take_up("acme")
    assert gateway.rows("SELECT id, due_at FROM outbox") == before
    monkeypatch.setattr(gateway.container.store.dialect, "name", "sqlite")
    await gateway.container.work.take_up("acme")
    assert gateway.rows("SELECT id, due_at FROM outbox") != before
