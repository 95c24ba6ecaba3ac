"""A lookup that knows nothing settles nothing: what an error makes unknown stays so, what it says stands."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from assent.executor.executor import ToolElsewhere, ToolFailed, ToolSucceeded, ToolUnknown
from assent.executor.http_tool import HttpTool
from tests.fixtures.enforced import approved, enforce
from tests.fixtures.gateway import ManualClock, open_gateway
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


def away(_: str) -> Any:
    raise ConnectionResetError("away")


async def cut(_: str) -> Any:
    inner = asyncio.ensure_future(asyncio.sleep(9))
    inner.cancel()
    await inner


MAYBE = [TimeoutError(), ExceptionGroup("tasks", [ValueError()])]
SAID = [httpx2.ConnectError("nobody listens"), ValueError("no such payee")]
NOTHING_CLEAR = [
    lambda _: ToolUnknown(why="the bank says: processing"),
    lambda _: "paid",
    lambda _: False,
    lambda _: ToolElsewhere(""),
    away,
    cut,
]


async def came_to(gateway: Gateway, error: Exception, lookup: Any) -> str:
    request, spy = await approved(gateway), Spy()

    def fail() -> None:
        raise error

    spy.does = fail
    async with executing(gateway, spy, lookup=lookup) as (executor, _):
        await executor.once()
        await executor.once()
    assert len(spy.calls) == 1
    return (await gateway.read(request))["state"]


@requirement("F-08", "S-72")
@pytest.mark.parametrize("error", MAYBE, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("lookup", [lambda _: None, *NOTHING_CLEAR], ids=range(7))
async def test_what_an_error_makes_unknown_stays_so_without_a_clear_record(
    gateway: Gateway, error: Exception, lookup: Any
) -> None:
    assert await came_to(gateway, error, lookup) == "unknown"


@requirement("F-08")
@pytest.mark.parametrize("error", SAID, ids=lambda error: type(error).__name__)
async def test_an_error_that_says_failed_is_overruled_by_anything_but_no_record(
    gateway: Gateway, error: Exception
) -> None:
    assert await came_to(gateway, error, lambda _: None) == "failed"
    assert await came_to(gateway, error, lambda _: ToolSucceeded()) == "succeeded"
    assert await came_to(gateway, error, lambda _: ToolFailed(error="declined")) == "failed"


@requirement("F-08")
@pytest.mark.parametrize("error", SAID, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("lookup", NOTHING_CLEAR, ids=range(6))
async def test_a_record_that_is_not_clear_makes_it_unknown(gateway: Gateway, error: Exception, lookup: Any) -> None:
    assert await came_to(gateway, error, lookup) == "unknown"


@requirement("F-08")
@pytest.mark.parametrize(
    ("status", "body", "none"),
    [(404, {}, True), (200, {"status": "processing"}, False), (202, {"code": "approval_required"}, False)],
)
async def test_a_record_of_a_service_that_is_not_clear_is_not_none(status: int, body: Any, *, none: bool) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, json=body))
    bank = HttpTool("http://b.test", lookup="http://b.test/{key}", read=lambda _: None, transport=transport)
    found = await bank.lookup("gra_1")
    assert found is None if none else isinstance(found, ToolUnknown)


@pytest.mark.parametrize(
    ("lookup", "why"),
    [
        (lambda _: None, "the tool has no record of it"),
        (None, "the tool cannot be asked"),
        (away, "the tool could not be asked (ConnectionResetError)"),
        (lambda _: "paid", "what the tool's lookup says is not clear"),
        (lambda _: ToolUnknown(why="processing"), "processing"),
    ],
    ids=range(5),
)
async def test_why_it_is_unknown_is_said_truly(gateway: Gateway, lookup: Any, why: str) -> None:
    request, spy = await approved(gateway), Spy()

    async def late(*, idempotency_key: str, **_: Any) -> None:
        raise TimeoutError

    async with executing(gateway, spy, run=late, lookup=lookup) as (executor, _):
        assert (await executor.carry_out(request["id"])).outcome == ToolUnknown(why=why)
    assert isinstance(gateway.clock, ManualClock)
    gateway.clock.advance(timedelta(hours=24))
    async with executing(gateway, spy, lookup=away) as (executor, _):
        outcome = (await executor.carry_out(request["id"])).outcome
        assert outcome == ToolUnknown(why="its key is too old to be asked about")
