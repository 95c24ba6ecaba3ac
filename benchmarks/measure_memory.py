"""P5, P5b: what a waiting call costs in memory, with and without somebody attached."""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING

from benchmarks import references
from benchmarks.cycles import hold_many, open_many
from benchmarks.processes import gateway
from benchmarks.results import Row, at_most, below, times
from benchmarks.talks import FloorTalk, GatewayTalk

if TYPE_CHECKING:
    from benchmarks.processes import Server
    from benchmarks.run import Run
    from benchmarks.talks import Talk

_SPARE_FILES = 500


async def measure_memory(run: Run) -> list[Row]:
    """Attach many waiters to the gateway, then to the floor."""
    wanted = _allow_files(run.sizes.waiters)
    if wanted < run.sizes.waiters:
        run.tell(f"P5 memory  the limit on open files allows {wanted:,} waiters")
    databases = run.databases
    async with await gateway(databases.folder / "memory", databases.new("sqlite")) as server:
        pending, attached = await _grow(run, server, GatewayTalk(server), wanted, "Assent")
    async with references.floor_server(databases.new("sqlite", migrated=False)) as floor:
        bare_pending, bare = await _grow(run, floor, FloorTalk(floor), wanted, "floor")
    return [
        Row(
            id="P5",
            title=f"memory per attached wait with its connection, {wanted:,} waiting",
            measured=f"{attached:.1f} KiB",
            reference=f"floor {bare:.1f} KiB",
            ratio=times(attached, bare),
            must=(below(attached, 40, "40 KiB"),),
            stretch=(at_most(attached, 1.1, bare, "floor"), below(attached, 25, "25 KiB")),
            figures={"assent": attached, "floor": bare},
        ),
        Row(
            id="P5b",
            title=f"memory per pending request that nobody is attached to, {wanted:,} pending",
            measured=f"{pending:.2f} KiB",
            reference=f"floor {bare_pending:.2f} KiB",
            ratio=times(pending, bare_pending),
            must=(below(pending, 1, "1 KiB"),),
            stretch=(below(pending, 0.2, "0.2 KiB"),),
            figures={"assent": pending, "floor": bare_pending},
        ),
    ]


async def _grow(run: Run, server: Server, talk: Talk, count: int, name: str) -> tuple[float, float]:
    """Return KiB per pending request and KiB per attached waiter."""
    first = await open_many(talk, count // 2)  # what grows once (caches, buffers) is not counted
    warm = server.resident()
    opened = first + await open_many(talk, count - len(first))
    await asyncio.sleep(1)
    unattached = server.resident()
    run.tell(f"P5 memory  {name}: {count:,} pending, {unattached / 2**20:.0f} MiB")
    held = await hold_many(talk, opened, seconds=60)
    await _settled(server)
    attached = server.resident()
    run.tell(f"P5 memory  {name}: {count:,} attached, {attached / 2**20:.0f} MiB")
    gone = sum(1 for connection in held if connection.idle)
    for connection in held:
        connection.close()
    if gone:
        raise RuntimeError(f"{gone} of {count} waiters were not held")
    return max(0, unattached - warm) / 1024 / (count - len(first)), (attached - unattached) / 1024 / count


async def _settled(server: Server) -> None:
    """Wait until the memory has stopped growing."""
    last = 0
    for _ in range(20):
        await asyncio.sleep(1)
        now = server.resident()
        if now - last < 2**18:
            return
        last = now


def _allow_files(waiters: int) -> int:
    """Raise this process's limit on open files (its children inherit it); return how many waiters fit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return waiters if hard == resource.RLIM_INFINITY else min(waiters, hard - _SPARE_FILES)
