"""Notice that the database has gone silent, and let nobody wait for it: the lanes' own threads hang, and cannot.

A look is taken every half second. A lane that is still at the same batch after `_SUSPECT` seconds makes it ask the
database something on a line of its own; if that is not answered either, the batches of all lanes are abandoned, and
callers are refused at once until somebody new is answered again. A lane that hangs alone (its one connection is dead,
or its disk) is given up when its own `longest` is over.

Looks are counted, not seconds: a process that was frozen itself has looked at nothing meanwhile, and blames nobody.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog

from app.storage.engine import answers
from app.storage.engine.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.storage.engine.dialect import Dialect
    from app.storage.engine.lane import Lane

_EVERY = 0.5
_SUSPECT = 1.5
"""Seconds: with the two that the question may take, callers are answered within five."""
log = structlog.get_logger(__name__)


class Watch:
    """A thread that looks after the lanes' threads."""

    def __init__(self, dialect: Dialect, lanes: Sequence[Lane]) -> None:
        """Prepare; `start` begins."""
        self.trouble: Trouble | None = None
        """Set while the database is silent: nobody is to wait for it."""
        self._dialect = dialect
        self._lanes = lanes
        self._looks: dict[Lane, tuple[int, int]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Blocks; call it off the loop."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            self._look()

    def _look(self) -> None:
        hanging = {lane: looks * _EVERY for lane in self._lanes if (looks := self._seen(lane))}
        suspect = any(seconds % _SUSPECT == 0 for seconds in hanging.values())  # then, and each time as long again
        if self.trouble is not None or suspect:
            silent = self._dialect.is_silent()
            if not silent and self.trouble is not None:
                log.warning("store.answers_again")
            self.trouble = Trouble.SILENT if silent else None
        for lane, seconds in hanging.items():
            if self.trouble is not None or seconds >= lane.longest:
                lane.abandon(self._looks[lane][0])
                answers.refuse_queued(lane.jobs, Trouble.SILENT)

    def _seen(self, lane: Lane) -> int:
        """Count the looks that have found a lane at the batch that it is at; 0 for one that goes on."""
        turn = lane.turn
        before, looks = self._looks.get(lane, (turn, 0))
        looks = looks + 1 if turn == before and turn % 2 else 0
        self._looks[lane] = (turn, looks)
        return looks
