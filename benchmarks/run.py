"""A run of the benchmarks: its sizes, its databases, and how it tells what it is doing."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from benchmarks.databases import Databases


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    seconds: float = 4.0
    rounds: int = 3
    concurrent: int = 64
    samples: int = 200
    waiters: int = 10_000
    killed: int = 10_000
    few_rows: int = 1_000
    many_rows: int = 100_000
    starts: int = 60


FULL = Sizes()
QUICK = Sizes(
    seconds=0.4,
    rounds=1,
    concurrent=8,
    samples=20,
    waiters=300,
    killed=300,
    few_rows=100,
    many_rows=1_000,
    starts=4,
)


@dataclass(slots=True, kw_only=True)
class Run:
    """One run."""

    sizes: Sizes
    databases: Databases
    began: float = field(default_factory=time.monotonic)

    def tell(self, text: str) -> None:
        """Say what is going on, at once."""
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", file=sys.stderr, flush=True)

    async def medians(
        self, what: str, unit: str, probes: Mapping[str, Callable[[], Awaitable[float | None]]], *, scale: float = 1.0
    ) -> dict[str, float | None]:
        """Take every probe once a round, in turn, and return the medians; None for one that cannot be measured here."""
        taken: dict[str, list[float]] = {name: [] for name in probes}
        for turn in range(1, self.sizes.rounds + 1):
            for name, probe in probes.items():
                value = await probe()
                if value is not None:
                    taken[name].append(value)
                shown = "not measured" if value is None else f"{value * scale:,.4g} {unit}"
                self.tell(f"{what}  round {turn} of {self.sizes.rounds}  {name}: {shown}")
        return {name: statistics.median(values) if values else None for name, values in taken.items()}


def known(value: float | None) -> float:
    """Return a figure that must be there. Raises ValueError."""
    if value is None:
        raise ValueError("the gateway itself was not measured")
    return value
