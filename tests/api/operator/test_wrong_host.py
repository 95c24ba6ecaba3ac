"""A host whose clock is wrong: an alarm, and what platforms have signed is as fresh as the database says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from structlog.testing import capture_logs

from app.cli.doctor.replicas import look_at_replicas
from app.ports import Severity
from tests.fixtures.patience import HANGS
from tests.fixtures.platforms import open_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

HOUR, DAY, WINDOW = timedelta(hours=1), timedelta(days=1), timedelta(seconds=301)
OFF = {"1 h ahead": HOUR, "1 h behind": -HOUR, "1 day ahead": DAY, "1 day behind": -DAY, "just behind": -WINDOW}


class Set:
    """A clock, and how far somebody has set it."""

    def __init__(self) -> None:
        self.by = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.by


async def status_of(stage: Stage, door: str) -> int:
    """Send a platform's last call once more, byte for byte; return what is answered."""
    sent = stage.slack.last_delivery if door == "slack" else stage.feishu.last_delivery
    headers, body = sent.headers, sent.body
    async with httpx2.AsyncClient(timeout=HANGS) as http:
        url = f"{stage.url}/v1/channels/pay-{door}/callback"
        return (await http.post(url, content=body, headers=list(headers))).status_code


@requirement("S-44", "F-34")
@pytest.mark.parametrize("door", ["slack", "feishu"])
@pytest.mark.parametrize("off", OFF.values(), ids=OFF)
async def test_clicks_are_as_fresh_as_the_database_says(
    postgres_url: str, tmp_path: Path, platform: MemoryPlatform, door: str, off: timedelta
) -> None:
    right: Any = Set()
    host: Any = Set()
    async with open_stage(postgres_url, tmp_path, platform, clock=right, hosts=host) as stage:
        g = stage.gateway
        request = await stage.ask()
        host.by = off  # while it waits
        with capture_logs() as logs:
            for _ in range(3):
                await g.container.replicas()
            # What was signed long ago, or is signed for later, is fresh by this host's clock alone.
            right.by = off
            await stage.click(door, request, "alice")
            assert await status_of(stage, door) == 401
            assert await stage.state(request) == "pending"
            right.by = timedelta(0)
            await stage.click(door, request, "alice")
            assert await status_of(stage, door) == 200
            assert await stage.state(request) == "approved"
        alarms = [each for each in logs if each["event"] == "replicas.differ"]
        assert [(each["matter"], each["log_level"]) for each in alarms] == [("clock", "critical")]
        assert 'assent_replicas_differ{matter="clock"} 1.0' in (await g.http.get("/metrics")).text
        [found] = await look_at_replicas(g.container.store)
        assert found.severity is Severity.ERROR
        assert f"{off.total_seconds():+.0f} s" in found.what


@requirement("S-44")
async def test_a_host_that_is_right_again_judges_by_its_own_clock(
    postgres_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    host: Any = Set()
    async with open_stage(postgres_url, tmp_path, platform, clock=Set(), hosts=host) as stage:  # pyright: ignore[reportArgumentType]
        replicas = stage.gateway.container.replicas
        for by, off in ((HOUR, HOUR), (timedelta(0), timedelta(0)), (timedelta(seconds=20), timedelta(0))):
            host.by = by
            await replicas()
            assert round(replicas.off.total_seconds(), -1) == off.total_seconds()
