"""What is no call of HTTP is answered as a problem, and whoever dawdles is not kept after the answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response

from app.api.intake.connections import HEAD_BYTES, ConnectionWatch
from app.api.wire.bodies import read_body
from app.api.wire.problems import problem
from app.domain.errors import TooSlowError
from tests.fixtures.patience import HANGS, eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    try:
        await read_body(Request(scope, receive, send), seconds=0.1)
        said = Response("well")
    except TooSlowError as error:
        said = problem(error, "/")
    await said(scope, receive, send)


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Serve on a loopback port, and open a connection to it."""
    config = uvicorn.Config(_app, port=0, lifespan="off", log_config=None, http=ConnectionWatch(10).protocol())
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
    finally:
        server.should_exit = server.force_exit = True
        await serving


async def answer_to(call: bytes) -> bytes:
    """Return all that is said until the gateway ends the connection; `call` is sent whole before anything is read."""
    async with connected() as (reader, writer):
        writer.write(call)
        await asyncio.wait_for(writer.drain(), HANGS)
        return await asyncio.wait_for(reader.read(), HANGS)


def _problem(said: bytes) -> dict[str, Any]:
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    assert f"content-length: {len(body)}".encode() in head
    return json.loads(body)


@requirement("S-65")
@pytest.mark.parametrize("size", [200_000, 900_000])
async def test_a_head_that_is_too_large_is_answered_though_its_sender_reads_nothing_before_its_end(size: int) -> None:
    said = await answer_to(b"GET / HTTP/1.1\r\nHost: x\r\nx: " + b"y" * size + b"\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 431 ")
    told = _problem(said)
    assert (told["code"], told["status"]) == ("headers_too_large", 431)
    assert str(HEAD_BYTES) in told["detail"]


@requirement("S-65")
@pytest.mark.parametrize(
    ("heads", "says"),
    [
        (b"", "there is no Host header"),
        (b"host: a\r\nHOST: a\r\n", "there is more than one Host header"),
        (b"no colon\r\n", "Invalid HTTP request received."),
    ],
)
async def test_a_call_without_one_host_is_none(heads: bytes, says: str) -> None:
    said = await answer_to(b"GET / HTTP/1.1\r\n" + heads + b"\r\n")
    assert said.startswith(b"HTTP/1.1 400 ")
    told = _problem(said)
    assert (told["code"], told["detail"]) == ("bad_http", says)


@requirement("S-65")
@pytest.mark.parametrize("head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"])
async def test_the_old_version_needs_no_host_and_an_empty_one_is_one(head: bytes) -> None:
    assert (await answer_to(head)).endswith(b"well")


@requirement("S-65")
async def test_whoever_trickles_on_after_a_408_is_not_kept() -> None:
    async with connected() as (reader, writer):
        writer.write(POST + b"{")
        said = await asyncio.wait_for(reader.read(), HANGS)  # to its end: the connection's as well
        assert said.startswith(b"HTTP/1.1 408 ")
        assert _problem(said)["code"] == "too_slow"
