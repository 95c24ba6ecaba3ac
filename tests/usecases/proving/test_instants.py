"""What a row says of an instant is what its event says, though no two looks at a clock say the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.enforced import enforce
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.standing import PAY, approved, break_glass, standing, submit, write_standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

    Story = Callable[[Gateway], Awaitable[None]]


class GoingClock(ManualClock):
    """Goes on with each look, as every real one does."""

    def now(self) -> datetime:
        self.advance(timedelta(microseconds=1))
        return super().now()


async def _of_a_standing_approval(g: Gateway) -> None:
    await standing(g, await approved(g, "wire"))
    assert (await submit(g, "wire"))["request"]["state"] == "approved"


async def _of_a_broken_glass(g: Gateway) -> None:
    await break_glass(g)
    assert (await submit(g))["request"]["state"] == "approved"


async def _of_a_whole_life(g: Gateway) -> None:
    request = await approved(g)
    assert (await g.read(request))["state"] == "succeeded"


async def _denied(g: Gateway) -> None:
    assert (await g.decide(await g.ask("pay", PAY), "deny", reason="not ours")).status_code == 200


async def _cancelled(g: Gateway) -> None:
    request = await g.ask("pay", PAY)
    assert (await g.call("POST", f"/v1/requests/{request['id']}/cancel", {}, who="agent:shop")).status_code == 200


@requirement("S-64")
@pytest.mark.parametrize("story", [_of_a_standing_approval, _of_a_broken_glass, _of_a_whole_life, _denied, _cancelled])
async def test_the_instants_of_rows_are_those_of_their_events(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, story: Story
) -> None:
    clock = GoingClock()
    async with open_gateway(database_url, write_standing(tmp_path), platform, clock=clock) as g:
        await story(g)
        assert (await g.verify())[1] is None


@requirement("S-64")
async def test_so_are_they_of_what_a_rule_allows_and_only_an_executor_runs(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform, clock=GoingClock()) as g:
        await enforce(g)
        assert (await submit(g, "ping", {}))["request"]["state"] == "approved"
        assert (await g.verify())[1] is None
