"""P11, P12: what a start costs: the client's in an agent, the gateway's, and that of a command that says its help."""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import references
from benchmarks.processes import gateway
from benchmarks.references import command_times
from benchmarks.results import Row, below, milliseconds, percentile, times

if TYPE_CHECKING:
    from benchmarks.processes import Server
    from benchmarks.run import Run

_BARE = [sys.executable, "-c", "pass"]
_CLIENT = [sys.executable, "-c", "from assent import AsyncGateway"]


_HELP = [sys.executable, "-m", "app.cli.main", "--help"]


async def measure_start(run: Run) -> list[Row]:
    """P11, P12: whole processes, in turn with their references, so that both meet the same machine."""
    return [_client(run), await _serve(run), _help(run)]


async def _serve(run: Run) -> Row:
    """P12: from the command to the first answer of the readiness route, on a SQLite file that is up to date."""
    ours = await gateway(run.databases.folder / "started", run.databases.new("sqlite"))
    bare = references.floor_server(run.databases.new("sqlite", migrated=False))
    ready_in, floor_in = list[float](), list[float]()
    both: tuple[tuple[Server, list[float]], ...] = ((ours, ready_in), (bare, floor_in))
    for _ in range(max(3, run.sizes.starts // 4)):
        for server, taken in both:
            began = time.perf_counter()
            await server.start()
            taken.append(time.perf_counter() - began)
            server.stop()
    ready, floor = median(ready_in), median(floor_in)
    run.tell(f"P12 serve ready  p50 {milliseconds(ready)}, a bare FastAPI process {milliseconds(floor)}")
    return Row(
        id="P12",
        title="`assent serve`, from the command to ready, SQLite, p50",
        measured=milliseconds(ready),
        reference=f"a bare FastAPI process starts in {milliseconds(floor)}",
        ratio=times(ready, floor),
        must=(below(ready, 0.6, "0.6 s"),),
        stretch=(below(ready, 0.5, "0.5 s"),),
        figures={"ready": ready, "floor": floor},
    )


def _help(run: Run) -> Row:
    ours = [command_times(_HELP, expect=b"serve") for _ in range(run.sizes.starts)]
    bare = [command_times(_BARE) for _ in range(run.sizes.starts)]
    shown, floor = percentile(ours, 0.5), percentile(bare, 0.5)
    run.tell(f"P12b assent --help  p50 {milliseconds(shown)}, python alone {milliseconds(floor)}")
    return Row(
        id="P12b",
        title="`assent --help`, p50",
        measured=milliseconds(shown),
        reference=f"python -c pass {milliseconds(floor)}",
        ratio=times(shown, floor),
        must=(below(shown, 0.15, "0.15 s"),),
        stretch=(below(shown, 0.1, "0.1 s"),),
        figures={"help": shown, "python": floor},
    )


def _client(run: Run) -> Row:
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(2):  # byte code is written, files are in memory
        command_times(_CLIENT)
    for _ in range(run.sizes.starts):
        ours.append(command_times(_CLIENT))
        bare.append(command_times(_BARE))
    start, floor = percentile(ours, 0.5), percentile(bare, 0.5)
    run.tell(f"P11 client's start  p50 {milliseconds(start)}, python alone {milliseconds(floor)}")
    return Row(
        id="P11",
        title="importing the client, beyond the interpreter's start, p50",
        measured=milliseconds(start - floor),
        reference=f"python -c pass {milliseconds(floor)}",
        ratio=times(start, floor),
        must=(below(start - floor, 0.060, "60 ms"),),
        stretch=(below(start - floor, 0.040, "40 ms"),),
        figures={"start": start, "python": floor},
    )
