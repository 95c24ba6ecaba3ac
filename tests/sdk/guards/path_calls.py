"""Asks a path guard about one call, for its tests."""

from __future__ import annotations

from typing import Any

from assent.guards.path_guard import PathGuard
from tests.sdk.ready.moments import before

GUARD = PathGuard()


async def verdict(tool: str, args: dict[str, Any], *, guard: PathGuard = GUARD, cwd: str = "") -> str:
    """`pass`, `ask` or `deny`."""
    said = await guard.execute(before(tool, args=args, cwd=cwd))
    if said is None:
        return "pass"
    if not said.allow:
        assert said.error
        return "deny"
    assert said.ask
    return "ask"


async def of_path(path: str, **given: Any) -> str:
    return await verdict("read", {"file_path": path}, **given)


async def of_command(command: Any, **given: Any) -> str:
    return await verdict("exec", {"command": command}, **given)
