"""A plain or asynchronous function as a hook."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from assent.hooks.contract.hook import Hook
from assent.hooks.engine.bounded import in_thread
from assent.hooks.engine.checks import HookFaultError

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.moments import Moment
    from assent.hooks.contract.verdicts import HookResult

Judge: TypeAlias = (
    Callable[["HookContext"], "HookResult | None"] | Callable[["HookContext"], "Awaitable[HookResult | None]"]
)
"""What can be a function hook."""


_MOST_THREADS = 32


class FunctionHook(Hook):
    """A function `(ctx) -> HookResult | None`.

    A plain function runs where the agent runs, and holds it up; with `threaded` it gets a thread of its own, and its
    time limit can cut it off.
    """

    def __init__(
        self,
        moment: Moment,
        function: Judge,
        *,
        name: str | None = None,
        description: str | None = None,
        threaded: bool = False,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{function!r} cannot be called: a function hook is a function of one HookContext")
        _refuse_other_shapes(function)
        self.moment = moment  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue] - a function has no class of its own
        self.name = name or getattr(function, "__name__", type(function).__name__).replace("_", "-").strip("-")
        self.description = description or (inspect.getdoc(function) or "").partition("\n")[0]
        self.function = function
        self._threads = threading.BoundedSemaphore(_MOST_THREADS)
        asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object with an asynchronous __call__
        )
        self.execute = function if asynchronous else self._in_thread if threaded else self._inline  # pyright: ignore[reportAttributeAccessIssue] - one call less on the hot path

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Judge (replaced in the constructor by the form that fits the function)."""
        raise NotImplementedError

    async def _inline(self, ctx: HookContext) -> HookResult | None:
        answer: Any = cast("Any", self.function)(ctx)
        if answer is None:  # most hooks pass most calls, and to look whether that can be awaited costs as much
            return None
        return await answer if inspect.isawaitable(answer) else answer

    async def _in_thread(self, ctx: HookContext) -> HookResult | None:
        if not self._threads.acquire(blocking=False):
            raise HookFaultError(
                f"{_MOST_THREADS} calls of it hang already: it is not called again until one of them ends"
            )
        return cast("HookResult | None", await in_thread(self._on_its_thread, ctx))

    def _on_its_thread(self, ctx: HookContext) -> object:
        try:
            return cast("Any", self.function)(ctx)
        finally:
            self._threads.release()


def _refuse_other_shapes(function: Callable[..., Any]) -> None:
    """Refuse at registration what could only fail at the first call."""
    try:
        inspect.signature(function).bind(object())
    except TypeError:
        raise TypeError(f"{function!r} is no function of one argument, the HookContext") from None
    except ValueError:
        pass  # a built-in without a signature: the call will tell
