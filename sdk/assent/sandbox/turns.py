"""Awaits foreign code in a task of its own: with a time limit, or to its end whatever happens to the caller.

Some libraries turn a cancellation that passes through them into an error of theirs; the caller's own cancellation or
time limit must not get lost in that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@dataclass(slots=True)
class _Turn:
    """A call in its own task."""

    call: Callable[[], Awaitable[object]]
    over: anyio.Event = field(default_factory=anyio.Event)
    error: Exception | None = None

    async def take(self, *, shielded: bool) -> None:
        with anyio.CancelScope(shield=shielded):
            try:
                await self.call()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits
                self.error = error
        self.over.set()

    def settle(self) -> None:
        if self.error is not None:
            raise self.error


async def within(seconds: float, call: Callable[[], Awaitable[object]]) -> bool:
    """Await `call`; False if it did not end in time, and was cancelled. Raises what it raises."""
    turn = _Turn(call)
    in_time = False
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: turn.take(shielded=False))
        with anyio.move_on_after(seconds):
            await turn.over.wait()
        in_time = turn.over.is_set()
        tasks.cancel_scope.cancel()
    if in_time:
        turn.settle()
    return in_time


async def finish(call: Callable[[], Awaitable[object]]) -> None:
    """Await `call` to its end, even if the caller is cancelled meanwhile; that goes on afterwards. Raises its error."""
    turn = _Turn(call)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: turn.take(shielded=True))
        await turn.over.wait()
    turn.settle()
