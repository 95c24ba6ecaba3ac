"""The proxy's middle between a client and a server that are lists."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from assent import AsyncGateway, Gate
from assent.proxy.calls import Calls
from assent.proxy.judge import Judge
from assent.proxy.naming import Naming
from tests.fixtures.patience import HANGS
from tests.sdk.gateway_stub import KEY
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from assent.gate.abandoned import Abandoned
    from tests.sdk.gateway_stub import StubGateway

PAY = {"name": "pay", "arguments": {"amount": 1}}


def asked(call_id: object = 1, params: object = PAY, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "method": "tools/call", "params": params, **more}


def raw(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


async def filled(seen: list[bytes], count: int) -> None:
    """Wait until so much was said."""
    with anyio.fail_after(HANGS):
        while len(seen) < count:  # noqa: ASYNC110 - filled by other tasks
            await anyio.sleep(0.01)


class Wire:
    """Both ends of a proxy, as lists."""

    def __init__(self, gateway: StubGateway, calls: Calls, client: list[bytes], server: list[bytes]) -> None:
        self.gateway = gateway
        self.calls = calls
        self.client = client
        self.server = server

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.client]

    async def say(self, *messages: object) -> None:
        for message in messages:
            await self.calls.from_client(message if isinstance(message, bytes) else raw(message))

    async def approved(self, number: int = 1) -> None:
        await asyncio.to_thread(self.gateway.arrived, "check", number)
        self.gateway.decide(list(self.gateway.rows)[number - 1], "approved")

    async def until(self, seen: list[bytes], count: int) -> None:
        await filled(seen, count)


@asynccontextmanager
async def wire(
    gateway: StubGateway,
    *,
    name: str | None = "bank",
    tools: tuple[str, ...] = (),
    deadline: float | None = None,
    abandoned: Abandoned = "withdraw",
) -> AsyncIterator[Wire]:
    gateway.one_call = True
    client: list[bytes] = []
    server: list[bytes] = []

    async def to_client(line: bytes) -> None:
        client.append(line)

    async def to_server(line: bytes) -> None:
        server.append(line)

    opened = AsyncGateway(gateway.url, KEY, session="m-1", pace=quick_pace())
    async with opened as line, anyio.create_task_group() as group:
        judge = Judge(Gate(line, abandoned=abandoned), Naming(name), tools=tools, deadline=deadline)
        calls = Calls(judge, group, to_client=to_client, to_server=to_server, session="m-1")
        yield Wire(gateway, calls, client, server)
        await calls.client_over()
        await calls.server_over()
        await calls.settled(within=5.0)
        group.cancel_scope.cancel()
