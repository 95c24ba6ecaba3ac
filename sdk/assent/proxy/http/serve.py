"""The HTTP proxy as a program: it listens until it is told to end."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import anyio
import httpx2

from assent.command.faults import HookError
from assent.proxy.http.proxy import HttpProxy

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.proxy.judge import Judge

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MOST_CONNECTIONS = 1200
_OVER_WITHIN = 5.0


async def serve_http(
    listen: str, upstream: str, make: Callable[[], Judge], *, names: tuple[str, ...], session: str
) -> int:
    """Stand in front of a server. Raises `HookError`, also where the address cannot be had."""
    host, port = _address(listen)
    url = httpx2.URL(upstream)
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise HookError("--upstream must be http(s)://host[:port]/path, and nothing else")
    try:
        listener = await anyio.create_tcp_listener(local_host=host.strip("[]"), local_port=port)
    except OSError as fault:
        raise HookError(
            f"nothing can listen at --listen {listen} ({fault.strerror}): give another port (0 takes a free one), or, "
            "if it is this machine's no more, another address; a proxy of before may still have it"
        ) from fault
    bound = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - this is no Django
    known = [*_LOOPBACK] if host in {*_LOOPBACK, "::1"} else [host]
    hosts = {f"{name}:{bound}" for name in known} | {name.lower() for name in names}
    proxy = HttpProxy(make(), upstream, hosts=frozenset(hosts), session=session)
    shown = f"http://{host}:{bound}{url.path}"
    os.write(2, f"assent-hook mcp: {shown} stands in front of {upstream}\n".encode())
    places = anyio.CapacityLimiter(_MOST_CONNECTIONS)

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with places:
            await proxy.connection(stream)

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            async for _ in signals:
                break
        with anyio.move_on_after(_OVER_WITHIN):
            await proxy.over()
        group.cancel_scope.cancel()
    return 0


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise HookError(f"--listen needs HOST:PORT, such as 127.0.0.1:8931, not {text!r}")
    return host, int(port)
