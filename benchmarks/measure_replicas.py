"""P2r: what more replicas on one PostgreSQL bring, with all of it in one org: whose trail is one chain."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from benchmarks.births import Births
from benchmarks.cycles import run_one_call
from benchmarks.processes import gateway, make_keys
from benchmarks.results import Row, per_second, times
from benchmarks.run import known
from benchmarks.talks import GatewayTalk

if TYPE_CHECKING:
    from benchmarks.run import Run

_COUNTS = (1, 2, 4)


async def measure_replicas(run: Run) -> list[Row]:
    """Measure 1, 2 and 4 replicas in turn: the same agents, spread over them."""
    url = run.databases.new("postgresql")
    keys, births = await make_keys(url), Births(url)
    async with AsyncExitStack() as stack:
        talks = [
            GatewayTalk(
                await stack.enter_async_context(
                    await gateway(run.databases.folder / f"replica-{number}", url, keys=keys)
                )
            )
            for number in range(max(_COUNTS))
        ]

        async def of(count: int) -> float:
            sizes = run.sizes
            return (
                await run_one_call(*talks[:count], births=births, concurrent=sizes.concurrent, seconds=sizes.seconds)
            ).rate

        taken = await run.medians("P2r", "/s", {str(count): lambda count=count: of(count) for count in _COUNTS})
    births.close()
    alone = known(taken["1"])
    return [
        Row(
            id="P2r",
            title=f"full cycles over HTTP, {count} replicas on one PostgreSQL, one org",
            measured=per_second(known(taken[str(count)]), "cycles"),
            reference=f"one replica {per_second(alone, 'cycles')}",
            ratio=times(known(taken[str(count)]), alone),
            figures={"replicas": known(taken[str(count)]), "one": alone},
        )
        for count in _COUNTS[1:]
    ]
