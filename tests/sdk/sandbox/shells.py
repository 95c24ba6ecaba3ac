"""Processes that a stand-in of a sandbox runs, for callers that may go away while one is being made."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import Any


class Shells:
    """Starts them. Whoever starts one ends it, but for those whose caller went before it was there: `end_left` does."""

    def __init__(self) -> None:
        self._left: list[asyncio.Future[asyncio.subprocess.Process]] = []

    async def start(self, *words: str, **how: Any) -> asyncio.subprocess.Process:
        """Start one in a group of its own, its output in pipes."""
        pipe = asyncio.subprocess.PIPE
        making = asyncio.ensure_future(
            asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe, start_new_session=True, **how)
        )
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            self._left.append(making)
            raise

    async def end_left(self) -> None:
        """End those that nobody else will."""
        while self._left:
            process = await self._left.pop()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()
