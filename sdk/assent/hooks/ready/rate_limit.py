"""`RateLimit`: so many calls in a window, per connector, user, agent, session or tool.

    hooks.add(RateLimit(limit="10/minute", per=["connector", "user"]))

The window moves with the calls: at no instant have more than so many been let through in the span behind it. A call
that is refused does not count (an agent that keeps knocking does not lock itself out), a call that people are asked
about because of the limit does not either, and a call that a later hook denies does: it was let through here. Counting
is behind `Counters`: in process the `limits` library's, in the gateway rows that replicas share.

Who the user is, and which session it is, is what the agent says, and nobody checks it: `per: [user]` shares a limit out
fairly among the users of an honest agent, and holds no agent back that names another user for each call. What must hold
against the agent itself is counted per agent (which the key tells), per connector or per tool.
"""

from __future__ import annotations

import json
import math
import re
import time  # for the wall clock that `limits` counts by
from typing import TYPE_CHECKING, Protocol

from assent.hooks.contract.hook import GUARD, PreToolUseHook
from assent.hooks.contract.verdicts import HookResult, ask, deny

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.hooks.contract.context import HookContext

_NOTATION = re.compile(r"\s*(\d+)\s*(?:/|\s+per\s+)\s*(\d+)?\s*(second|minute|hour|day|month|year)s?\s*", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "month": 30 * 86_400, "year": 360 * 86_400}
"""As the `limits` library has them."""


class Counters(Protocol):
    """Who counts. One key stands for one budget."""

    async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
        """Count a call under `key` if it is within `calls` in the window, and return None.

        Beyond that nothing is counted, and the answer is the seconds until a call would be.
        """
        ...


class MemoryCounters:
    """Counts in this process, by the moving window of the library `limits`. Raises ImportError where it is missing."""

    def __init__(self) -> None:
        try:
            from limits.storage import MemoryStorage
            from limits.strategies import MovingWindowRateLimiter
        except ImportError as error:
            raise ImportError(
                "rate-limit counts with the library `limits`, which is not installed: pip install 'assent[limits]'"
            ) from error
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
        """Count a call, or say how long to wait. The library counts in whole seconds: a fraction is rounded up."""
        from limits import RateLimitItemPerSecond

        item = RateLimitItemPerSecond(calls, math.ceil(window_seconds))
        if self._limiter.hit(item, key):
            return None
        until = self._limiter.get_window_stats(item, key).reset_time
        return max(0.0, until - time.time())  # noqa: TID251 - `limits` tells the end of its window by this clock


class RateLimit(PreToolUseHook):
    """Denies, or asks people about, calls beyond so many in a window.

    `limit` is in the notation of the `limits` library ("10/minute", "5 per 2 hours"), or else give `calls` and `window`
    (seconds). `per` names what has a budget of its own, out of connector (what stands before `__` in a tool's name),
    user, agent, session and tool; empty: one budget for the org. What is not known (no user) shares one budget.
    `over` is what happens beyond: deny (with the time to wait) or ask. Without `counters` it counts in this process.
    `budget` is a name: hooks of the same limit that share counters draw on one budget if they have the same name, and
    each on its own otherwise. A declared hook has its id for one, or else what is declared of it.
    """

    name = "rate-limit"
    description = "limits the calls in a window"
    priority = GUARD

    def __init__(
        self,
        *,
        limit: str | None = None,
        calls: int | None = None,
        window: float | None = None,
        per: Sequence[str] = ("connector",),
        over: str = "deny",
        counters: Counters | None = None,
        budget: str = "",
    ) -> None:
        self._calls, self._window = _budget(limit, calls, window)
        self._per = _dimensions(per)
        if over not in {"deny", "ask"}:
            raise ValueError(f"over: give deny or ask, not {over!r}")
        self._asks = over == "ask"
        self._counters = MemoryCounters() if counters is None else counters
        self._named = budget
        self._budget = f"{_counted(self._calls, 'call')} in {_span(self._window)}"

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Count the call. One that is judged again is not counted again, and gets the same answer."""
        whose = {name: _DIMENSIONS[name](ctx) for name in self._per}
        key = json.dumps([self.name, self._named, self._calls, self._window, ctx.org, whose])
        memory = f"assent.rate-limit {key} {ctx.call_id}"
        if ctx.rejudging:
            wait: float | None = ctx.metadata.get(memory)
        else:
            wait = await self._counters.take(key, calls=self._calls, window_seconds=self._window)
            ctx.metadata.pop(memory, None)
            if wait is not None and self._asks:
                ctx.metadata[memory] = wait
        if wait is None:
            return None
        return self._over(whose, wait)

    def _over(self, whose: dict[str, str], wait: float) -> HookResult:
        of = ", ".join(f"{name} {value}" for name, value in whose.items() if value)
        over = f"over the limit of {self._budget}{f' ({of})' if of else ''}"
        seconds = max(1, math.ceil(wait))
        if self._asks:
            return ask(f"{over}; there is room again in {_span(seconds)}")
        told = f"{over}: wait {_span(seconds)}, then call it again. Do not reach the same end another way meanwhile."
        return deny(told).with_side_effects(retry_after=seconds)


def _connector(ctx: HookContext) -> str:
    """`oa` of `oa__pay`, `github` of `mcp__github__issue`, and a tool's own name where it names no connector."""
    parts = ctx.tool_name.split("__")
    return parts[1] if parts[0].casefold() == "mcp" and len(parts) > 2 else parts[0] or ctx.tool_name


def _user(ctx: HookContext) -> str:
    return ctx.user


def _agent(ctx: HookContext) -> str:
    return ctx.agent


def _session(ctx: HookContext) -> str:
    return ctx.session


def _tool(ctx: HookContext) -> str:
    return ctx.tool_name


_DIMENSIONS: dict[str, Callable[[HookContext], str]] = {
    "connector": _connector,
    "user": _user,
    "agent": _agent,
    "session": _session,
    "tool": _tool,
}


def _budget(limit: str | None, calls: int | None, window: float | None) -> tuple[int, float]:
    if limit is not None:
        if calls is not None or window is not None:
            raise ValueError("limit, calls, window: give limit alone, or calls with window")
        found = _NOTATION.fullmatch(limit) if isinstance(limit, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
        if found is None:
            raise ValueError(f"limit: write one like '10/minute' or '5 per 2 hours', not {limit!r}")
        calls, window = int(found[1]), int(found[2] or 1) * _SECONDS[found[3].lower()]
    if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
        raise ValueError(f"{'limit' if limit else 'calls'}: give at least 1 call in the window, not {limit or calls!r}")
    if isinstance(window, bool) or not isinstance(window, int | float) or not 1 <= window <= _SECONDS["year"]:
        raise ValueError(
            f"{'limit' if limit else 'window'}: give a window of 1 second to a year, not {limit or window!r}"
        )
    return calls, window


def _dimensions(per: Sequence[str]) -> tuple[str, ...]:
    unknown = [per] if isinstance(per, str) else [name for name in per if name not in _DIMENSIONS]
    if unknown:
        raise ValueError(f"per: give a list out of {', '.join(_DIMENSIONS)}, not {unknown[0]!r}")
    return tuple(dict.fromkeys(per))


def _span(seconds: float) -> str:
    for unit in ("day", "hour", "minute"):
        if seconds % _SECONDS[unit] == 0:
            return _counted(seconds / _SECONDS[unit], unit)
    return _counted(seconds, "second")


def _counted(number: float, one: str) -> str:
    return f"{number:g} {one if number == 1 else f'{one}s'}"
