"""One call of somebody else's package, with an end.

`asyncio.timeout` cancels and then waits: a package that swallows the cancellation would hold its caller for ever. So a
call runs in a task of its own. Behind its bound that task is cancelled, and if it does not end then, it is left alone:
nobody waits for it any more, not even whoever closes the loop.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from app.ports import ChannelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

T = TypeVar("T")

GRACE: Final = 0.5
"""Seconds that a cancelled call has to end."""

_left: set[asyncio.Task[object]] = set()


class ChannelFaultyError(ChannelUnavailableError):
    """A channel's package failed: it raised what no channel may, or returned what nobody can use.

    Nobody knows what it did before. `why` says what failed and where, never in the package's own words: these may hold
    secrets.
    """

    def __init__(self, why: str) -> None:
        """Keep why; the platform may have taken what was sent."""
        super().__init__(why, ambiguous=True)


class ChannelHangsError(ChannelFaultyError):
    """A channel's package did not come back in time."""


class UnusableError(Exception):
    """What a package returned cannot be used; the text says why, and quotes nothing of it."""


class Failed(Struct, frozen=True):
    """A call came back with this."""

    error: BaseException


async def call_within(
    call: Callable[[], Awaitable[T]], *, seconds: float | None, grace: float = GRACE
) -> Returned[T] | Failed | None:
    """Make a call and return what came of it; None: nothing did, in that time. It raises nothing of the package's.

    Whoever is cancelled meanwhile cancels the call, and waits for it no longer than `grace`.
    """
    task = asyncio.create_task(_outcome(call))
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _let_go(task, grace)
        raise
    if not task.done():
        await _let_go(task, grace)
        return None
    return task.result()


class Returned(Struct, Generic[T], frozen=True):
    """A call came back with this."""

    value: T


async def _outcome(call: Callable[[], Awaitable[T]]) -> Returned[T] | Failed:
    """Let nothing out: an exit that a library asks for would end the process, its own cancellation whoever waits."""
    try:
        return Returned(await call())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - anything: it is somebody else's package
        return Failed(error)


async def _let_go(task: asyncio.Task[Returned[T] | Failed], grace: float) -> None:
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace)
    finally:
        if not task.done():
            _left.add(task)
            task.add_done_callback(_left.discard)
            # Whoever closes the loop cancels all that is registered with it, and waits until it has ended.
            asyncio._unregister_task(task)  # noqa: SLF001 - documented, for tasks that the loop is not to see


def left_behind() -> int:
    """Return how many calls were given up and have not ended."""
    return len(_left)


def place_of(error: BaseException, package: str) -> str:
    """Say where a package failed: the innermost line of its own, or of what it called."""
    found: tuple[str, int] | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        here = (at.tb_frame.f_code.co_filename, at.tb_lineno)
        if str(at.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == package:
            found = here
        at = at.tb_next
    if found is None:
        return ""
    path = Path(found[0])
    return f"{path.parent.name}/{path.name}:{found[1]}"
