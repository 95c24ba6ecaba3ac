"""How often the gateway's database was restored from a backup, as far as an executor has seen.

A claim that knows of fewer restores comes from a database that is older than one which was there before. What was paid
since may stand there as approved: nothing runs for it.
"""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.to_thread


class Epoch:
    """The highest number seen, in memory, and in a file if one is given.

    Raises `ValueError` for a file that holds something else: it may be the wrong one.
    """

    def __init__(self, state_file: str | Path | None) -> None:
        self._file = Path(state_file) if state_file is not None else None
        self._highest = self._read()
        self._turn = anyio.Lock()

    async def holds(self, epoch: int) -> bool:
        """Say whether a claim of this epoch may run; a higher one is on the disk before anything runs for it."""
        async with self._turn:
            if epoch > self._highest:
                if self._file is not None:
                    await anyio.to_thread.run_sync(self._write, self._file, epoch)
                self._highest = epoch
            return epoch == self._highest

    def told(self, epoch: int) -> str:
        """Compare, for people."""
        return f"restored {epoch} times, and {self._highest} were seen"

    def _read(self) -> int:
        if self._file is None or not self._file.exists():
            return 0
        text = self._file.read_text(encoding="ascii", errors="replace").strip()
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise ValueError(f"{self._file} is not the state file of an executor: it holds no number")
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
