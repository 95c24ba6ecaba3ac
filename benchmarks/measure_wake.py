"""P3, P4, P4b: from a decision to the waiter's answer, on an idle gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import references
from benchmarks.cycles import wake_times
from benchmarks.processes import gateway
from benchmarks.results import Row, at_most, below, milliseconds, percentile, times
from benchmarks.talks import FloorTalk, GatewayTalk

if TYPE_CHECKING:
    from benchmarks.run import Run


async def measure_wake_one_process(run: Run) -> list[Row]:
    """P3: SQLite, decider and waiter on the same process."""
    sizes, databases = run.sizes, run.databases
    each = max(10, sizes.samples // sizes.rounds)
    sent: list[float] = []
    acknowledged: list[float] = []
    of_floor: list[float] = []
    of_dbos: list[float] = []
    server = await gateway(databases.folder / "wake-sqlite", databases.new("sqlite"))
    async with server, references.floor_server(databases.new("sqlite", migrated=False)) as floor:
        for turn in range(1, sizes.rounds + 1):
            ours = GatewayTalk(server)
            spans, after = await wake_times(ours, ours, samples=each)
            sent, acknowledged = sent + spans, acknowledged + after
            run.tell(
                f"P3 wake, SQLite  round {turn} of {sizes.rounds}  Assent: p50 {milliseconds(percentile(spans, 0.5))}"
            )
            spans, _ = await wake_times(FloorTalk(floor), FloorTalk(floor), samples=each)
            of_floor += spans
            run.tell(
                f"P3 wake, SQLite  round {turn} of {sizes.rounds}  floor: p50 {milliseconds(percentile(spans, 0.5))}"
            )
            if "postgresql" in databases.kinds():
                said = await references.dbos(databases.new("postgresql", migrated=False), samples=each)
                of_dbos += said["wakes"] if said else []
    event = percentile(await references.event_wakes(2_000), 0.5)
    p50, p99 = percentile(sent, 0.5), percentile(sent, 0.99)
    floor50, floor99 = percentile(of_floor, 0.5), percentile(of_floor, 0.99)
    dbos99 = percentile(of_dbos, 0.99) if of_dbos else None
    reference = (
        f"floor {milliseconds(floor50)} / {milliseconds(floor99)}; DBOS on PostgreSQL p99 {milliseconds(dbos99)}"
    )
    return [
        Row(
            id="P3",
            title=f"wake, SQLite: decision sent → waiter answered, p50 / p99 (asyncio.Event: {event * 1e6:.0f} µs)",
            measured=f"{milliseconds(p50)} / {milliseconds(p99)}",
            reference=reference,
            ratio=f"{times(p50, floor50)} / {times(p99, floor99)}",
            must=(
                at_most(p50, 3, floor50, "floor p50"),
                at_most(p99, 3, floor99, "floor p99"),
                at_most(p99, 1, dbos99, "DBOS p99"),
            ),
            stretch=(at_most(p99, 1.5, floor99, "floor p99"),),
            figures={
                "p50": p50,
                "p99": p99,
                "floor_p50": floor50,
                "floor_p99": floor99,
                "dbos_p99": dbos99,
                "event": event,
            },
        ),
        _after("P3b", "SQLite", acknowledged),
    ]


async def measure_wake_across(run: Run) -> list[Row]:
    """P4: PostgreSQL, the waiter on another replica than the decider."""
    sizes, databases = run.sizes, run.databases
    each = max(10, sizes.samples // sizes.rounds)
    url, bare = databases.new("postgresql"), databases.new("postgresql", migrated=False)
    first = await gateway(databases.folder / "wake-a", url)
    second = await gateway(databases.folder / "wake-b", url, keys=first.keys)
    sent: list[float] = []
    acknowledged: list[float] = []
    told: list[float] = []
    async with first, second:
        for turn in range(1, sizes.rounds + 1):
            spans, after = await wake_times(GatewayTalk(first), GatewayTalk(first, port=second.port), samples=each)
            sent, acknowledged = sent + spans, acknowledged + after
            run.tell(
                f"P4 wake across  round {turn} of {sizes.rounds}  Assent: p50 {milliseconds(percentile(spans, 0.5))}"
            )
            spans = await references.notify_wakes(bare, each)
            told += spans
            run.tell(
                f"P4 wake across  round {turn} of {sizes.rounds}  NOTIFY: p50 {milliseconds(percentile(spans, 0.5))}"
            )
    p50, p99 = percentile(sent, 0.5), percentile(sent, 0.99)
    floor50, floor99 = percentile(told, 0.5), percentile(told, 0.99)
    return [
        Row(
            id="P4",
            title="wake, PostgreSQL, waiter on another replica: decision sent → waiter answered, p50 / p99",
            measured=f"{milliseconds(p50)} / {milliseconds(p99)}",
            reference=f"NOTIFY {milliseconds(floor50)} / {milliseconds(floor99)}",
            ratio=f"{times(p50, floor50)} / {times(p99, floor99)}",
            must=(at_most(p50, 8, floor50, "NOTIFY p50"), at_most(p99, 15, floor99, "NOTIFY p99")),
            stretch=(at_most(p50, 4, floor50, "NOTIFY p50"), at_most(p99, 6, floor99, "NOTIFY p99")),
            figures={"p50": p50, "p99": p99, "notify_p50": floor50, "notify_p99": floor99},
        ),
        _after("P4b", "PostgreSQL, another replica", acknowledged),
    ]


def _after(goal: str, where: str, acknowledged: list[float]) -> Row:
    p99 = percentile(acknowledged, 0.99)
    return Row(
        id=goal,
        title=f"wake, {where}: decision acknowledged → waiter answered, p50 / p99",
        measured=f"{milliseconds(percentile(acknowledged, 0.5))} / {milliseconds(p99)}",
        must=(below(p99, 0.005, "5 ms"),),
        stretch=(below(p99, 0.001, "1 ms"),),
        figures={"p99": p99},
    )
