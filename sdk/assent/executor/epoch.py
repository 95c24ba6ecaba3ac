"""How often the gateway's database was restored from a backup, as far as an executor has seen.

A claim that knows of fewer restores comes from a database that is older than one which was there before. What was paid
since may stand there as approved: nothing runs for it. Several executors may share a file: what one of them has seen
holds for all, and the number in it only grows.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from assent.executor import options

try:
    import fcntl
except ImportError:  # Windows: there whoever shares a file may lose a number that is written at the same instant
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


class StateFileError(Exception):
    """The state file cannot be used. `unread`: it is not even known what others have seen of restores."""

    def __init__(self, file: Path, fault: OSError | ValueError, *, unread: bool = True) -> None:
        said = fault.strerror if isinstance(fault, OSError) else None
        super().__init__(f"the state file {file} cannot be read and written: {said or fault}")
        self.unread = unread


class Epoch:
    """The highest number seen, in memory, and in a file if one is given.

    Raises `ValueError` for a file that holds something else, since it may be the wrong one, or that cannot be written,
    and `TypeError` for what is no path.
    """

    def __init__(self, state_file: str | Path | None) -> None:
        self._file = options.path("state_file", state_file)
        self._highest = 0
        self._proven = False  # whether the number was written since anything went wrong
        self._turn = anyio.Lock()
        if self._file is not None:
            try:
                self._highest = self._read(self._file)
                self._try(self._file)
            except OSError as fault:
                raise ValueError(str(StateFileError(self._file, fault))) from fault

    async def fault(self) -> StateFileError | None:
        """Say what is wrong with the file now, before anything is claimed: a claim that cannot run is spent.

        The first time, and after a fault, the number itself is written; otherwise something small beside it.
        """
        if self._file is None:
            return None
        async with self._turn:
            try:
                look = self._try if self._proven else self._rewrite
                await anyio.to_thread.run_sync(look, self._file, self._highest)
            except (OSError, ValueError) as fault:
                self._proven = False
                return StateFileError(self._file, fault)
            self._proven = True
            return None

    async def holds(self, epoch: int) -> bool:
        """Say whether a claim of this epoch may run; a higher one is on the disk before anything runs for it.

        Raises `StateFileError`.
        """
        async with self._turn:
            self._highest = max(epoch, self._highest)
            if self._file is not None:
                try:
                    self._highest = await anyio.to_thread.run_sync(self._grown, self._file, self._highest)
                except StateFileError:
                    self._proven = False
                    raise
            return epoch == self._highest

    def told(self, epoch: int) -> str:
        """Compare, for people."""
        return f"restored {epoch} times, and {self._highest} were seen"

    @classmethod
    def _grown(cls, file: Path, seen: int) -> int:
        """Put what was seen into the file, unless somebody has seen more; return the larger."""
        try:
            known = cls._read(file)
        except (OSError, ValueError) as fault:
            raise StateFileError(file, fault) from fault
        if known >= seen:
            return known
        try:
            return cls._rewrite(file, seen)
        except (OSError, ValueError) as fault:
            raise StateFileError(file, fault, unread=False) from fault

    @classmethod
    def _rewrite(cls, file: Path, seen: int) -> int:
        with _alone(file):
            known = cls._read(file)  # anew: who held the lock may have written it
            cls._write(file, max(seen, known))
        return max(seen, known)

    @classmethod
    def _try(cls, file: Path, _: int = 0) -> None:
        """See whether the file can be read, and whether one can be written in its place."""
        cls._read(file)
        beside = file.with_name(f"{file.name}.{os.getpid()}.try")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as out:
                out.write("0\n")
        finally:
            beside.unlink(missing_ok=True)

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
