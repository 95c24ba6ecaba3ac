"""Where the gateway's time goes under the load of P1: `python -m benchmarks P1 --profile FOLDER`."""

from __future__ import annotations

import io
import json
import pstats
import signal
from typing import TYPE_CHECKING

from benchmarks.births import Births
from benchmarks.cost_by_floor import FLOORS, seconds_by_floor
from benchmarks.cycles import run_one_call
from benchmarks.processes import gateway
from benchmarks.results import milliseconds, percentile
from benchmarks.talks import GatewayTalk

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.cycles import Tally
    from benchmarks.run import Run

_LINES = 30
_THREADS = ("MainThread", "store-write", "store-read")


async def profile_cycles(run: Run, kind: str, folder: Path) -> str:
    """Put the load of P1 on a profiled gateway; return where its time went. The whole stays in `folder`."""
    url = run.databases.new(kind)
    server, births = await gateway(run.databases.folder / "profiled", url, profile=folder), Births(url)
    sizes = run.sizes
    async with server:
        await run_one_call(GatewayTalk(server), births=births, concurrent=sizes.concurrent, seconds=sizes.seconds / 3)
        assert server.process is not None
        server.process.send_signal(signal.SIGUSR1)
        tally = await run_one_call(
            GatewayTalk(server), births=births, concurrent=sizes.concurrent, seconds=sizes.seconds * 2
        )
    births.close()
    return f"{_by_floor(folder, tally)}\n{_waits(folder)}\n{_hot_spots(folder)}"


def _by_floor(folder: Path, tally: Tally) -> str:
    spent = {name: seconds_by_floor(_stats(folder, name).stats) for name in _THREADS}  # pyright: ignore[reportAttributeAccessIssue] - it is public, and untyped
    whole = sum(sum(each.values()) for each in spent.values())
    lines = [
        f"{tally.total} cycles while it was profiled, {tally.rate:.0f} a second; CPU milliseconds a cycle:",
        f"{'':34}{''.join(f'{name:>13}' for name in _THREADS)}{'all':>9}{'share':>8}",
    ]
    for floor in FLOORS:
        each = [spent[name][floor] for name in _THREADS]
        row = "".join(f"{seconds * 1000 / tally.total:13.3f}" for seconds in each)
        lines.append(f"{floor:34}{row}{sum(each) * 1000 / tally.total:9.3f}{sum(each) / whole:8.0%}")
    sums = "".join(f"{sum(spent[name].values()) * 1000 / tally.total:13.3f}" for name in _THREADS)
    return "\n".join([*lines, f"{'together':34}{sums}{whole * 1000 / tally.total:9.3f}"])


def _waits(folder: Path) -> str:
    found: dict[str, list[float]] = json.loads((folder / "waits.json").read_text(encoding="ascii"))
    if not found["queued"]:
        return "no unit was written meanwhile"
    queued, worked = (
        ", ".join(f"p{int(share * 100)} {milliseconds(percentile(found[name], share))}" for share in (0.5, 0.99))
        for name in ("queued", "worked")
    )
    return f"a unit waited for the writer's lane {queued}; then its batch took {worked} (seconds of the wall)"


def _hot_spots(folder: Path) -> str:
    out = io.StringIO()
    for thread in _THREADS:
        for order in ("tottime", "cumtime"):
            print(f"--- {thread} by {order}", file=out)
            _stats(folder, thread, out).sort_stats(order).print_stats(
                r"/(app|channels|benchmarks|fastapi|starlette|uvicorn)/|method", _LINES
            )
    return out.getvalue()


def _stats(folder: Path, thread: str, out: io.StringIO | None = None) -> pstats.Stats:
    return pstats.Stats(str(folder / f"{thread}.pstats"), stream=out)
