"""A reference: DBOS's `recv`/`send` on the same kind of database: `python -m benchmarks.dbos_cycles URL …`.

DBOS is the closest durable "wait for a message" that runs inside Python. It is measured inside one process, without any
HTTP and with the decider on the same loop, which flatters it. Prints one JSON object: cycles per second, and the
seconds from `send` until the workflow goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

from dbos import DBOS, DBOSConfig  # pyright: ignore[reportMissingImports] - installed in .venv-bench alone

_resumed: dict[str, float] = {}


@DBOS.workflow()
async def await_decision() -> str:
    """Wait for a decision."""
    said = await DBOS.recv_async("decision", 120)
    _resumed[str(DBOS.workflow_id)] = time.perf_counter()
    return str(said)


async def cycles(concurrent: int, seconds: float) -> float:
    """Return cycles per second."""
    warm_until = time.perf_counter() + min(1.0, seconds / 3)
    until = warm_until + seconds
    done = 0

    async def worker() -> None:
        nonlocal done
        while time.perf_counter() < until:
            handle: Any = await DBOS.start_workflow_async(await_decision)
            await DBOS.send_async(handle.workflow_id, "approve", "decision")
            await handle.get_result()
            done += warm_until <= time.perf_counter() <= until

    await asyncio.gather(*(worker() for _ in range(concurrent)))
    return done / seconds


async def wakes(samples: int, at_once: int) -> list[float]:
    """Return the seconds from `send` until the workflow goes on, for each of `samples`."""
    spans: list[float] = []
    while len(spans) < samples:
        handles: list[Any] = [await DBOS.start_workflow_async(await_decision) for _ in range(at_once)]
        await asyncio.sleep(0.5)
        for handle in handles:
            sent = time.perf_counter()
            await DBOS.send_async(handle.workflow_id, "approve", "decision")
            await handle.get_result()
            spans.append(_resumed[handle.workflow_id] - sent)
            await asyncio.sleep(0.02)
    return spans


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--concurrent", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--samples", type=int, default=0)
    given = parser.parse_args()
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": given.url,
        "log_level": "ERROR",
        "application_version": "1",
    }
    DBOS(config=config)
    DBOS.launch()
    said = {
        "rate": await cycles(given.concurrent, given.seconds) if given.seconds else None,
        "wakes": await wakes(given.samples, 10) if given.samples else [],
    }
    print(json.dumps(said), flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main())
