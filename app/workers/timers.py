"""The metronome: APScheduler ticks, and each tick asks the rows what is due.

No job lives in memory alone. A tick that fails is logged and the next one comes; a tick that is still running is not
started twice; a process that was down finds on its first tick everything that fell due meanwhile.

APScheduler reckons in wall time. Where the wall clock is set back, its ticks would stop for as long as it was set back;
where it is set forward, it would count every tick that never was. So something that beats by the monotonic clock
compares the two: at a step all jobs are due at once, from where they go on at their span. Deadlines are not its
business: the database's clock decides them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import structlog

from app.domain.errors import UnavailableError, UnsealedError
from app.lean_imports import nothing_installed
from app.workers.outage import Outage

with nothing_installed():  # it looks three times for what may be asked of it by name, which nobody here does
    from apscheduler.schedulers.asyncio import AsyncIOScheduler  # pyright: ignore[reportMissingTypeStubs]
    from apscheduler.triggers.interval import IntervalTrigger  # pyright: ignore[reportMissingTypeStubs]

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime, timedelta

    from app.ports import Clock

log = structlog.get_logger(__name__)

_LOOK_EVERY = 0.5
_STEP = 1.0
"""Seconds between two looks by which the clocks must come apart to be a step: slewing is some thousandth of it."""


class _Interval(IntervalTrigger):
    """Counts no tick that never was: a job that is far behind goes on from now."""

    def __init__(self, span: timedelta, jitter: int) -> None:
        self._span = span
        seconds: Any = span.total_seconds()  # it takes fractions, whatever its own types say
        super().__init__(seconds=seconds, timezone="UTC", jitter=jitter or None)  # pyright: ignore[reportUnknownMemberType]

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """Return when the job is due next."""
        if previous_fire_time is not None and now - previous_fire_time > self._span:
            previous_fire_time = now
        return super().get_next_fire_time(previous_fire_time, now)  # pyright: ignore[reportUnknownMemberType]


class Timers:
    """The scheduler and its ticks."""

    def __init__(self, clock: Clock) -> None:
        """Begin with no ticks. The clock is the wall's."""
        self._scheduler = AsyncIOScheduler(timezone="UTC")
        self._clock = clock
        self._names: list[str] = []
        self._ahead = 0.0
        self._next_look: asyncio.TimerHandle | None = None
        self._stopped = False

    def every(self, span: timedelta, name: str, tick: Callable[[], Awaitable[object]], *, jitter: int = 0) -> None:
        """Run `tick` every `span`, one at a time, `jitter` seconds early or late: replicas must not march in step."""
        outage = Outage("tick", name)

        async def guarded() -> None:
            try:
                await tick()
                outage.over()
            except UnavailableError as error:  # an outage, not a defect
                outage.found(error)
            except UnsealedError as error:  # a row that no gateway wrote: nothing else waits for it
                log.error("tick.refused", tick=name, why=error.detail)  # noqa: TRY400 - no fault of the code
            except asyncio.CancelledError:
                if not self._stopped:  # else it ends here: APScheduler would log a job that it cancels as a failure
                    raise
            except Exception:
                log.exception("tick.failed", tick=name)

        self._names.append(name)
        self._scheduler.add_job(  # pyright: ignore[reportUnknownMemberType] - APScheduler 3 has no types
            guarded,
            _Interval(span, jitter),
            id=name,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )

    def start(self) -> None:
        """Begin to tick."""
        self._scheduler.start()
        self._ahead = self._wall_ahead()
        self._look_again()

    def _wall_ahead(self) -> float:
        return self._clock.now().timestamp() - asyncio.get_running_loop().time()

    def _look_again(self) -> None:
        self._next_look = asyncio.get_running_loop().call_later(_LOOK_EVERY, self._look)

    def _look(self) -> None:
        """Compare the clocks; at a step, let everything be due now."""
        before, self._ahead = self._ahead, self._wall_ahead()
        if abs(self._ahead - before) >= _STEP:
            log.warning("clock.stepped", seconds=round(self._ahead - before, 1))
            for name in self._names:
                self._scheduler.modify_job(name, next_run_time=self._clock.now())  # pyright: ignore[reportUnknownMemberType]
        self._look_again()

    def stop(self) -> None:
        """Stop ticking; what runs is cancelled."""
        self._stopped = True
        if self._next_look is not None:
            self._next_look.cancel()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
