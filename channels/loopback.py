"""A server for a platform's stand-in: on a loopback port, inside the loop that runs already."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator


class LoopbackServer(uvicorn.Server):
    """A uvicorn that leaves the process's signals alone, says when it listens, and starts and stops at once.

    Unlike uvicorn's own, which looks every tenth of a second whether it shall stop: a test has several of them.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        """Take what to serve, and how."""
        super().__init__(config)
        self.listening = asyncio.Event()
        """Connections are taken."""
        self.stopping = asyncio.Event()
        """To be set by whoever wants it to end; calls that run have `timeout_graceful_shutdown` seconds then, or 1."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take no signal: they are the process's."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        """Wait for the end; the headers that every answer carries are made once."""
        await self.on_tick(0)
        await self.stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no connection more, let calls that run end within their time, and cut the others off."""
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            _, late = await asyncio.wait(self.server_state.tasks, timeout=self.config.timeout_graceful_shutdown or 1)
            for task in late:
                task.cancel()
