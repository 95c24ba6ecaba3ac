"""P6: killed with -9 under load, and back: how long until the first decision counts, and is every one of them there."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import references
from benchmarks.databases import NAMES
from benchmarks.lean_http import Answer, Connection
from benchmarks.processes import gateway
from benchmarks.results import Check, Row, at_most, below, milliseconds, times
from benchmarks.seeds import seed, standing
from benchmarks.talks import GatewayTalk

if TYPE_CHECKING:
    from benchmarks.processes import Gateway, Server
    from benchmarks.run import Run
    from benchmarks.talks import Opened


@dataclass(slots=True)
class _Storm:
    """Decisions from many connections, kept up through a kill."""

    talk: GatewayTalk
    left: list[Opened]
    acknowledged: dict[str, Answer] = field(default_factory=dict[str, Answer])
    refused: int = 0

    async def blow(self, concurrent: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrent):
                group.create_task(self._worker())

    async def _worker(self) -> None:
        connection: Connection | None = None
        while self.left:
            one = self.left.pop()
            try:
                connection = connection or await Connection.open(self.talk.port)
                answer = await connection.send(self.talk.decide(one))
            except OSError:  # it is being killed, or is not back yet: the same verdict once more is safe
                connection = None
                self.left.append(one)
                await asyncio.sleep(0.05)
                continue
            if answer.status == 200:
                self.acknowledged[one.path] = answer
            elif answer.status == 503:
                self.left.append(one)
            else:
                self.refused += 1


async def measure_recovery(run: Run, kind: str) -> list[Row]:
    """Measure one kind of database."""
    sizes, name = run.sizes, NAMES[kind]
    storm, lost, doubled = await _storm(run, kind)
    _, few, few_opened = await _rows(run, kind, sizes.few_rows)
    _, many, many_opened = await _rows(run, kind, sizes.many_rows)
    floor = references.floor_server(run.databases.new(kind, migrated=False))
    taken: dict[str, list[float]] = {"few": [], "many": [], "floor": []}
    for turn in range(1, sizes.rounds + 1):
        taken["few"].append(await _first_decision(few, few_opened))
        taken["many"].append(await _first_decision(many, many_opened))
        taken["floor"].append(await _start_time(floor))
        shown = ", ".join(f"{which} {milliseconds(spans[-1])}" for which, spans in taken.items())
        run.tell(f"P6 start after kill -9, {name}  round {turn} of {sizes.rounds}  {shown}")
    few_time, many_time, floor_time = (median(taken[which]) for which in ("few", "many", "floor"))
    return [
        Row(
            id="P6",
            title=f"kill -9 amid decisions, {sizes.killed:,} pending → first decision accepted, {name}",
            measured=f"{milliseconds(storm)}; lost {lost}, doubled {doubled}",
            reference=f"a bare FastAPI process starts in {milliseconds(floor_time)}",
            ratio=times(storm, floor_time),
            must=(below(storm, 2, "2 s"), Check("lost 0, doubled 0", lost == doubled == 0)),
            stretch=(below(storm, 0.5, "0.5 s"),),
            figures={"seconds": storm, "lost": lost, "doubled": doubled, "floor": floor_time},
        ),
        Row(
            id="P6b",
            title=f"the same with {sizes.many_rows:,} rows, {name}",
            measured=milliseconds(many_time),
            reference=f"with {sizes.few_rows:,} rows {milliseconds(few_time)}",
            ratio=times(many_time, few_time),
            must=(at_most(many_time, 1.5, few_time, "few rows"),),
            stretch=(at_most(many_time, 1.1, few_time, "few rows"),),
            figures={"many": many_time, "few": few_time},
        ),
    ]


async def _rows(run: Run, kind: str, count: int) -> tuple[str, Gateway, list[Opened]]:
    url = run.databases.new(kind)
    folder = run.databases.folder / f"recovery-{kind}-{count}"
    opened = await seed(url, folder, count)
    run.tell(f"P6  {NAMES[kind]}: {count:,} pending rows are there")
    return url, await gateway(folder, url), opened


async def _storm(run: Run, kind: str) -> tuple[float, int, int]:
    url, server, opened = await _rows(run, kind, run.sizes.killed)
    storm = _Storm(talk=GatewayTalk(server), left=list(opened))
    await server.start()
    blowing = asyncio.ensure_future(storm.blow(run.sizes.concurrent))
    # The load itself is what is waited for.
    while len(storm.acknowledged) < len(opened) // 5 and not blowing.done():  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    server.kill()
    killed_at = time.perf_counter()
    await server.start()
    await blowing
    server.stop()
    # An answer that was on its way when the process died is read after its death: only what was asked later counts.
    back = min(answer.at for answer in storm.acknowledged.values() if answer.sent_at > killed_at) - killed_at
    rows = standing(url)
    lost = rows.lost(set(storm.acknowledged)) + storm.refused
    run.tell(f"P6 storm, {NAMES[kind]}  back after {milliseconds(back)}, lost {lost}, doubled {rows.doubled()}")
    return back, lost, rows.doubled()


async def _first_decision(server: Gateway, opened: list[Opened]) -> float:
    """Kill a gateway that runs, start it, and return the seconds until the first decision counts."""
    await server.start()
    server.kill()
    began = time.perf_counter()
    starting = asyncio.ensure_future(server.start())
    storm = _Storm(talk=GatewayTalk(server), left=[opened.pop()])
    await storm.blow(1)
    await starting
    await asyncio.to_thread(server.stop)
    if storm.refused:
        raise RuntimeError("a decision was refused")
    return next(iter(storm.acknowledged.values())).at - began


async def _start_time(server: Server) -> float:
    began = time.perf_counter()
    async with server:
        return time.perf_counter() - began
