"""How much of the machine others used while we measured: Linux counts it in /proc/stat."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path


class OtherWork:
    """Counts from when it is made. Our own work is this process's, and that of its ended children and of theirs."""

    def __init__(self) -> None:
        """Begin."""
        self._began, self._busy, self._ours = time.monotonic(), _busy(), _ours()

    def share(self) -> float:
        """Return the part of all processor time, from 0 to 1, that others used until now."""
        whole = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        others = (_busy() - self._busy) - (_ours() - self._ours)
        return min(1.0, max(0.0, others / whole)) if whole else 0.0


def _busy() -> float:
    """Return the seconds that the processors have worked, for whomever: user, nice, system, irq, softirq, steal."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    return sum(int(fields[at]) for at in (0, 1, 2, 5, 6, 7)) / os.sysconf("SC_CLK_TCK")


def _ours() -> float:
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
