"""Keep the loops running: one task each, started again with a pause when one fails, stopped together.

The only home of `asyncio.create_task`: everything that runs in the background is known here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from app.domain.errors import UnavailableError, UnsealedError
from app.workers.outage import Outage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

log = structlog.get_logger(__name__)

_PAUSE = 1.0
_RUNS_AGAIN = 15.0
"""Seconds after which a loop that was kept from its work, and has not ended since, is at it again."""


class Supervisor:
    """Owns every background task of the process."""

    def __init__(self) -> None:
        """Begin with none."""
        self._loops: set[asyncio.Task[None]] = set()
        self._errands: set[asyncio.Task[None]] = set()

    def keep(self, name: str, loop: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run `loop` for ever; if it fails, log it (a defect with its traceback) and run it again."""
        task = asyncio.create_task(self._keep(name, loop), name=name)
        self._loops.add(task)
        task.add_done_callback(self._loops.discard)
        return task

    def later(self, errand: Coroutine[object, object, None]) -> None:
        """Run something small after the answer was sent."""
        task = asyncio.create_task(self._once(errand))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def stop(self) -> None:
        """Cancel the loops, and give the errands a moment to finish."""
        tasks = set(self._loops)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._errands:
            await asyncio.wait(set(self._errands), timeout=2)

    async def _keep(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        outage = Outage("worker", name)
        while True:
            calm = asyncio.get_running_loop().call_later(_RUNS_AGAIN, outage.over)
            try:
                await loop()
            except UnavailableError as error:  # an outage, not a defect: no traceback, and not each second
                outage.found(error)
            except UnsealedError as error:  # a row that no gateway wrote
                log.error("worker.refused", worker=name, why=error.detail)  # noqa: TRY400 - no fault of the code
            except Exception:
                log.exception("worker.failed", worker=name)
            finally:
                calm.cancel()
            await asyncio.sleep(_PAUSE)

    async def _once(self, errand: Coroutine[object, object, None]) -> None:
        try:
            await errand
        except Exception:
            log.exception("errand.failed")
