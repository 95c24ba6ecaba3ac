"""A pace for tests: seconds pass only when the client sleeps, so an hour of patience takes no time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel

from assent.client.pace import Pace


@dataclass
class ManualSeconds:
    """A monotonic clock that sleeping advances."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


def manual_pace(seconds: ManualSeconds, *, patience: float = 30.0, margin: float = 30.0) -> Pace:
    ids = iter(range(1, 10_000))
    return Pace(
        patience=patience,
        margin=margin,
        monotonic=seconds.monotonic,
        sleep=seconds.sleep,
        jitter=lambda: 1.0,
        new_id=lambda prefix: f"{prefix}_{next(ids)}",
    )


def quick_pace(*, patience: float = 5.0, hold: float = 5.0) -> Pace:
    """Real seconds, few of them."""
    short: dict[str, Any] = {"first_backoff": 0.01, "last_backoff": 0.05, "connect": 1.0, "read": 2.0, "lookup": 0.3}
    return Pace(hold=hold, patience=patience, **short)
