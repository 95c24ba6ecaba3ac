"""Where the gateway's time goes under the load of P1: `python -m benchmarks P1 --profile FOLDER`."""

from __future__ import annotations

import io
import pstats
from typing import TYPE_CHECKING

from benchmarks.cycles import run_cycles
from benchmarks.processes import gateway
from benchmarks.talks import GatewayTalk

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.run import Run

_LINES = 30
_THREADS = ("MainThread", "store-write", "store-read")


async def profile_cycles(run: Run, kind: str, folder: Path) -> str:
    """Put the load of P1 on a profiled gateway; return its hot spots, thread by thread. The whole stays in `folder`."""
    server = await gateway(run.databases.folder / "profiled", run.databases.new(kind), profile=folder)
    async with server:
        tally = await run_cycles(GatewayTalk(server), concurrent=run.sizes.concurrent, seconds=run.sizes.seconds * 2)
    out = io.StringIO()
    print(f"{tally.rate:.0f} cycles/s while it was profiled; CPU seconds", file=out)
    for thread in _THREADS:
        for order in ("tottime", "cumtime"):
            print(f"--- {thread} by {order}", file=out)
            stats = pstats.Stats(str(folder / f"{thread}.pstats"), stream=out)
            stats.sort_stats(order).print_stats(r"/(app|channels|benchmarks|fastapi|starlette|uvicorn)/|method", _LINES)
    return out.getvalue()
