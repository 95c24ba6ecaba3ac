"""The tools that hold the house rules really bite: each is shown something bad."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time

import pytest
from blockbuster import BlockingError
from pytest_socket import SocketConnectBlockedError

from tests.fixtures.patience import HANGS
from tests.places import ROOT


def ruff_codes(source: str, *, filename: str) -> set[str]:
    """Return the codes that ruff, as configured here, gives for a source text under a file name."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--output-format=json", "--stdin-filename", filename, "-"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        cwd=ROOT,
    )
    return {finding["code"] for finding in json.loads(done.stdout)}


AMBIENT = [
    "import datetime\nNOW = datetime.datetime.now(tz=datetime.UTC)\n",
    "from datetime import datetime\nNOW = datetime.utcnow()\n",
    "import time\nNOW = time.time()\n",
    "import uuid\nKEY = uuid.uuid4()\n",
    "import random\nN = random.random()\n",
    "import asyncio\nTASK = asyncio.create_task(None)\n",
]


@pytest.mark.process
@pytest.mark.parametrize("source", AMBIENT)
def test_time_chance_and_background_tasks_have_a_home(source: str) -> None:
    assert "TID251" in ruff_codes(source, filename="app/usecases/asking/submit.py")
    assert "TID251" in ruff_codes(source, filename="channels/slack/channel.py")


@pytest.mark.process
@pytest.mark.parametrize(
    ("home", "source"),
    [("app/clock.py", AMBIENT[0]), ("app/identifiers.py", AMBIENT[4]), ("app/workers/supervisor.py", AMBIENT[5])],
)
def test_the_homes_may(home: str, source: str) -> None:
    assert "TID251" not in ruff_codes(source, filename=home)


def nested(levels: int) -> str:
    lines = ["    " * level + f"    for _{level} in given:" for level in range(levels)]
    return "\n".join(['"""Doc."""', "def walk(given):", *lines, "    " * levels + "    print(given)", ""])


@pytest.mark.process
def test_a_fourth_level_of_nesting_is_refused_and_no_other_preview_rule_speaks() -> None:
    assert "PLR1702" in ruff_codes(nested(4), filename="app/usecases/asking/submit.py")
    assert "PLR1702" in ruff_codes(nested(4), filename="tests/api/test_x.py")
    assert "PLR1702" not in ruff_codes(nested(3), filename="app/usecases/asking/submit.py")
    of_the_preview = "import pathlib\n\nwith open('x') as file:\n    TEXT = file.read()\nif  TEXT:\n    TEXT = ''\n"
    assert not {
        code for code in ruff_codes(of_the_preview, filename="app/clock.py") if code in {"FURB101", "E271", "E241"}
    }


def our_code(source: str) -> None:
    """Run a source text as if it stood in a module of the gateway."""
    exec(compile(source, ROOT / "app" / "probe.py", "exec"), {"time": time})


async def test_our_code_cannot_block_the_event_loop() -> None:
    with pytest.raises(BlockingError):
        our_code("time.sleep(0)")


def test_our_code_may_block_a_thread() -> None:
    our_code("time.sleep(0)")


@pytest.mark.may_block  # to show that the marker lifts the check
async def test_a_marked_test_may_block() -> None:
    our_code("time.sleep(0)")


@pytest.mark.filterwarnings("ignore:A test tried to use")  # pytest-socket says it twice
def test_the_outside_world_is_out_of_reach() -> None:
    with socket.socket() as outward, pytest.raises(SocketConnectBlockedError):
        outward.connect(("192.0.2.1", 80))


@pytest.mark.filterwarnings("ignore:A test tried to use")
async def test_the_outside_world_is_out_of_reach_of_the_event_loop() -> None:
    with pytest.raises(SocketConnectBlockedError):
        await asyncio.open_connection("192.0.2.1", 80)


def test_the_environment_is_clean() -> None:
    names = {name.lower() for name in os.environ} - {"no_proxy"}  # a Feishu channel on loopback writes that one itself
    foreign = [name for name in names if name.startswith(("assent_", "feishu_", "slack_")) or name.endswith("_proxy")]

    assert foreign == []
