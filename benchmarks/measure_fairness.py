"""P10: does any writer starve?"""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import TYPE_CHECKING

from app.clock import SystemClock
from app.domain.trail.audit import Kind, Record
from app.identifiers import RandomIds
from app.serve import collect_seldom
from app.storage.make_store import dialect_for, make_store
from benchmarks import references
from benchmarks.databases import NAMES
from benchmarks.processes import ORG
from benchmarks.results import Row, at_most, milliseconds, times

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx
    from benchmarks.run import Run


async def measure_fairness(run: Run, kind: str) -> list[Row]:
    """Let many writers write through the store, each its own commit's answer at a time."""
    ours: list[float] = []
    fought: list[float] = []
    for turn in range(1, run.sizes.rounds + 1):
        ours += await _write(run.databases.new(kind), concurrent=run.sizes.concurrent, seconds=run.sizes.seconds / 2)
        fought += await references.contended_writers(
            run.databases.new("sqlite", migrated=False), writers=8, seconds=run.sizes.seconds / 2
        )
        run.tell(f"P10 fairness, {NAMES[kind]}  round {turn} of {run.sizes.rounds}  longest {milliseconds(max(ours))}")
    longest, middle = max(ours), median(ours)
    starved = times(max(fought), median(fought))
    return [
        Row(
            id="P10",
            title=f"fairness: longest wait of a writer against the median, 64 concurrent, {NAMES[kind]}",
            measured=milliseconds(longest),
            reference=f"median {milliseconds(middle)} (8 SQLite connections that fight: {starved})",
            ratio=times(longest, middle),
            must=(at_most(longest, 50, middle, "median"),),
            stretch=(at_most(longest, 10, middle, "median"),),
            figures={
                "longest": longest,
                "median": middle,
                "fought_longest": max(fought),
                "fought_median": median(fought),
            },
        )
    ]


async def _write(url: str, *, concurrent: int, seconds: float) -> list[float]:
    store = make_store(dialect_for(url, SystemClock()), RandomIds(), seals=None)
    store.start()
    spans: list[float] = []

    def unit(tx: Tx) -> None:
        tx.append(Record(kind=Kind.ALLOWED, actor="agent:bench", facts={"tool": "bench"}))

    await store.write(unit, org=ORG)
    collect_seldom()  # as a gateway does: to walk all that was imported takes 70 ms, and all writers wait for it
    until = time.perf_counter() + seconds

    async def writer(number: int) -> None:
        while (began := time.perf_counter()) < until:
            await store.write(unit, org=ORG)
            spans.append(time.perf_counter() - began)

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(concurrent):
                group.create_task(writer(number))
    finally:
        await store.stop()
    return spans
