"""Whether the gateways that work on this database are alike, as they have written themselves down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.doctor.payments import error, ok, warning
from app.domain.trail.replicas import Matter
from app.storage.engine.transaction import EVERY_ORG
from app.storage.trail.replicas import list_written
from app.usecases.upkeep.watch_replicas import MILD, Seen, list_sealed, look

if TYPE_CHECKING:
    from app.ports import Finding
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_MENDS = {
    Matter.REFUSED: "assent config check, there: the file before is still in force",
    Matter.SECRET: "the same ASSENT_SECRET everywhere, the old one behind the new one until what is open under it is "
    "over: docs/operations.md",
    Matter.KEYS: "go on with the rotation: docs/operations.md",
    Matter.POLICY: "bring the same file to each of them",
    Matter.CLOCK: "a time service on each of them, and on the database",
    Matter.SOFTWARE: "go on with the rollout",
}


async def look_at_replicas(store: Store) -> list[Finding]:
    """Say in what those that are live differ; nothing, where none runs."""
    given = store.seals.key_ids if store.seals is not None else ()

    def read(tx: Tx) -> Seen:
        written = list_written(tx)
        return look(written, tx.now(), list_sealed(tx, written, given), at_once=True)

    seen = await store.read(read, org=EVERY_ORG, long=True)
    if not seen.live:
        return []
    if not seen.differences:
        return [ok(f"gateways: {seen.live}, with the same files, secret, software and clock")]
    return [
        (warning if each.matter in MILD else error)(f"gateways differ: {each}", _MENDS[each.matter])
        for each in seen.differences
    ]
