"""H1, H2: what a chain of hooks and the command guard cost a tool call, in the agent's own process."""

from __future__ import annotations

import inspect
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assent.guards.command_guard import CommandGuard
from assent.hooks import HookContext, HookRegistry, Moment, run_chain
from assent.hooks.engine.function_hook import FunctionHook
from benchmarks.results import Row, below, times
from benchmarks.run import known

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from assent.hooks import HookResult
    from benchmarks.run import Run

_CHAIN = 10
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_COMMAND = "cd build && cmake --build . --parallel 2 2>&1 | tee build.log | tail -n 40"


async def measure_chain(run: Run) -> list[Row]:
    """H1: ten hooks that all pass, as plain and as asynchronous functions."""
    count = int(4_000 * min(1.0, run.sizes.seconds))
    taken = await run.medians(
        "H1 chain",
        "µs",
        {
            "ten plain": lambda: _chain(_passes, count),
            "ten asynchronous": lambda: _chain(_passes_later, count),
            "ten awaited calls": lambda: _bare(count),
        },
        scale=1e6,
    )
    bare = taken["ten awaited calls"]
    return [
        _row("H1", "a chain of ten passing function hooks", known(taken["ten plain"]), bare, 50e-6),
        _row("H1b", "the same, asynchronous", known(taken["ten asynchronous"]), bare, 50e-6),
    ]


async def measure_command_guard(run: Run) -> list[Row]:
    """H2: the command guard on a typical build command."""
    count = int(400 * min(1.0, run.sizes.seconds)) or 1
    taken = await run.medians(
        "H2 command guard",
        "µs",
        {"command-guard": lambda: _guarded(count), "ten awaited calls": lambda: _bare(count)},
        scale=1e6,
    )
    bare = taken["ten awaited calls"]
    return [_row("H2", "command-guard on a pipeline of three programs", known(taken["command-guard"]), bare, 1e-3)]


def _passes(ctx: HookContext) -> HookResult | None:
    return None


async def _passes_later(ctx: HookContext) -> HookResult | None:
    return None


async def _chain(
    function: Callable[[HookContext], HookResult | None] | Callable[[HookContext], Awaitable[HookResult | None]],
    count: int,
) -> float:
    registry = HookRegistry()
    for _ in range(_CHAIN):
        registry.add(FunctionHook(Moment.PRE_TOOL_USE, function))
    began = time.perf_counter()
    for _ in range(count):
        ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=_NOW, tool_name="read", args={"path": "a.txt"})
        await run_chain(registry.get(Moment.PRE_TOOL_USE, tool="read", agent="a"), ctx)
    return (time.perf_counter() - began) / count


async def _guarded(count: int) -> float:
    guard = CommandGuard()
    ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=_NOW, tool_name="exec", args={"command": _COMMAND})
    assert await guard.execute(ctx) is None
    began = time.perf_counter()
    for number in range(count):
        # Each text is new, so that nothing that remembers texts can help.
        await guard.execute(HookContext(moment=ctx.moment, timestamp=_NOW, args={"command": f"{_COMMAND}{number}"}))
    return (time.perf_counter() - began) / count


async def _bare(count: int) -> float:
    ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=_NOW)
    began = time.perf_counter()
    for _ in range(count):
        for _ in range(_CHAIN):
            answer = _passes_later(ctx)
            if inspect.isawaitable(answer):
                await answer
    return (time.perf_counter() - began) / count


def _row(goal: str, title: str, value: float, bare: float | None, limit: float) -> Row:
    return Row(
        id=goal,
        title=title,
        measured=f"{value * 1e6:.1f} µs",
        reference=f"ten awaited calls {known(bare) * 1e6:.2f} µs",
        ratio=times(value, bare),
        must=(below(value, limit, f"{limit * 1e6:.0f} µs"),),
        figures={"assent": value, "calls": bare},
    )
