"""Files that hold arguments, votes or hashes of keys are their owner's alone, whatever the umask of the process is."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

PRIVATE = 0o600
_BESIDE = ("", "-wal", "-shm", "-journal")
_one_at_a_time = threading.Lock()


def keep_private(database: str) -> None:
    """Make a SQLite file that is to be opened its owner's alone, and what stands beside it; a new one is born so.

    SQLite gives what it makes beside a file the rights of that file. One of another owner stays as it is.

    A file that is there is never opened here: POSIX drops all of a process's locks on a file when any descriptor of it
    is closed. Another process would then take itself for the last one, and delete the log that this one writes into
    (https://www.sqlite.org/howtocorrupt.html, 2.2). A new one is made before anybody of this process can have it open.
    """
    if not database or database.startswith((":", "file:")):
        return
    with _one_at_a_time, suppress(OSError):  # it is there; or SQLite says itself what it cannot open
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    for suffix in _BESIDE:
        path = Path(f"{database}{suffix}")
        with suppress(OSError):
            if path.stat().st_mode & 0o077:
                path.chmod(PRIVATE)
