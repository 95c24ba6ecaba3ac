"""Killed while it writes down how far the trail has come: the note is whole, the old one or the new one."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from typing import TYPE_CHECKING

import pytest

from app.storage.trail.head_file import Heads, read_heads, write_heads
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.may_block]  # the test itself reads the note


@requirement("F-11")
@pytest.mark.seeds(11)
@pytest.mark.parametrize("deaths", [6, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_a_killed_writer_leaves_a_whole_note_and_the_next_goes_on(
    tmp_path: Path, deaths: int, *, bounded: bool, seed: int
) -> None:
    path, drawn = tmp_path / "assent.head", random.Random(seed)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")])}
    words = (sys.executable, "-m", "tests.durability.kills.heads_writer", str(path))
    for _ in range(min(deaths, 20) if bounded else deaths):
        writer = await asyncio.create_subprocess_exec(*words, env=environ, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
        assert writer.stdout is not None
        assert await asyncio.wait_for(writer.stdout.readline(), 60) == b"begun\n"
        await asyncio.sleep(drawn.uniform(0, 0.02))  # at any instant of its work
        writer.kill()
        await writer.communicate()
        left = read_heads(path)
        assert left is not None
        assert left.orgs == {"acme": (left.epoch, f"{left.epoch:064x}")}
    write_heads(path, Heads(epoch=1, orgs={}))
    assert read_heads(path) == Heads(epoch=1, orgs={})
