"""`assent audit cut` is killed at each of its steps: no event is ever neither in the database nor in a file."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from app.domain.trail.audit import Kind, Record
from tests.durability.gateway_process import scene, until
from tests.durability.kills.test_backup import place, run
from tests.requirements import requirement
from tests.storage.rig import look, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from app.storage.engine.transaction import Tx

pytestmark = [pytest.mark.process, pytest.mark.may_block, pytest.mark.timeout(180)]

EARLY, LATE = ("cut.writing", "cut.exported"), ("cut.recorded", "cut.deleting")
CUT = ("audit", "cut", "-c", "assent.yaml", "--to", "segments", "--by", "olga@acme.example", "--before", "2099-01-01")
VERIFY = ("audit", "verify", "-c", "assent.yaml", "--segments", "segments")
MANY = 700
"""Events of one round: more than one transaction deletes."""


async def _happens(url: str) -> None:
    def unit(tx: Tx) -> None:
        for n in range(MANY):
            tx.append(Record(kind=Kind.ACCESS_REFUSED, actor="key:x", facts={"what": f"GET /{n}", "why": "auth"}))

    async with open_store(url) as store:
        await store.write(unit, org="acme")


def _kept(url: str, folder: Path) -> tuple[set[int], set[int]]:
    """Return which events the database has, and which the files in their places."""
    files = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    there = {row[0] for row in look(url, "SELECT seq FROM audit_events WHERE org = 'acme'")}
    return there, {line["seq"] for line in files if "seq" in line}


@requirement("S-17", "S-59")
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
@pytest.mark.parametrize(
    "steps", [pytest.param(EARLY, marks=pytest.mark.heavy, id="early"), pytest.param(LATE, id="late")]
)
async def test_killed_at_any_step_no_event_is_lost_and_the_same_command_goes_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[str, ...]
) -> None:
    folder = tmp_path / "segments"
    folder.mkdir()
    (tmp_path / "state").mkdir()
    head = tmp_path / "state" / ("assent.db.head" if kind == "sqlite" else "assent.head")
    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(place(kind, tmp_path, monkeypatch))

        async def command(*words: str, failpoint: str = "") -> tuple[int, str]:
            monkeypatch.setenv("ASSENT_FAILPOINT", failpoint)
            return await asyncio.to_thread(run, at, tmp_path, *words, url=at.migrates)

        assert (await command("migrate"))[0] == 0
        made = await stack.enter_async_context(scene(at.url, tmp_path))
        made.environ["ASSENT_STATE_DIR"] = str(tmp_path / "state")
        gateway = await stack.enter_async_context(made.gateway())
        await until("it is noted how far the trail has come", lambda: head.exists() and "acme" in head.read_text())
        if kind == "postgresql":
            code, said = await asyncio.to_thread(run, at, tmp_path, *CUT)
            assert (code, "lets assent_app delete no event" in said) == (1, True), said
        for step in steps:
            await _happens(at.url)
            code, said = await command(*CUT, failpoint=f"{step}:kill")
            assert code == -signal.SIGKILL, (step, said)
            there, filed = await asyncio.to_thread(_kept, at.url, folder)
            assert there | filed == set(range(max(there) + 1)), step
            code, said = await command(*VERIFY)
            assert code == 0, (step, said)
            assert ("still there" in said) == (step in {"cut.recorded", "cut.deleting"}), said
            code, said = await command(*CUT)
            assert code == 0, (step, said)
            there, filed = await asyncio.to_thread(_kept, at.url, folder)
            assert there | filed == set(range(max(there) + 1)), step
            assert not there & filed, step
        assert (await gateway.ask("wire"))["state"] == "pending"
        code, said = await command(*VERIFY)
        assert code == 0, said
    assert list(folder.glob("*.new")) == []
