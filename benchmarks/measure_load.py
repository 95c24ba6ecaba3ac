"""L1 to L3: do creating, deciding and listing slow down when many requests wait?"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from benchmarks.cycles import create
from benchmarks.databases import NAMES
from benchmarks.lean_http import Connection, require
from benchmarks.processes import gateway
from benchmarks.results import Row, at_most, below, milliseconds, percentile, times
from benchmarks.seeds import seed
from benchmarks.talks import GatewayTalk

if TYPE_CHECKING:
    from benchmarks.run import Run

_CONCURRENT = 8


async def measure_load(run: Run, kind: str) -> list[Row]:
    """Measure one kind of database, an empty one and a full one in turn."""
    sizes, name = run.sizes, NAMES[kind]
    folder = run.databases.folder / f"load-{kind}"
    full_url = run.databases.new(kind)
    await seed(full_url, folder, sizes.many_rows)
    run.tell(f"L1, L2  {name}: {sizes.many_rows:,} pending rows are there")
    empty = await gateway(folder / "empty", run.databases.new(kind))
    full = await gateway(folder / "full", full_url)
    spans: dict[str, tuple[list[float], list[float]]] = {"empty": ([], []), "full": ([], [])}
    pages: dict[str, list[float]] = {"empty": [], "full": []}
    async with empty, full:
        for server in (empty, full):  # statements compiled, connections made
            await _load(GatewayTalk(server), [], [], seconds=min(1.0, sizes.seconds))
        for turn in range(1, sizes.rounds + 1):
            for which, server in (("empty", empty), ("full", full)):
                await _load(GatewayTalk(server), *spans[which], seconds=sizes.seconds)
                shown = ", ".join(milliseconds(percentile(part, 0.99)) for part in spans[which])
                run.tell(f"L1, L2  {name}  round {turn} of {sizes.rounds}  {which}: create, decide p99 {shown}")
                pages[which] += await _turn_pages(GatewayTalk(server), samples=sizes.samples)
                page = milliseconds(percentile(pages[which], 0.5))
                run.tell(f"L3  {name}  round {turn} of {sizes.rounds}  {which}: a page p50 {page}")
    return [
        _row("L1", f"create, p99, {name}", sizes.many_rows, spans["full"][0], spans["empty"][0]),
        _row("L2", f"decide, p99, {name}", sizes.many_rows, spans["full"][1], spans["empty"][1]),
        _pages(name, sizes.many_rows, pages["full"], pages["empty"]),
    ]


def _row(goal: str, title: str, rows: int, full: list[float], empty: list[float]) -> Row:
    p99, before = percentile(full, 0.99), percentile(empty, 0.99)
    return Row(
        id=goal,
        title=f"{title}, {rows:,} pending",
        measured=f"{milliseconds(p99)} (p50 {milliseconds(percentile(full, 0.5))})",
        reference=f"empty {milliseconds(before)} (p50 {milliseconds(percentile(empty, 0.5))})",
        ratio=times(p99, before),
        must=(at_most(p99, 1.5, before, "empty"),),
        stretch=(at_most(p99, 1.1, before, "empty"),),
        figures={"full": p99, "empty": before},
    )


def _pages(name: str, rows: int, full: list[float], empty: list[float]) -> Row:
    p50, before = percentile(full, 0.5), percentile(empty, 0.5)
    return Row(
        id="L3",
        title=f"a page of 50 of the list of what waits, p50, {name}, {rows:,} pending",
        measured=f"{milliseconds(p50)} (p99 {milliseconds(percentile(full, 0.99))})",
        reference=f"nearly empty {milliseconds(before)} (p99 {milliseconds(percentile(empty, 0.99))})",
        ratio=times(p50, before),
        must=(below(p50, 0.020, "20 ms"),),
        stretch=(below(p50, 0.010, "10 ms"),),
        figures={"full": p50, "empty": before},
    )


async def _turn_pages(talk: GatewayTalk, *, samples: int) -> list[float]:
    """Turn the list's pages, one after the other, as an approver does; return the seconds of each."""
    connection = await Connection.open(talk.port)
    taken: list[float] = []
    cursor = ""
    while len(taken) < samples:
        answer = require(await connection.send(talk.page(cursor)), 200, "a page")
        taken.append(answer.at - answer.sent_at)
        cursor = answer.body()["next_cursor"] or ""
    connection.close()
    return taken


async def _load(talk: GatewayTalk, creates: list[float], decides: list[float], *, seconds: float) -> None:
    until = time.perf_counter() + seconds

    async def worker() -> None:
        connection = await Connection.open(talk.port)
        while (began := time.perf_counter()) < until:
            opened = await create(talk, connection)
            creates.append(time.perf_counter() - began)
            decided = require(await connection.send(talk.decide(opened)), 200, "decide")
            decides.append(decided.at - decided.sent_at)
        connection.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(_CONCURRENT):
            group.create_task(worker())
