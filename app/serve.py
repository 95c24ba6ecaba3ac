"""Run the web server: uvicorn around the application, with a stop that tells waiters to come back."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import uvicorn

from app.container import Container
from app.main import create_app
from app.telemetry import configure_logs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from socket import socket

    from app.settings import Settings


class _Server(uvicorn.Server):
    """Lets held calls go as soon as a stop is asked for; uvicorn alone would wait for them first."""

    def __init__(self, config: uvicorn.Config, container: Container) -> None:
        super().__init__(config)
        self._container = container

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        # What stands after the start stands for ever: the collector need not walk it again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        self._container.waiters.stop()
        self._container.feed.stop()
        await super().shutdown(sockets)


def run_server(settings: Settings, config: Path, environ: Mapping[str, str], *, host: str, port: int) -> None:
    """Serve until told to stop."""
    configure_logs(settings.log_format)
    container = Container(settings, config, environ)
    _Server(
        uvicorn.Config(
            create_app(container),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=10,
            timeout_keep_alive=75,
            backlog=8192,
        ),
        container,
    ).run()
