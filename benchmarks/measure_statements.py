"""P2d: the statements and round trips that one full cycle costs on PostgreSQL, counted on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cycles import run_cycles
from benchmarks.processes import gateway, make_keys
from benchmarks.results import Row, below
from benchmarks.talks import GatewayTalk
from benchmarks.wire import Wire

if TYPE_CHECKING:
    from benchmarks.run import Run
    from benchmarks.wire import Traffic

_GOALS = {"alone": (30, 20), "together": (11, 8)}  # must, stretch
_SHOWN = 40
_LONGEST = 150


async def measure_statements(run: Run) -> list[Row]:
    """Count with one cycle at a time, and with many; tell which statements they were."""
    url = run.databases.new("postgresql")
    keys = await make_keys(url)
    folder = run.databases.folder / "wire"
    folder.mkdir(exist_ok=True)
    rows: list[Row] = []
    with Wire(url, folder) as wire:
        async with await gateway(run.databases.folder / "statements", wire.url, keys=keys) as server:
            for name, concurrent in (("alone", 1), ("together", run.sizes.concurrent)):
                talk = GatewayTalk(server)
                await run_cycles(talk, concurrent=concurrent, seconds=0.3)  # statements are prepared, caches filled
                before = wire.sent()
                tally = await run_cycles(talk, concurrent=concurrent, seconds=run.sizes.seconds)
                sent = wire.sent().since(before)
                _tell(run, name, sent, tally.total)
                rows.append(_row(name, concurrent, sent, tally.total))
    return rows


def _tell(run: Run, name: str, sent: Traffic, cycles: int) -> None:
    run.tell(f"P2d {name}: {cycles} cycles, {sent.transactions / cycles:.2f} transactions each")
    for text, times in sent.statements.most_common(_SHOWN):
        run.tell(f"{times / cycles:9.3f}  {text[:_LONGEST]}")


def _row(name: str, concurrent: int, sent: Traffic, cycles: int) -> Row:
    each, trips = sent.statements.total() / cycles, sent.round_trips / cycles
    must, stretch = _GOALS[name]
    return Row(
        id="P2d",
        title=f"statements of a full cycle on PostgreSQL, {concurrent} concurrent",
        measured=f"{each:.1f} statements, {trips:.1f} round trips",
        must=(below(each, must, str(must)),),
        stretch=(below(each, stretch, str(stretch)),),
        figures={"statements": each, "round_trips": trips},
    )
