"""P11: what the client costs an agent's start, beyond the start of the interpreter itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks.references import command_times
from benchmarks.results import Row, below, milliseconds, percentile, times

if TYPE_CHECKING:
    from benchmarks.run import Run

_BARE = [sys.executable, "-c", "pass"]
_CLIENT = [sys.executable, "-c", "from assent import AsyncGateway"]


async def measure_start(run: Run) -> list[Row]:
    """P11: whole processes, in turn, so that both meet the same machine."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(2):  # byte code is written, files are in memory
        command_times(_CLIENT)
    for _ in range(run.sizes.starts):
        ours.append(command_times(_CLIENT))
        bare.append(command_times(_BARE))
    median, floor = percentile(ours, 0.5), percentile(bare, 0.5)
    run.tell(f"P11 client's start  p50 {milliseconds(median)}, python alone {milliseconds(floor)}")
    return [
        Row(
            id="P11",
            title="importing the client, beyond the interpreter's start, p50",
            measured=milliseconds(median - floor),
            reference=f"python -c pass {milliseconds(floor)}",
            ratio=times(median, floor),
            must=(below(median - floor, 0.060, "60 ms"),),
            stretch=(below(median - floor, 0.040, "40 ms"),),
            figures={"start": median, "python": floor},
        )
    ]
