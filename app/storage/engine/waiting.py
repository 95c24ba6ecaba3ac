"""The units that wait for a lane, in the order in which they came."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

from app.domain.errors import UnavailableError
from app.storage.engine.trouble import said_of
from app.storage.engine.unanswered import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.storage.engine.transaction import Job
    from app.storage.engine.trouble import Trouble


class Waiting:
    """A queue that anybody fills, and that one lane's thread empties, a batch at a time."""

    def __init__(self, most: int) -> None:
        """Take how many units a batch has at most."""
        self.stops = False
        """Nobody hands in any more: what still waits is the last."""
        self._most = most
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._left: Sequence[Job] = ()

    def __len__(self) -> int:
        """Return about how many wait."""
        return self._jobs.qsize() + len(self._left)

    @property
    def has_ended(self) -> bool:
        """Whether no batch will come any more. For the lane's thread, as all that follows but `refuse`."""
        return self.stops and not self._left

    def put(self, job: Job | None) -> None:
        """Queue a unit; None is the end. Safe to call from any thread."""
        self._jobs.put(job)

    def take(self) -> list[Job]:
        """Wait for a unit, and return it with those that wait behind it; at the end perhaps nothing.

        What a batch has left comes alone: otherwise whoever came later, of another org, could pass it time and again.
        """
        if self._left:
            left, self._left = list(self._left), ()
            return left
        jobs: list[Job] = []
        while not jobs or (len(jobs) < self._most and not self._jobs.empty()):
            job = self._jobs.get()
            if job is None:
                self.stops = True
                break
            jobs.append(job)
        return jobs

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Let those be the next batch that this one has not come to."""
        self._left = jobs

    def refuse(self, trouble: Trouble) -> None:
        """Answer those whose turn has not come: it will not come soon. Safe to call from any thread."""
        for _ in range(self._jobs.qsize()):
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is None:
                self._jobs.put(None)  # the lane is to stop; nothing is queued behind
                return
            refuse(job, UnavailableError(said_of(trouble), retry_after=2))
