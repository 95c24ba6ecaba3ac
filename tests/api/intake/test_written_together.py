"""An answer leaves in one piece: its head and its body are written apart, and sent together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import uvicorn

from app.api.intake.connections import ConnectionWatch, Corked
from tests.fixtures.patience import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Pipe:
    """A transport that remembers what was done with it."""

    def __init__(self) -> None:
        self.done: list[object] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")

    def is_closing(self) -> bool:
        return not {"closed", "aborted"}.isdisjoint(self.done)


async def test_what_is_written_in_one_turn_is_sent_once_and_in_its_order() -> None:
    pipe = Pipe()
    corked = Corked(cast("asyncio.Transport", pipe), asyncio.get_running_loop())
    corked.write(b"head ")
    corked.write(b"body")
    assert pipe.done == []
    await asyncio.sleep(0)
    assert pipe.done == [b"head body"]
    corked.write(b" more")
    await asyncio.sleep(0)
    assert pipe.done == [b"head body", b" more"]


async def test_who_closes_loses_nothing_of_what_was_written() -> None:
    pipe = Pipe()
    corked = Corked(cast("asyncio.Transport", pipe), asyncio.get_running_loop())
    corked.write(b"the last word")
    corked.close()
    assert corked.is_closing()
    await asyncio.sleep(0)
    assert pipe.done == [b"the last word", "closed"]


async def test_nothing_is_written_to_what_was_cut_off() -> None:
    pipe = Pipe()
    corked = Corked(cast("asyncio.Transport", pipe), asyncio.get_running_loop())
    corked.write(b"too late")
    corked.abort()
    await asyncio.sleep(0)
    assert pipe.done == ["aborted"]


async def test_a_stream_comes_as_it_is_written_and_an_answer_comes_whole() -> None:
    go_on = asyncio.Event()

    async def app(scope: MutableMapping[str, Any], receive: object, send: Send) -> None:
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"ab", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"cd"})

    config = uvicorn.Config(app, port=0, http=ConnectionWatch(10).protocol(), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):  # the connection is kept, and serves again
        writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        begun = await asyncio.wait_for(reader.readuntil(b"\r\n\r\nab"), 10)
        assert begun.startswith(b"HTTP/1.1 200 OK\r\n")
        go_on.set()
        assert await asyncio.wait_for(reader.readexactly(2), 10) == b"cd"
        go_on.clear()
    writer.close()
    server.should_exit = True
    await serving
