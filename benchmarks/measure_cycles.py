"""P1, P2: full cycles a second over HTTP at 64 concurrent, with the audit trail on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import references
from benchmarks.births import Births
from benchmarks.cycles import run_cycles, run_one_call
from benchmarks.databases import NAMES
from benchmarks.lean_http import encode, rate
from benchmarks.processes import gateway
from benchmarks.results import Row, at_least, milliseconds, per_second, percentile, times
from benchmarks.run import known
from benchmarks.talks import CALL, FloorTalk, GatewayTalk

if TYPE_CHECKING:
    from benchmarks.cycles import Tally
    from benchmarks.run import Run


@dataclass(slots=True)
class Cost:
    """What a server's processor time brought about."""

    cycles: int = 0
    busy: float = 0.0  # seconds
    wall: float = 0.0

    def add(self, tally: Tally, busy: float) -> None:
        """Count one round."""
        self.cycles += tally.total
        self.busy += busy
        self.wall += tally.total / tally.rate if tally.rate else 0.0

    @property
    def each(self) -> float:
        """Seconds a cycle."""
        return self.busy / self.cycles if self.cycles else 0.0


_IDS = {"sqlite": "P1", "postgresql": "P2"}
_PEERS = ("Restate", "LangGraph", "DBOS", "floor")
_MUST = {
    "sqlite": {"Restate": 1, "DBOS": 10, "floor": 0.35},
    "postgresql": {"Restate": 0.7, "LangGraph": 2, "floor": 0.3},
}
_STRETCH = {"sqlite": {"Restate": 1.5, "floor": 0.5}, "postgresql": {"Restate": 1, "floor": 0.45}}


async def measure_cycles(run: Run, kind: str) -> list[Row]:
    """Measure one kind of database."""
    sizes, name, goal = run.sizes, NAMES[kind], _IDS[kind]
    bare = run.databases.new(kind, migrated=False)
    url, floor_url = run.databases.new(kind), run.databases.new(kind, migrated=False)
    server = await gateway(run.databases.folder / f"cycles-{kind}", url)
    births = Births(url)
    spans: list[float] = []
    cost, bare_cost = Cost(), Cost()

    async with server, references.floor_server(floor_url) as floor:

        async def ours() -> float:
            talk, before = GatewayTalk(server), server.busy()
            tally = await run_one_call(talk, births=births, concurrent=sizes.concurrent, seconds=sizes.seconds)
            spans.extend(tally.spans)
            cost.add(tally, server.busy() - before)
            return tally.rate

        async def five() -> float:
            return (await run_cycles(GatewayTalk(server), concurrent=sizes.concurrent, seconds=sizes.seconds)).rate

        async def woken() -> float:
            talk = GatewayTalk(server)
            return (await run_cycles(talk, concurrent=sizes.concurrent, seconds=sizes.seconds, whole=False)).rate

        async def of_floor() -> float:
            talk, before = FloorTalk(floor), floor.busy()
            tally = await run_cycles(talk, concurrent=sizes.concurrent, seconds=sizes.seconds)
            bare_cost.add(tally, floor.busy() - before)
            return tally.rate

        async def of_dbos() -> float | None:
            url = run.databases.new(kind, migrated=False)
            said = await references.dbos(url, concurrent=sizes.concurrent, seconds=sizes.seconds)
            return said["rate"] if said else None

        async def of_langgraph() -> float | None:
            url = run.databases.new(kind, migrated=False)
            return await references.langgraph(url, concurrent=sizes.concurrent, seconds=sizes.seconds)

        async def of_restate() -> float | None:
            return await references.restate(concurrent=sizes.concurrent, seconds=sizes.seconds)

        async def plain() -> float:
            request = encode("POST", "/plain", body=CALL)
            return await rate(floor.port, request, concurrent=32, seconds=sizes.seconds / 2)

        await run_one_call(GatewayTalk(server), births=births, concurrent=sizes.concurrent, seconds=sizes.seconds / 4)
        await run_cycles(FloorTalk(floor), concurrent=sizes.concurrent, seconds=sizes.seconds / 4)
        run.databases.settle(url, floor_url)
        taken = await run.medians(
            f"{goal} cycles, {name}",
            "/s",
            {
                "Assent": ours,
                "Assent, five calls": five,
                "Assent, until woken": woken,
                "Restate": of_restate,
                "LangGraph": of_langgraph,
                "DBOS": of_dbos,
                "floor": of_floor,
                "bare commits": lambda: references.commits(bare, seconds=sizes.seconds / 4),
                "bare FastAPI POST": plain,
            },
        )
    births.close()
    return [_row(goal, name, kind, taken, spans), *_read_only(goal, name, taken), _cost(goal, name, cost, bare_cost)]


def _row(goal: str, name: str, kind: str, taken: dict[str, float | None], spans: list[float]) -> Row:
    mine = known(taken["Assent"])
    ends = f"p50 {milliseconds(percentile(spans, 0.5))}, p99 {milliseconds(percentile(spans, 0.99))}"
    peers = {peer: taken[peer] for peer in _PEERS}
    return Row(
        id=goal,
        title=f"full cycles over HTTP (one call, decision, outcome), 64 concurrent, {name}",
        measured=f"{per_second(mine, 'cycles')} ({ends})",
        reference=", ".join(f"{peer} {per_second(rate, 'cycles')}" for peer, rate in peers.items()),
        ratio=", ".join(times(mine, rate) for rate in peers.values()),
        must=tuple(at_least(mine, share, peers[peer], peer) for peer, share in _MUST[kind].items()),
        stretch=tuple(at_least(mine, share, peers[peer], peer) for peer, share in _STRETCH[kind].items()),
        figures={"assent": mine, **{peer.lower(): rate for peer, rate in peers.items()}},
    )


def _read_only(goal: str, name: str, taken: dict[str, float | None]) -> list[Row]:
    woken, floor = known(taken["Assent, until woken"]), taken["floor"]
    mine, commits, plain = known(taken["Assent"]), taken["bare commits"], taken["bare FastAPI POST"]
    five = known(taken["Assent, five calls"])
    return [
        Row(
            id=f"{goal}x",
            title=f"the same in five calls (create, wait, decide, claim, outcome), {name}",
            measured=per_second(five, "cycles"),
            reference=f"in three {per_second(mine, 'cycles')}",
            ratio=times(five, mine),
            figures={"assent": five, "one_call": mine},
        ),
        Row(
            id=f"{goal}a",
            title=f"create, decide, wake alone (the floor's cycle), {name}",
            measured=per_second(woken, "cycles"),
            reference=f"floor {per_second(floor, 'cycles')}",
            ratio=times(woken, floor),
            figures={"assent": woken, "floor": floor},
        ),
        Row(
            id=f"{goal}b",
            title=f"four durable changes a cycle, {name}",
            measured=per_second(mine * 4, "changes"),
            reference=f"bare commits of one connection {per_second(commits, '')}",
            ratio=times(mine * 4, commits),
            figures={"assent": mine * 4, "commits": commits},
        ),
        Row(
            id=f"{goal}c",
            title=f"three HTTP calls a cycle, {name}",
            measured=per_second(mine * 3, "calls"),
            reference=f"bare FastAPI POST {per_second(plain, '')}",
            ratio=times(mine * 3, plain),
            figures={"assent": mine * 3, "fastapi": plain},
        ),
    ]


def _cost(goal: str, name: str, cost: Cost, bare: Cost) -> Row:
    """Say what bounds the rate: one interpreter runs one thread at a time, so a busy one is won by less work alone."""
    share = cost.busy / cost.wall if cost.wall else 0.0
    return Row(
        id=f"{goal}p",
        title=f"processor time of the gateway a cycle, {name}",
        measured=f"{milliseconds(cost.each)}, {share:.0%} of one processor",
        reference=f"floor {milliseconds(bare.each)}",
        ratio=times(cost.each, bare.each or None),
        figures={"assent": cost.each, "share": share, "floor": bare.each},
    )
