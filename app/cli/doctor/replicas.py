"""Whether the gateways that work on this database are alike, as they have written themselves down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.doctor.payments import error, ok, warning
from app.domain.trail.replicas import Matter
from app.storage.engine.transaction import EVERY_ORG
from app.storage.trail.replicas import list_written
from app.usecases.upkeep.watch_replicas import MILD, look

if TYPE_CHECKING:
    from app.ports import Finding
    from app.storage.engine.store import Store

_MENDS = {
    Matter.REFUSED: "assent config check, there: the file before is still in force",
    Matter.SECRET: "the same ASSENT_SECRET everywhere; to change it: docs/operations.md",
    Matter.KEYS: "go on with the rotation: docs/operations.md",
    Matter.POLICY: "bring the same file to each of them",
    Matter.CLOCK: "a time service on each of them, and on the database",
    Matter.SOFTWARE: "go on with the rollout",
}


async def look_at_replicas(store: Store) -> list[Finding]:
    """Say in what those that are live differ; nothing, where none runs."""
    seen = await store.read(lambda tx: look(list_written(tx), tx.now()), org=EVERY_ORG)
    if not seen.live:
        return []
    if not seen.differences:
        return [ok(f"gateways: {seen.live}, with the same files, secret, software and clock")]
    return [
        (warning if each.matter in MILD else error)(f"gateways differ: {each}", _MENDS[each.matter])
        for each in seen.differences
    ]
