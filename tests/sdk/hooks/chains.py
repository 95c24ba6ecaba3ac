"""Short ways to say a chain: hooks from functions, a context, a run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from assent.hooks import HookContext, HookRegistry, Moment, run_chain
from assent.hooks.engine.function_hook import FunctionHook

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.hooks import Outcome
    from assent.hooks.contract.hook import Names

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def a_context(moment: Moment = Moment.PRE_TOOL_USE, **about: Any) -> HookContext:
    if moment is Moment.PRE_TOOL_USE:
        about = {"tool_name": "pay", "called_as": "pay", "args": {"amount": 1}, "call_id": "c1", **about}
    return HookContext(moment=moment, timestamp=NOON, agent="payer", session="s1", **about)


class Chain:
    """A registry of function hooks of one moment."""

    def __init__(self, moment: Moment = Moment.PRE_TOOL_USE) -> None:
        self.moment = moment
        self.registry = HookRegistry()

    def add(
        self,
        function: Callable[[HookContext], Any],
        priority: int = 0,
        *,
        name: str | None = None,
        tools: Names | None = None,
        timeout: float | None = None,
        on_error: str | None = None,
    ) -> str:
        hook = FunctionHook(self.moment, function, name=name, threaded=timeout is not None)
        return self.registry.add(hook, priority=priority, tools=tools, timeout=timeout, on_error=on_error)

    async def run(self, **about: Any) -> Outcome:
        ctx = a_context(self.moment, **about)
        return await run_chain(self.registry.get(self.moment, tool=ctx.tool_name, agent=ctx.agent), ctx)
