"""The metronome: APScheduler ticks, and each tick asks the rows what is due.

No job lives in memory alone. A tick that fails is logged and the next one comes; a tick that is still running is not
started twice; a process that was down finds on its first tick everything that fell due meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler  # pyright: ignore[reportMissingTypeStubs]

from app.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

log = structlog.get_logger(__name__)


class Timers:
    """The scheduler and its ticks."""

    def __init__(self) -> None:
        """Begin with no ticks."""
        self._scheduler = AsyncIOScheduler(timezone="UTC")

    def every(self, span: timedelta, name: str, tick: Callable[[], Awaitable[object]], *, jitter: int = 0) -> None:
        """Run `tick` every `span`, one at a time, `jitter` seconds early or late: replicas must not march in step."""

        async def guarded() -> None:
            try:
                await tick()
            except UnavailableError as error:  # an outage, not a defect
                log.warning("tick.waits", tick=name, why=error.detail)
            except Exception:
                log.exception("tick.failed", tick=name)

        self._scheduler.add_job(  # pyright: ignore[reportUnknownMemberType] - APScheduler 3 has no types
            guarded,
            "interval",
            seconds=span.total_seconds(),
            id=name,
            jitter=jitter or None,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )

    def start(self) -> None:
        """Begin to tick."""
        self._scheduler.start()

    def stop(self) -> None:
        """Stop ticking; what runs is cancelled with its loop."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
