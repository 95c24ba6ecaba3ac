"""Killed at every single write and every flush of a whole life: what was acknowledged is there, and nothing is torn."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from app.domain.lifecycle.lifecycle import advance
from tests.domain.samples import vote
from tests.durability.invariants import faults
from tests.durability.write_driver import ORDER
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement
from tests.storage.rig import ORG, ManualClock, given_request, look, open_store, stepping

if TYPE_CHECKING:
    from pathlib import Path

STRACE = shutil.which("strace")
CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate")
SHARES = 6
"""Into so many tests the whole is cut, which run side by side: each kill waits for processes."""

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        STRACE is None, reason="strace is not installed: nobody else can stop a process at its n-th write"
    ),
]


@dataclass(frozen=True, slots=True)
class Life:
    """What one run acknowledged, and whether it was killed."""

    url: str
    acknowledged: dict[str, str]
    killed: bool


def live(template: Path, folder: Path, requests: int, *tracing: str) -> Life:
    """Run the driver on a fresh copy of the database, under strace."""
    path = folder / "killed.db"
    for left in folder.glob("killed.db*"):
        left.unlink()
    shutil.copyfile(template, path)
    done = subprocess.run(
        [
            str(STRACE),
            "-f",
            "-qq",
            *tracing,
            sys.executable,
            "-m",
            "tests.durability.write_driver",
            path,
            str(requests),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'sdk'}", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode in {0, 137, -9}, done.stderr
    acknowledged = dict(line.split() for line in done.stdout.splitlines())
    return Life(url=f"sqlite:///{path}", acknowledged=acknowledged, killed=done.returncode != 0)


def count_writes(template: Path, folder: Path, requests: int) -> Counter[str]:
    """Count each call in the thread that makes most of it: strace counts per thread, too."""
    log = folder / "writes.log"
    life = live(template, folder, requests, "-o", str(log), "-e", f"trace={','.join(CALLS)}")
    assert not life.killed
    assert set(life.acknowledged.values()) == {"succeeded"}
    lines = re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.MULTILINE)
    per_thread = Counter((thread, call) for thread, call in lines)
    most: Counter[str] = Counter()
    for (_, call), times in per_thread.items():
        most[call] = max(most[call], times)
    return most


def points(writes: Counter[str]) -> list[tuple[str, int]]:
    return [(call, nth) for call in CALLS for nth in range(1, writes[call] + 1)]


async def judge(life: Life, requests: int) -> None:
    """Hold what is on the disk against what was said, and see that a next process can go on with it."""
    assert faults(life.url) == []
    stored = dict(look(life.url, "SELECT id, state FROM requests"))
    for index in range(requests):
        request_id = f"req_{index}"
        said, there = ORDER.index(life.acknowledged.get(request_id, "")), ORDER.index(stored.get(request_id, ""))
        # What was said is there; at most the one step whose answer was cut off is there besides.
        assert said <= there <= said + 1
    async with open_store(life.url, ManualClock()) as store:
        await given_request(store, "req_next")
        await store.write(
            stepping("req_next", lambda r, now: advance(r, vote(r, "bob@acme.example"), now=now)),
            org=ORG,
            about="req_next",
        )
    assert faults(life.url) == []


async def killed_at(template: Path, folder: Path, chosen: list[tuple[str, int]], requests: int) -> int:
    killed = 0
    for call, nth in chosen:
        life = live(template, folder, requests, "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={nth}")
        killed += life.killed
        await judge(life, requests)
    return killed


@requirement("F-01", "S-17")
@pytest.mark.may_block  # it waits for processes, one after the other
@pytest.mark.parametrize("few", [2, pytest.param(5, marks=pytest.mark.heavy)])
async def test_killed_at_a_few_writes_of_a_life(sqlite_template: Path, tmp_path: Path, few: int) -> None:
    every = points(count_writes(sqlite_template, tmp_path, 1))
    assert len(every) > 12
    chosen = every[:: len(every) // few]
    # (The last one may fall into the clean end of the process, after everything was said.)
    assert await killed_at(sqlite_template, tmp_path, chosen, 1) >= len(chosen) - 1


@requirement("F-01", "S-17")
@pytest.mark.may_block  # the same
@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("share", range(SHARES))
async def test_killed_at_every_write_of_many_lives(
    sqlite_template: Path, tmp_path: Path, share: int, *, bounded: bool
) -> None:
    requests = 2 if bounded else 30
    every = points(count_writes(sqlite_template, tmp_path, requests))
    chosen = (every[:: max(1, len(every) // 40)] if bounded else every)[share::SHARES]
    assert await killed_at(sqlite_template, tmp_path, chosen, requests) >= len(chosen) - max(1, len(chosen) // 10)
