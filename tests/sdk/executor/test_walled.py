"""One tool's stray cancellation or exit is its own: its call is unknown, and the executor goes on with the others."""

from __future__ import annotations

import asyncio
import logging
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from assent import AsyncGateway
from assent.executor.executor import ToolUnknown
from assent.executor.walled import CutShortError, called
from tests.fixtures.enforced import CALL, approved, enforce
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS, eventually
from tests.requirements import requirement
from tests.sdk.executor.executor_gateway import Spy, executing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture
async def gateway(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(sqlite_url, config, platform) as running:
        yield await enforce(running)


class UnreadableError(Exception):
    """An error that raises when it is asked what it says."""

    def __str__(self) -> str:
        raise RuntimeError("no word")


async def awaits_a_task_that_was_cancelled() -> None:
    inner = asyncio.ensure_future(asyncio.sleep(9))
    inner.cancel()
    await inner


async def raises_a_cancellation() -> None:
    raise asyncio.CancelledError


async def cancels_the_task_that_it_runs_in() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(9)


async def exits() -> None:
    sys.exit(1)


def exits_on_a_thread() -> None:
    sys.exit(1)


async def closes() -> None:
    raise GeneratorExit


async def raises_what_cannot_be_read() -> None:
    raise UnreadableError


STRAY = [
    awaits_a_task_that_was_cancelled,
    raises_a_cancellation,
    cancels_the_task_that_it_runs_in,
    exits,
    exits_on_a_thread,
    closes,
    raises_what_cannot_be_read,
]


@requirement("F-08")
@pytest.mark.parametrize("stray", STRAY, ids=lambda each: each.__name__)
async def test_one_tools_stray_end_is_unknown_and_cuts_no_other_payment(
    gateway: Gateway, stray: Any, caplog: pytest.LogCaptureFixture
) -> None:
    begun, go_on, last = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def pay(amount: str, *, idempotency_key: str, **_: Any) -> str:
        if amount == "1.00":  # in flight while the other one ends
            begun.set()
            await go_on.wait()
        elif amount == "2.00":
            await (asyncio.to_thread(stray) if stray is exits_on_a_thread else stray())
        else:
            last.set()
        return "paid"

    async def ask(amount: str) -> dict[str, Any]:
        return await approved(gateway, arguments={**CALL, "amount": amount})

    async with executing(gateway, Spy(), run=pay, lookup=None) as (executor, _):
        working = asyncio.ensure_future(executor.work())
        first = await ask("1.00")
        await asyncio.wait_for(begun.wait(), HANGS)
        with caplog.at_level(logging.ERROR, "assent"):
            second = await ask("2.00")
            while (await gateway.read(second))["state"] in {"approved", "executing"}:
                assert not working.done()
                await asyncio.sleep(0.01)
        third = await ask("3.00")
        await asyncio.wait_for(last.wait(), HANGS)
        go_on.set()
        executor.stop()
        await asyncio.wait_for(working, HANGS)
        assert not working.cancelling()
    states = [(await gateway.read(request))["state"] for request in (first, second, third)]
    assert states == ["succeeded", "unknown", "succeeded"]
    assert f"request {second['id']}: its outcome is unknown" in caplog.text


@pytest.mark.parametrize("stray", [exits_on_a_thread, exits, awaits_a_task_that_was_cancelled])
async def test_a_stray_end_is_said_in_the_log_by_the_tools_name(
    gateway: Gateway, stray: Any, caplog: pytest.LogCaptureFixture
) -> None:
    request = await approved(gateway)

    async def pay(*, idempotency_key: str, **_: Any) -> None:
        await stray()

    def pay_plainly(*, idempotency_key: str, **_: Any) -> None:
        stray()

    run = pay_plainly if stray is exits_on_a_thread else pay
    async with executing(gateway, Spy(), run=run, lookup=None) as (executor, _):
        with caplog.at_level(logging.ERROR, "assent"):
            assert isinstance((await executor.carry_out(request["id"])).outcome, ToolUnknown)
    assert "by_api: the tool ended in its middle, by itself" in caplog.text
    assert "in its middle" in (await gateway.read(request))["execution"]["error"]


@requirement("F-08")
@pytest.mark.parametrize("stray", [awaits_a_task_that_was_cancelled, exits], ids=lambda each: each.__name__)
async def test_a_lookup_that_ends_so_knows_nothing(gateway: Gateway, stray: Any) -> None:
    request = await approved(gateway)

    async def pay(*, idempotency_key: str, **_: Any) -> NoReturn:
        raise TimeoutError

    async def lookup(_: str) -> None:
        await stray()

    async with executing(gateway, Spy(), run=pay, lookup=lookup) as (executor, _):
        assert isinstance((await executor.carry_out(request["id"])).outcome, ToolUnknown)
        assert [type(each.outcome) for each in await executor.once()] == [ToolUnknown]


async def test_a_fault_in_one_request_leaves_the_others_to_run(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first, whole = await approved(gateway), AsyncGateway.get

    async def get(self: AsyncGateway, request_id: str) -> Any:
        if request_id == first["id"]:
            raise RuntimeError("a fault of ours")
        return await whole(self, request_id)

    monkeypatch.setattr(AsyncGateway, "get", get)
    ran, spy = asyncio.Event(), Spy()
    spy.does = ran.set
    async with executing(gateway, spy) as (executor, _):
        working = asyncio.ensure_future(executor.work())
        await eventually(lambda: working.done() or f"request {first['id']} was not seen through" in caplog.text)
        assert not working.done()
        await approved(gateway, arguments={**CALL, "amount": "2.00"})
        await asyncio.wait_for(ran.wait(), HANGS)
        executor.stop()
        await asyncio.wait_for(working, HANGS)
    assert [arguments["amount"] for arguments, _ in spy.calls] == ["2.00"]


async def test_an_error_keeps_what_it_was_made_of_whatever_its_caller_handles() -> None:
    def fail(error: Exception) -> NoReturn:
        raise error

    async def pay() -> None:
        try:
            fail(ConnectionResetError("sent, no answer"))
        except ConnectionResetError:
            fail(ValueError("payment error"))

    try:
        fail(KeyError("of the caller"))
    except KeyError:
        ended = await called(partial(pay), within=5)
    assert isinstance(ended.error, ValueError)
    assert isinstance(ended.error.__context__, ConnectionResetError)


async def test_whoever_is_cancelled_or_interrupted_ends() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await called(partial(interrupt), within=5)
    asked = asyncio.ensure_future(called(partial(asyncio.sleep, 9), within=5))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    ended = await called(partial(asyncio.sleep, 9), within=0.01)
    assert isinstance(ended.error, TimeoutError)
    assert not isinstance(ended.error, CutShortError)
