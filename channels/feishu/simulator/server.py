"""An ASGI application on a free loopback port, inside the loop that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from channels.feishu.simulator.http import Receive, Scope, Send


class _Server(uvicorn.Server):
    """uvicorn inside somebody else's loop: it leaves the signals alone, and starts and stops without ticking."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.stopping = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        await self.stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 # `serve` closes it
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            _, late = await asyncio.wait(self.server_state.tasks, timeout=1)
            for task in late:
                task.cancel()


@contextlib.asynccontextmanager
async def serve(app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> AsyncGenerator[str]:
    """Serve an ASGI application on a free loopback port, and give its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        config = uvicorn.Config(
            app,
            interface="asgi3",
            lifespan="off",
            ws="websockets-sansio",
            log_config=None,
            log_level="critical",
        )
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))  # noqa: TID251 # it ends with this block
        await server.listening.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stopping.set()
            await task
