"""The restore drill, with the real commands: a backup under load, `kill -9`, restore, and nothing of before runs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.durability.place import place, run
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.gateway_process import Gateway, Scene
    from tests.durability.place import Place

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

LOST = "older than what this gateway has seen of it"


@requirement("F-40")
@pytest.mark.heavy  # `test_restore.py` has what holds after a restore
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
async def test_the_restore_drill(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    (tmp_path / "state").mkdir()
    async with place(kind, tmp_path, monkeypatch) as at:
        assert (await asyncio.to_thread(run, at, tmp_path, "migrate", url=at.migrates))[0] == 0
        async with scene(at.url, tmp_path) as made:
            made.environ["ASSENT_STATE_DIR"] = str(tmp_path / "state")
            approved = await _back_up_under_load(at, made, copy)
            code, said = await asyncio.to_thread(run, at, tmp_path, "backup", str(copy))
            assert (code, "is there already" in said) == (2, True)
            await asyncio.to_thread(at.restore, copy)
            code, said = await asyncio.to_thread(run, at, tmp_path, "serve", "-c", "assent.yaml", "--port", "0")
            assert (code, LOST in said) == (2, True), said
            words = ("restored", "--by", "olga@acme.example", "--reason", "the drill")
            code, said = await asyncio.to_thread(run, at, tmp_path, *words)
            assert (code, "epoch 1" in said) == (0, True), said
            code, said = await asyncio.to_thread(run, at, tmp_path, "audit", "verify", "-c", "assent.yaml")
            assert code == 0, said
            async with made.gateway() as gateway:
                assert {(await gateway.claim(request, claim_id="old")).status_code for request in approved} == {409}
                anew = await gateway.ask("wire", session="anew")
                assert (await gateway.decide("ann", anew)).status_code == 200
                assert (await gateway.claim(anew)).json()["epoch"] == 1
        rights = "postgres" if kind == "postgresql" else ""
        assert faults(at.url.replace("assent_app", rights) if rights else at.url) == []


async def _back_up_under_load(at: Place, made: Scene, copy: Path) -> list[dict[str, Any]]:
    """Ask and decide all the time; take a backup meanwhile, use some of it up, and be killed."""
    approved: list[dict[str, Any]] = []
    async with made.gateway() as gateway:
        load = asyncio.ensure_future(_load(gateway, approved))
        await until("some are approved", lambda: len(approved) >= 5)
        code, said = await asyncio.to_thread(run, at, made.folder, "backup", str(copy))
        assert code == 0, said
        before = len(approved)
        await until("it goes on", lambda: len(approved) >= before + 3)
        load.cancel()
        used = approved[:3]
        for request in used:
            assert (await gateway.claim(request)).status_code == 200
        head = made.folder / "state" / ("assent.db.head" if "sqlite" in at.url else "assent.head")
        events = look(at.url, "SELECT max(seq) FROM audit_events")[0][0]
        await until("it is noted how far the trail came", lambda: _noted(head) >= events)
        gateway.process.kill()
        await gateway.process.ended()
    assert copy.stat().st_mode & 0o077 == 0
    return used


def _noted(head: Path) -> int:
    return json.loads(head.read_text())["orgs"].get("acme", [-1])[0] if head.exists() else -1


async def _load(gateway: Gateway, approved: list[dict[str, Any]]) -> None:
    while True:
        request = await gateway.ask("wire", session=f"s-{len(approved)}")
        assert (await gateway.decide("ann", request)).status_code == 200
        approved.append(request)
