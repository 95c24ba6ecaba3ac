"""Routings and contexts for the tests of sandboxes, and a look at this machine's processes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.verdicts import Routing

BOUND = 30.0  # seconds until something hangs; less than what a command sleeps


def routing(provider: str, command: str | None = None, **options: Any) -> Routing:
    return Routing(provider=provider, command=command, options=options)


def context(*, cwd: str = "", **args: Any) -> HookContext:
    return HookContext(
        moment=Moment.PRE_TOOL_USE,
        timestamp=datetime(2026, 1, 5, tzinfo=UTC),
        tool_name="exec",
        called_as="Bash",
        args=args,
        cwd=cwd,
    )


def running(words: str, *, exactly: bool = False) -> list[int]:
    """The processes of this machine whose command line holds these words, or is these words; blocking."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:  # it ended meanwhile
            continue
        told = line.replace(b"\0", b" ").decode(errors="replace").strip()
        if told == words if exactly else words in told:
            found.append(int(entry.name))
    return found


async def until_running(words: str) -> bool:
    """Wait until a process with exactly this command line runs."""
    for _ in range(int(BOUND / 0.02)):
        if await asyncio.to_thread(running, words, exactly=True):
            return True
        await asyncio.sleep(0.02)
    return False


async def until_gone(words: str) -> bool:
    """Wait until no process has these words in its command line."""
    for _ in range(int(BOUND / 0.02)):
        if not await asyncio.to_thread(running, words):
            return True
        await asyncio.sleep(0.02)
    return False
