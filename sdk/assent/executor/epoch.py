"""How often the gateway's database was restored from a backup, as far as an executor has seen.

A claim that knows of fewer restores comes from a database that is older than one which was there before. What was paid
since may stand there as approved: nothing runs for it. Several executors may share a file: what one of them has seen
holds for all, and the number in it only grows.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

try:
    import fcntl
except ImportError:  # Windows: there whoever shares a file may lose a number that is written at the same instant
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Generator


class Epoch:
    """The highest number seen, in memory, and in a file if one is given.

    Raises `ValueError` for a file that holds something else: it may be the wrong one.
    """

    def __init__(self, state_file: str | Path | None) -> None:
        self._file = Path(state_file) if state_file is not None else None
        self._highest = self._read(self._file) if self._file is not None else 0
        self._turn = anyio.Lock()

    async def holds(self, epoch: int) -> bool:
        """Say whether a claim of this epoch may run; a higher one is on the disk before anything runs for it."""
        async with self._turn:
            self._highest = max(epoch, self._highest)
            if self._file is not None:
                self._highest = await anyio.to_thread.run_sync(self._grown, self._file, self._highest)
            return epoch == self._highest

    def told(self, epoch: int) -> str:
        """Compare, for people."""
        return f"restored {epoch} times, and {self._highest} were seen"

    @classmethod
    def _grown(cls, file: Path, seen: int) -> int:
        """Put what was seen into the file, unless somebody has seen more; return the larger."""
        if (known := cls._read(file)) >= seen:
            return known
        with _alone(file):
            known = cls._read(file)  # anew: who held the lock may have written it
            if seen > known:
                cls._write(file, seen)
        return max(seen, known)

    @staticmethod
    def _read(file: Path) -> int:
        try:
            text = file.read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            return 0
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise ValueError(f"{file} is not the state file of an executor: it holds no number")
        return int(text)

    @staticmethod
    def _write(file: Path, epoch: int) -> None:
        """Write beside, and then over: a crash leaves the old number or the new one."""
        beside = file.with_name(f"{file.name}.{os.getpid()}.new")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as out:
            out.write(f"{epoch}\n")
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)


@contextmanager
def _alone(file: Path) -> Generator[None]:
    """Keep other executors from writing the file meanwhile; the lock goes with whoever dies."""
    with os.fdopen(os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600), "w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
