"""A real child process that can be started, killed without warning, and started again."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Child:
    """One program and its log; at most one process of it runs at a time."""

    def __init__(self, command: Sequence[str], *, environ: Mapping[str, str], log: Path) -> None:
        """Start nothing yet. Output and errors are appended to `log`."""
        self._command = command
        self._environ = environ
        self._process: asyncio.subprocess.Process | None = None
        self.log = log

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    @property
    def state(self) -> tuple[str, int]:
        """Say how it is: ("running", its pid), ("killed", 9), ("ended", its exit code), or ("none", 0)."""
        if self._process is None:
            return "none", 0
        if (code := self._process.returncode) is None:
            return "running", self._process.pid
        return ("killed", -code) if code == -signal.SIGKILL else ("ended", code)

    async def start(self) -> None:
        """Start it, unless it runs."""
        if self.pid is not None:
            return
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, env=dict(self._environ), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
            )

    async def kill(self) -> None:
        """``kill -9``: no warning, no last words."""
        if self._process is not None and self.pid is not None:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """Ask it to end; insist after three seconds."""
        if self._process is None or self.pid is None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(3):
                await self._process.wait()
        except TimeoutError:
            await self.kill()
