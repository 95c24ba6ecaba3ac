"""Killed between a platform's answer and the commit that keeps it: the tokens are lost, and everybody is told."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest

from channels.slack.simulator.rotation import METHOD
from tests.durability.gateway_process import Scene, scene, until
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement
from tests.storage.rig import behind, look

if TYPE_CHECKING:
    from pathlib import Path

    from channels.slack.simulator.simulator import SlackSimulator
    from tests.durability.gateway_process import Gateway

pytestmark = [pytest.mark.process, pytest.mark.may_block]  # the test itself reads the logs


def rotating(made: Scene) -> SlackSimulator:
    """Let the scene's Slack app have tokens that rotate."""
    assert made.slack is not None
    made.channels["pay-slack"].pop("bot_token", None)
    made.channels["pay-slack"] |= made.slack.rotate_tokens()
    return made.slack


def cards(slack: SlackSimulator) -> int:
    return len([entry for entry in slack.view(slack.room.id) if entry["kind"] == "message"])


def lease_ran_out(url: str) -> None:
    """Stand in for waiting a minute: the dead process holds it no longer."""
    with behind(url) as connection:
        connection.execute("UPDATE platform_tokens SET refreshing_until = 1")


async def doctor(made: Scene) -> str:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]), **made.environ}
    environ |= {"ASSENT_SECRET": "durability-" * 4, "ASSENT_DATABASE_URL": made.url}
    words = (sys.executable, "-m", "app.cli.main", "doctor", "-c", str(made.folder / "assent.yaml"))
    process = await asyncio.create_subprocess_exec(*words, env=environ, cwd=made.folder, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return out.decode()


async def cut_off(gateway: Gateway) -> list[str]:
    """Return which channels a gateway says are cut off, once it says so: the line of the log comes first."""
    async with asyncio.timeout(HANGS):
        while not (said := (await gateway.call("payer", "GET", "/readyz")).json()).get("cut_off"):  # noqa: ASYNC110 - it is another process's
            await asyncio.sleep(0.01)
    return said["cut_off"]


@pytest.mark.heavy
@requirement("S-80", "F-02")
async def test_a_gateway_killed_before_it_kept_the_tokens_says_what_is_lost_and_takes_a_new_one(
    database_url: str, tmp_path: Path
) -> None:
    async with scene(database_url, tmp_path, "slack") as made:
        slack = rotating(made)
        slack.world.late[METHOD] = asyncio.Event()
        async with made.gateway("renewal.answered:kill") as gateway:
            slack.world.late[METHOD].set()
            await gateway.died()
        assert slack.rotation.exchanges == 1
        lease_ran_out(database_url)
        async with made.gateway() as gateway:
            await until("it is said", lambda: "access.lost" in gateway.log.read_text())
            assert "refresh_token" in gateway.log.read_text()
            assert await cut_off(gateway) == ["pay-slack"]
            figures = (await gateway.call("payer", "GET", "/metrics")).text
            assert 'assent_channel_access_trouble{channel="pay-slack",how="lost"} 1.0' in figures
            told = await doctor(made)
            assert "pay-slack: cut off" in told
            assert "ERROR    pay-slack: its access cannot be renewed: oauth.v2.access: invalid_refresh_token" in told
            assert "mend: give a new renewal token in the file (refresh_token)" in told
        rotating(made)
        async with made.gateway() as gateway:
            await gateway.ask("pay")
            await until("the card is there", lambda: cards(slack) == 1)
            assert "cut_off" not in (await gateway.call("payer", "GET", "/readyz")).json()
            assert "cannot be renewed" not in await doctor(made)
            assert slack.rotation.exchanges == 2
        for log in tmp_path.glob("gateway-*.log"):
            assert "xoxe" not in log.read_text()
        assert "xoxe" not in str(look(database_url, "SELECT * FROM platform_tokens"))


@requirement("S-80", "F-02")
async def test_a_gateway_killed_once_they_are_kept_goes_on_with_them(sqlite_url: str, tmp_path: Path) -> None:
    async with scene(sqlite_url, tmp_path, "slack") as made:
        slack = rotating(made)
        async with made.gateway() as gateway:
            await until("they are kept", lambda: look(sqlite_url, "SELECT 1 FROM platform_tokens WHERE pair <> ''"))
            gateway.process.kill()
            await gateway.died()
        async with made.gateway() as gateway:
            await gateway.ask("pay")
            await until("the card is there", lambda: cards(slack) == 1)
        assert slack.rotation.exchanges == 1
