"""A restore that nobody declared is named as a fault, and so is one that was declared and whose row is gone."""

from __future__ import annotations

from asyncio import to_thread
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.identity.seals import Seals
from app.identifiers import RandomIds
from app.storage.make_store import dialect_for, make_store
from app.usecases.proving.cut_trail import CutTrail
from app.usecases.proving.verify_trail import VerifyTrail
from app.usecases.upkeep.restored import DeclareRestored
from tests.fixtures.gateway import SECRET, ManualClock, open_gateway
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

OLGA = "olga@acme.example"


async def _told(g: Gateway, org: str = "acme") -> list[str]:
    return [fault.text for fault in (await VerifyTrail(store=g.container.store, head_file=None)(org)).faults]


@requirement("S-64", "F-40")
async def test_a_restore_is_held_against_the_trails_both_ways(either_gateway: Gateway) -> None:
    g = either_gateway
    await g.ask("by_api", {})
    stranger = await to_thread(Stranger, g)
    await to_thread(lambda: stranger.add("restores", epoch=5, restored_by="x", restored_at=1, reason="y"))
    for org in ("acme", "globex"):
        [told] = await _told(g, org)
        assert told.endswith("its row has a restore 5, and no event of any org says so")
    await to_thread(stranger, "DELETE FROM restores")
    await DeclareRestored(store=g.container.store)(by=OLGA, reason="the disk died")
    assert [await _told(g), await _told(g, "globex")] == [[], []]
    await to_thread(stranger, "UPDATE restores SET reason = 'another'")
    assert ["restore 1" in told for told in await _told(g)] == [True]
    await to_thread(stranger, "DELETE FROM restores")
    for org in ("acme", "globex"):
        [told] = await _told(g, org)
        assert "restore 1" in told
        assert "its row says null" in told


@requirement("S-64", "F-40")
async def test_an_org_that_is_younger_than_a_restore_takes_another_trails_word_for_it(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    g = either_gateway
    await DeclareRestored(store=g.container.store)(by=OLGA, reason="the disk died")
    stranger = await to_thread(Stranger, g)
    for table in ("audit_events", "audit_heads", "policies", "api_keys", "secret_ids", "value_keys"):
        await to_thread(stranger, f"DELETE FROM {table} WHERE org = 'globex'")
    await g.container.keys.create(org="globex", scope=Scope.AUDITOR, label="anew")
    assert await _told(g, "globex") == []
    segments = tmp_path / "segments"
    segments.mkdir()
    cut = CutTrail(store=g.container.store, seals=g.container.seals, folder=segments, tell=lambda *_: None)
    done = await cut("acme", before=SystemClock().now() + timedelta(days=10_000), by=OLGA, webhooks=())
    assert done.deleted
    assert g.rows("SELECT 1 FROM audit_events WHERE org = 'acme' AND kind = 'trail.restored'") == []
    assert await _told(g, "globex") == [], "what was cut off is told by the record of the cut"
    await to_thread(stranger, "UPDATE restores SET reason = 'another', seal = NULL")
    assert ["restore 1" in told for told in await _told(g, "globex")] == [True]


@requirement("S-64", "F-40")
@pytest.mark.parametrize("change", ["seal = NULL", "restored_by = 'mallory'", "restored_at = restored_at - 1"])
async def test_a_restore_of_a_database_without_any_trail_is_vouched_for_by_its_seal(
    database_url: str, config: Path, platform: MemoryPlatform, change: str
) -> None:
    early = ManualClock(SystemClock().now() - timedelta(days=3_000))
    store = make_store(dialect_for(database_url, early), RandomIds(), seals=Seals([SECRET]))
    store.start()
    try:
        assert await DeclareRestored(store=store)(by=OLGA, reason="empty") == []
    finally:
        await store.stop()
    async with open_gateway(database_url, config, platform) as g:
        assert await _told(g) == []
        await to_thread(await to_thread(Stranger, g), f"UPDATE restores SET {change}")
        assert ["restore 1" in told for told in await _told(g)] == [True]
