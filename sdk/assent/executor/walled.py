"""A call of a tool's own function, behind a wall: whatever it raises is its own, and ends nobody else.

A tool may await a task that was cancelled, cancel the task that it runs in, or call `sys.exit`, on a thread as well.
None of that is a word to the executor, which has other payments under way. So the function runs in a task of its own:
who is cancelled from outside is told so by the group around it; every other cancellation was made inside.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from assent.gate.aftermath import UnknownOutcomeError

if TYPE_CHECKING:
    from functools import partial


class CutShortError(UnknownOutcomeError):
    """A function ended in its middle, by a cancellation or an exit of its own: nobody knows how far it came."""


@dataclass(slots=True)
class Ended:
    """How a function ended: with a result, or with an error, which is a value here and never raised again.

    Raising it anew, where the executor's caller handles an error of its own, would put that one in the place of what
    this one came from; and that decides what it means.
    """

    result: Any = None
    error: Exception | None = None


async def called(function: partial[Any], *, within: float) -> Ended:
    """Call it, for so many seconds: asynchronous on the loop, everything else on a thread, which is left behind then.

    Raises nothing but a cancellation of whoever calls this, and `KeyboardInterrupt`.
    """
    ended = Ended()
    raised: list[BaseException] = []
    async with anyio.create_task_group() as wall:
        wall.start_soon(_run, function, within, ended, raised)
    for error in raised:
        if isinstance(error, KeyboardInterrupt):
            raise error
        ended.error = error if isinstance(error, Exception) else _cut_short(error)
    return ended


async def _run(function: partial[Any], within: float, ended: Ended, raised: list[BaseException]) -> None:
    try:
        with anyio.fail_after(within):
            found = await _of_either_colour(function)
        ended.result = found
    except BaseException as error:  # noqa: BLE001 - whatever it is; behind the wall it would end what is no part of it
        raised.append(error)


async def _of_either_colour(function: partial[Any]) -> Any:
    inner: Any = function.func
    if inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None)):  # noqa: B004
        return await function()
    found = await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
    return await found if inspect.isawaitable(found) else found


def _cut_short(error: BaseException) -> CutShortError:
    return CutShortError(f"the tool ended in its middle, by itself ({type(error).__name__})")
