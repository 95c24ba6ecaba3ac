"""Files that hold arguments, votes or hashes of keys are their owner's alone, whatever the umask of the process is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PRIVATE = 0o600
_BESIDE = ("", "-wal", "-shm", "-journal")


def keep_private(database: str) -> None:
    """Make a SQLite file that is to be opened its owner's alone, and what stands beside it; a new one is born so.

    SQLite gives what it makes beside a file the rights of that file. One of another owner stays as it is.
    """
    if not database or database.startswith((":", "file:")):
        return
    with suppress(OSError):  # SQLite says itself what it cannot open
        os.close(os.open(database, os.O_RDWR | os.O_CREAT, PRIVATE))
    for suffix in _BESIDE:
        path = Path(f"{database}{suffix}")
        with suppress(OSError):
            if path.stat().st_mode & 0o077:
                path.chmod(PRIVATE)
