"""How much of the machine others used while we measured: Linux counts it in /proc/stat.

A server that we start may leave its starter, as PostgreSQL does. It is still ours: whoever is orphaned becomes this
process's child (prctl(2), PR_SET_CHILD_SUBREAPER), and what it used is counted when it is waited for.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


class OtherWork:
    """Counts from when it is made. Our own work is this process's, and that of its ended children and of theirs."""

    def __init__(self) -> None:
        """Begin, and adopt what our children leave behind."""
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._began, self._busy, self._ours = time.monotonic(), _busy(), _ours()

    def share(self) -> float:
        """Return the part of all processor time, from 0 to 1, that others used. Call it when nothing of ours runs."""
        _wait_for_the_ended()
        whole = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        others = (_busy() - self._busy) - (_ours() - self._ours)
        return min(1.0, max(0.0, others / whole)) if whole else 0.0


def _wait_for_the_ended() -> None:
    with suppress(ChildProcessError):  # there are none
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _busy() -> float:
    """Return the seconds that the processors have worked, for whomever: user, nice, system, irq, softirq, steal."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    return sum(int(fields[at]) for at in (0, 1, 2, 5, 6, 7)) / os.sysconf("SC_CLK_TCK")


def _ours() -> float:
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
