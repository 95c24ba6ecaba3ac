"""An ASGI application on a free loopback port, inside the loop that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import uvicorn

from channels.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from channels.feishu.simulator.http import Receive, Scope, Send


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
        server = LoopbackServer(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))  # noqa: TID251 # it ends with this block
        await server.listening.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stopping.set()
            await task
