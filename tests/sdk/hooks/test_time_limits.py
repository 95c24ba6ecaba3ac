from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from assent.hooks import Decision, HookContext, HookResult, allow, deny
from assent.hooks.engine.bounded import TookTooLongError, bounded, in_thread
from tests.sdk.hooks.chains import Chain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def hangs(ctx: HookContext) -> None:
    await asyncio.Event().wait()


async def test_a_hook_that_hangs_denies_when_its_time_is_over() -> None:
    chain = Chain()
    chain.add(hangs, timeout=0.05)

    outcome = await chain.run()

    assert (outcome.decision, outcome.by, outcome.fault) == (Decision.DENY, "hangs", True)
    assert outcome.reason == "TookTooLongError: no answer within 0.05 seconds"


async def test_a_plain_function_that_hangs_is_cut_off_when_it_was_given_a_limit() -> None:
    chain, release = Chain(), threading.Event()

    def stuck(ctx: HookContext) -> HookResult:
        release.wait(30)
        return allow()

    chain.add(stuck, timeout=0.05)
    try:
        outcome = await chain.run()
    finally:
        release.set()

    assert (outcome.decision, outcome.fault) == (Decision.DENY, True)


async def test_an_answer_that_came_too_late_does_not_count() -> None:
    async def slow() -> str:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:  # it holds up its thread
            pass
        return "allow"

    with pytest.raises(TookTooLongError):
        await bounded(slow(), 0.001)


async def sleeping() -> str:
    await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    return "slept"


async def in_a_scope() -> str:
    with anyio.fail_after(5):
        await anyio.sleep(0.001)
    return "scoped"


async def in_a_task_group() -> str:
    said = list[str]()

    async def say() -> None:
        await asyncio.sleep(0.001)
        said.append("grouped")

    async with asyncio.TaskGroup() as group:
        group.create_task(say())
    return said[0]


async def after_its_own_time_out() -> str:
    try:
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()
    except TimeoutError:
        await asyncio.sleep(0)
        return "went on"
    return "never"


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (sleeping, "slept"),
        (in_a_scope, "scoped"),
        (in_a_task_group, "grouped"),
        (after_its_own_time_out, "went on"),
    ],
)
async def test_a_coroutine_that_waits_behaves_within_a_limit_as_without_one(
    work: Callable[[], Awaitable[str]], said: str
) -> None:
    assert await bounded(work(), 5) == said  # pyright: ignore[reportArgumentType] - coroutine functions


async def test_the_hooks_own_time_out_is_told_from_the_limit() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await bounded(impatient(), 5)


async def test_a_hook_that_is_cut_off_can_clean_up() -> None:
    cleaned = list[str]()

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("yes")

    with pytest.raises(TookTooLongError):
        await bounded(tidy(), 0.01)
    assert cleaned == ["yes"]


async def test_stopping_the_agent_stops_the_chain_and_is_no_fault() -> None:
    chain, started = Chain(), asyncio.Event()

    async def waits(ctx: HookContext) -> None:
        started.set()
        await asyncio.Event().wait()

    chain.add(waits, on_error="allow")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(chain.run())
        await started.wait()
        running.cancel()

    assert running.cancelled()


async def test_a_hook_that_cancels_itself_denies() -> None:
    chain = Chain()

    async def gives_up(ctx: HookContext) -> None:
        raise asyncio.CancelledError

    chain.add(gives_up)

    assert (await chain.run()).reason == "it was cancelled from inside"


async def test_a_threaded_hook_sees_the_callers_context_and_its_verdict_comes_back() -> None:
    whose = contextvars.ContextVar("whose", default="nobody")
    whose.set("mine")
    here = threading.get_ident()

    def look() -> tuple[str, bool]:
        return whose.get(), threading.get_ident() == here

    assert await in_thread(look) == ("mine", False)


async def test_what_a_threaded_hook_raises_is_its_fault() -> None:
    chain = Chain()

    def ends(ctx: HookContext) -> HookResult:
        raise SystemExit(3)

    chain.add(ends, timeout=5)

    assert (await chain.run()).reason == "RuntimeError: SystemExit: 3"


async def test_a_threaded_denial_is_a_denial() -> None:
    chain = Chain()
    chain.add(lambda ctx: deny("no"), timeout=5)

    assert (await chain.run()).reason == "no"


async def test_an_answer_of_a_hook_that_was_cut_off_and_caught_it_does_not_count() -> None:
    chain = Chain()

    async def stubborn(ctx: HookContext) -> HookResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return allow()
        return deny("never")

    chain.add(stubborn, timeout=0.05)

    assert (await chain.run()).reason == "TookTooLongError: no answer within 0.05 seconds"


async def test_a_function_that_hangs_again_and_again_is_not_given_threads_without_end() -> None:
    chain, release, started = Chain(), threading.Event(), list[int]()

    def stuck(ctx: HookContext) -> None:
        started.append(1)
        release.wait(30)

    chain.add(stuck, timeout=0.02)
    try:
        reasons = [(await chain.run()).reason for _ in range(40)]
    finally:
        release.set()

    assert len(started) == 32
    assert reasons[-1] == "32 calls of it hang already: it is not called again until one of them ends"
