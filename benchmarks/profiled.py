"""Run the gateway's command line under cProfile, every thread of it: `python -m benchmarks.profiled FOLDER serve …`.

Leaves one `.pstats` file a thread in FOLDER when the process ends. The clock is each thread's own CPU time, so that
waiting for another thread (or for the interpreter's lock) is not mistaken for work. cProfile slows Python down by a
factor of two or so: read the shares, not the times.
"""

from __future__ import annotations

import cProfile
import signal
import sys
import threading
import time
from pathlib import Path

from app.cli.main import main


def run(folder: Path, arguments: list[str]) -> None:
    """Profile the main thread and every thread that starts later."""
    folder.mkdir(parents=True, exist_ok=True)
    profiles: dict[str, cProfile.Profile] = {}

    def begin(_frame: object, _event: str, _argument: object) -> None:
        name = threading.current_thread().name
        if name not in profiles:
            profiles[name] = cProfile.Profile(time.thread_time)
            profiles[name].enable()  # replaces this very function for the thread

    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))  # uvicorn raises it again when it has stopped
    threading.setprofile(begin)
    mine = profiles[threading.current_thread().name] = cProfile.Profile(time.thread_time)
    sys.argv = ["assent", *arguments]
    try:
        mine.runcall(main)
    except SystemExit:
        pass
    finally:
        threading.setprofile(None)
        for name, profile in profiles.items():
            profile.dump_stats(folder / f"{name}.pstats")


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
