"""What the processes of a local sandbox use together, by the sandbox's own /proc. Blocking, and quick."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was seen at one look."""

    processes: int = 0
    """Besides the sandbox's first."""
    memory: int = 0
    """Bytes that they hold in memory. Pages that several share count once, as soon as it matters."""


def look(first: int, *, enough: int) -> Usage | None:
    """Look at the sandbox whose first process is `first`. None: this process may not look.

    Shared pages are told from others only where the plain sum is beyond `enough` bytes: that is the slower count.
    """
    own = Path(f"/proc/{first}/root/proc")
    try:
        if own.stat().st_dev == Path("/proc").stat().st_dev:
            return Usage()  # it is still being set up
        found = [entry for entry in own.iterdir() if entry.name.isdigit()]
    except PermissionError:
        return None
    except OSError:  # it has ended
        return Usage()
    memory = sum(_resident(entry) for entry in found)
    if memory > enough:
        memory = sum(_share(entry) for entry in found)
    return Usage(processes=len(found) - 1, memory=memory)


def _resident(process: Path) -> int:
    with suppress(OSError, ValueError, IndexError):  # it ended meanwhile
        return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    return 0


def _share(process: Path) -> int:
    """Its own pages, and its part of those that it shares; all of them where the kernel does not tell."""
    with suppress(OSError, ValueError, IndexError):
        for line in (process / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return _resident(process)
