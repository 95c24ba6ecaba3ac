"""What uvicorn knows of a call is believed without asking: that its body is there, and that its caller is not."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, cast

import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request

from app.api.intake.connections import ConnectionWatch
from app.api.wire.bodies import is_gone, read_body
from app.domain.errors import TooLargeError, TooSlowError
from tests.fixtures.patience import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


@contextlib.asynccontextmanager
async def served(answer: Callable[[Request], Awaitable[object]]) -> AsyncIterator[uvicorn.Server]:
    """Serve calls by `answer` on a loopback port; nothing is sent back."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await answer(Request(scope, receive, send))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None, http=ConnectionWatch(10).protocol())
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    try:
        yield server
    finally:
        server.should_exit = server.force_exit = True  # an answer that never comes is not waited for
        await serving


async def connected(server: uvicorn.Server) -> asyncio.StreamWriter:
    return (await asyncio.open_connection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1]))[1]


async def test_a_caller_that_hangs_up_is_gone_and_one_that_waits_is_not() -> None:
    seen: list[bool] = []
    hung_up = asyncio.Event()

    async def answer(request: Request) -> None:
        assert await read_body(request) == b"body"
        seen.append(await is_gone(request))
        await hung_up.wait()
        seen.append(await is_gone(request))

    async with served(answer) as server:
        writer = await connected(server)
        writer.write(HEAD + b"body")
        await eventually(lambda: seen == [False], seconds=10)
        writer.close()
        await eventually(lambda: not server.server_state.connections)
        hung_up.set()
        await eventually(lambda: seen == [False, True], seconds=10)


@pytest.mark.parametrize("pieces", [[HEAD + b"body"], [HEAD, b"body"], [HEAD + b"bo", b"dy"]])
async def test_a_body_is_read_whole_in_however_many_pieces_it_comes(pieces: list[bytes]) -> None:
    read: list[bytes] = []
    begun = asyncio.Event()

    async def answer(request: Request) -> None:
        begun.set()
        read.append(await read_body(request))

    async with served(answer) as server:
        writer = await connected(server)
        writer.write(pieces[0])
        await begun.wait()  # so that the rest comes apart
        writer.writelines(pieces[1:])
        await eventually(lambda: read == [b"body"])
        writer.close()


async def test_a_body_of_which_a_part_is_there_still_has_its_time() -> None:
    slow: list[object] = []

    async def answer(request: Request) -> None:
        with pytest.raises(TooSlowError) as refused:
            await read_body(request, seconds=0.1)
        slow.append(refused.value)

    async with served(answer) as server:
        writer = await connected(server)
        writer.write(HEAD + b"bo")
        await eventually(lambda: len(slow) == 1, seconds=10)
        writer.close()


async def test_a_body_that_is_all_there_is_not_taken_if_it_is_too_large() -> None:
    seen: list[object] = []

    async def answer(request: Request) -> None:
        with pytest.raises(TooLargeError) as refused:
            await read_body(request, most=3)
        seen.append(refused.value)

    async with served(answer) as server:
        writer = await connected(server)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
        await eventually(lambda: len(seen) == 1)
        writer.close()


async def test_a_body_of_a_caller_that_has_gone_is_not_read() -> None:
    seen: list[object] = []

    async def answer(request: Request) -> None:
        cycle = cast("Any", request.receive).__self__
        await eventually(lambda: cycle.disconnected)
        assert (bytes(cycle.body), cycle.more_body) == (b"body", False)
        with pytest.raises(ClientDisconnect) as refused:
            await read_body(request)
        seen.append(refused.value)

    async with served(answer) as server:
        writer = await connected(server)
        writer.write(HEAD + b"body")
        writer.close()
        await eventually(lambda: len(seen) == 1)


async def test_whoever_reads_a_body_twice_does_not_wait_for_ever() -> None:
    seen: list[object] = []

    async def answer(request: Request) -> None:
        assert await read_body(request) == b"body"
        with pytest.raises(TooSlowError) as refused:
            await read_body(request, seconds=0.1)
        seen.append(refused.value)

    async with served(answer) as server:
        writer = await connected(server)
        writer.write(HEAD + b"body")
        await eventually(lambda: len(seen) == 1)
        writer.close()
