"""What a process has begun it never begins again, whatever the gateway says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway
from assent.client.errors import CallRefusedError
from tests.fixtures.enforced import CALL, approved, enforce
from tests.fixtures.gateway import open_gateway
from tests.sdk.executor.executor_gateway import Spy, executing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture
async def gateway(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    """The real gateway of the stories, not the SDK's stand-in."""
    async with open_gateway(sqlite_url, config, platform) as running:
        yield await enforce(running)


async def test_a_tool_whose_outcome_could_not_be_reported_is_not_called_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, spy = await approved(gateway), Spy()

    async def refuse(*_: Any, **__: Any) -> None:
        raise CallRefusedError("not now")

    monkeypatch.setattr(AsyncGateway, "report", refuse)
    async with executing(gateway, spy) as (executor, line):
        for _ in range(3):
            await executor.carry_out(request["id"])
        assert line.called.count("claim") == 1
    assert [arguments for arguments, _ in spy.calls] == [CALL]
    assert (await gateway.read(request))["state"] == "executing"
