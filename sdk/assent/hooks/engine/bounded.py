"""Run one hook within its time limit, at the price of a function call when it does not have to wait.

A coroutine is taken one step first: most hooks end there, and need no timer. One that waits goes on inside a timer.
Needs asyncio.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

R = TypeVar("R")


class TookTooLongError(Exception):
    """The hook did not answer within its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")


async def bounded(work: Coroutine[Any, Any, R], seconds: float) -> R:
    """Await `work` for `seconds` at most. Raises TookTooLongError; a coroutine that waits is cancelled then."""
    started = time.monotonic()
    try:
        waits_for = work.send(None)
    except StopIteration as stop:
        if time.monotonic() - started > seconds:  # it never let go of the thread: nobody could stop it
            raise TookTooLongError(seconds) from None
        return stop.value
    limit = asyncio.timeout(seconds - (time.monotonic() - started))
    try:
        async with limit:
            answer = await _Continued(work, waits_for)
    except TimeoutError:
        if limit.expired():
            raise TookTooLongError(seconds) from None
        raise  # the hook's own
    if limit.expired():  # it was cancelled, and answered all the same
        raise TookTooLongError(seconds)
    return answer


class _Continued:
    """A coroutine that was started already, from its first suspension on (PEP 380's delegation, written out)."""

    def __init__(self, work: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self._work, self._waits_for = work, waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        work, waits_for = self._work, self._waits_for
        try:
            while True:
                try:
                    answer = yield waits_for
                except GeneratorExit:
                    work.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - whatever comes is the coroutine's to handle
                    waits_for = work.throw(error)
                else:
                    waits_for = work.send(answer)
        except StopIteration as stop:
            return stop.value


async def in_thread(function: Callable[..., R], *args: Any) -> R:
    """Run a plain function on a thread of its own. Cancelled, the thread is left behind and its answer dropped."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[R] = loop.create_future()
    context = contextvars.copy_context()

    def tell(setter: Callable[[Any], None], value: Any) -> None:
        if not answer.done():
            setter(value)

    def run() -> None:
        try:
            value = context.run(function, *args)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits
            _hand_over(loop, tell, answer.set_exception, error)
        else:
            _hand_over(loop, tell, answer.set_result, value)

    # A daemon: a function that hangs must not keep the process from ending.
    threading.Thread(target=run, name="assent-hook", daemon=True).start()
    return await answer


_lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def in_lane(function: Callable[..., R], *args: Any) -> R:
    """Run a heavy function on a thread, one at a time for each loop: ten of them cost no more memory than one.

    Whoever waits for the lane does so within the time limit of its hook.
    """
    loop = asyncio.get_running_loop()
    async with _lanes.setdefault(loop, asyncio.Lock()):
        return await in_thread(function, *args)


def _hand_over(loop: asyncio.AbstractEventLoop, tell: Callable[..., None], setter: Any, value: Any) -> None:
    if isinstance(value, StopIteration | SystemExit | KeyboardInterrupt):
        value = RuntimeError(f"{type(value).__name__}: {value}")  # a future cannot carry these
    with suppress(RuntimeError):  # the loop may be gone, and with it whoever asked
        loop.call_soon_threadsafe(tell, setter, value)
