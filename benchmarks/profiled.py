"""Run the gateway's command line under cProfile, every thread of it: `python -m benchmarks.profiled FOLDER serve …`.

It begins at SIGUSR1, so that the start is not in it, and leaves one `.pstats` file a thread's name in FOLDER when the
process ends, with `waits.json`: how long units of work waited for their lane, and were in it. The profile's clock is
each thread's own CPU time, so that waiting for another thread (or for the interpreter's lock) is not mistaken for
work; that of the waits is the wall's. cProfile slows Python down by a factor of two or so: read the shares.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.storage.engine.answers import Job
    from app.storage.engine.lane import Lane


@dataclass(slots=True)
class _Waits:
    """How long units stood in the queue of a lane, and how long its batches took, in seconds."""

    queued: list[float] = field(default_factory=list[float])
    worked: list[float] = field(default_factory=list[float])
    is_on: bool = False

    def watch(self, lane: type[Lane]) -> None:
        """Look on at every lane of this process."""
        waits, submit, serve_batch, since = self, lane.submit, lane._serve_batch, dict[int, float]()

        def submitted(self: Lane, job: Job) -> None:
            since[id(job)] = time.perf_counter()
            submit(self, job)

        def served(self: Lane, jobs: Sequence[Job]) -> Sequence[Job]:
            began = time.perf_counter()
            waited = [began - since.pop(id(job), began) for job in jobs]
            left = serve_batch(self, jobs)
            if waits.is_on and self._write:
                waits.queued += waited
                waits.worked += [time.perf_counter() - began] * len(jobs)
            return left

        lane.submit = submitted
        lane._serve_batch = served


def run(folder: Path, arguments: list[str]) -> None:
    """Profile the main thread from the signal on, and every other thread from its start."""
    from app.storage.engine.lane import Lane

    folder.mkdir(parents=True, exist_ok=True)
    profiles: list[tuple[str, cProfile.Profile]] = []
    found: dict[str, pstats.Stats] = {}
    waits = _Waits()
    waits.watch(Lane)
    mine = cProfile.Profile(time.thread_time)

    def begin(_frame: object, _event: str, _argument: object) -> None:
        theirs = cProfile.Profile(time.thread_time)
        profiles.append((threading.current_thread().name, theirs))
        theirs.enable()  # replaces this very function for the thread

    def now(_number: int, _frame: object) -> None:
        waits.is_on = True
        mine.enable()

    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))  # uvicorn raises it again when it has stopped
    signal.signal(signal.SIGUSR1, now)
    threading.setprofile(begin)
    sys.argv = ["assent", *arguments]
    try:
        main()
    except SystemExit:
        pass
    finally:
        mine.disable()
        threading.setprofile(None)
        for name, profile in [("MainThread", mine), *profiles]:
            whole = found.get(name)  # a lane of the look before the start has the name of the one that serves
            found[name] = whole.add(profile) if whole else pstats.Stats(profile)
        for name, whole in found.items():
            whole.dump_stats(folder / f"{name}.pstats")
        stood = {"queued": waits.queued, "worked": waits.worked}
        (folder / "waits.json").write_text(json.dumps(stood), encoding="ascii")


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
