"""A gateway that is stopped in the middle of a press, and another one that comes back on the same database."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.fixtures.browsers import needs_chromium, seats
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = [needs_chromium, pytest.mark.process, pytest.mark.heavy, pytest.mark.timeout(120)]


class Line:
    """What stands between the browser and whichever gateway runs: it is cut while a press is under way."""

    def __init__(self, gateway: Gateway) -> None:
        """Lead to a gateway."""
        self.app = gateway.app
        self.cut = ""  # "before" a press arrives, or "after" it was carried out

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Carry one call, or lose it."""
        pressed = scope["type"] == "http" and scope["method"] == "POST" and self.cut
        if pressed == "after":
            await self.app(scope, receive, _nowhere)
        if pressed:
            raise ConnectionResetError
        await self.app(scope, receive, send)


async def _nowhere(message: Any) -> None:
    del message


@requirement("S-22")
@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_gateway_restarted_in_the_middle_of_a_press_counts_it_once(
    sqlite_url: str, config: Path, platform: MemoryPlatform, cut: str
) -> None:
    clock = ManualClock()
    async with AsyncExitStack() as first_runs, AsyncExitStack() as all_of_it:
        first = await first_runs.enter_async_context(open_gateway(sqlite_url, config, platform, clock=clock))
        request = await first.ask("pay_two")
        line = first.app = Line(first)
        served = await all_of_it.enter_async_context(seats(first))
        page = await served.before(request, java_script_enabled=False)
        line.cut = cut
        await page.locator("button.go").click()
        await first_runs.aclose()  # really stopped: its workers, its container, its connections
        second = await all_of_it.enter_async_context(open_gateway(sqlite_url, config, platform, clock=clock))
        line.app, line.cut = second.app, ""
        await page.goto(f"{served.url}/r/{request['id']}")  # the session is as good as before
        if cut == "before":
            await page.locator("button.go").click()
        await expect(page.locator("#undo")).to_have_count(1)
        served.complaints.clear()  # the browser has said that it lost the gateway
        votes = [kind for kind, _ in second.trail(request) if kind == "request.voted"]
        assert votes == ["request.voted"]
        assert (await second.read(request))["status"] == "pending"
        assert (await second.verify())[1] is None
