"""An answer leaves in one piece: written so if it is there whole, and else its head and its body are sent together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, cast

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from app.api.intake import front
from app.api.intake.connections import ConnectionWatch, Corked, write_whole
from app.api.intake.front import Application
from app.api.wire.bodies import Answer, answer, read_body
from app.api.wire.routes import Request, Response, Router
from app.identifiers import RandomIds
from app.telemetry.figures import Telemetry
from tests.fixtures.patience import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping

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


@contextlib.asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """Serve on a loopback port."""
    config = uvicorn.Config(
        app,
        port=0,
        http=ConnectionWatch(10).protocol(),
        lifespan="off",
        log_config=None,
        access_log=False,
        date_header=False,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


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


async def test_what_is_written_whole_goes_at_once_but_overtakes_nothing() -> None:
    pipe = Pipe()
    corked = Corked(cast("asyncio.Transport", pipe), asyncio.get_running_loop())
    corked.write_whole(b"answer")
    assert pipe.done == [b"answer"]
    corked.write(b" first")
    corked.write_whole(b" second")
    await asyncio.sleep(0)
    assert b"".join(cast("list[bytes]", pipe.done)) == b"answer first second"


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
    corked.write_whole(b"later yet")
    assert pipe.done == ["aborted"]


async def test_a_stream_comes_as_it_is_written_and_an_answer_comes_whole() -> None:
    go_on = asyncio.Event()

    async def app(scope: MutableMapping[str, Any], receive: object, send: Send) -> None:
        assert scope["type"] == "http"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"ab", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"cd"})

    async with served(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):  # the connection is kept, and serves again
            writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            begun = await asyncio.wait_for(reader.readuntil(b"\r\n\r\nab"), 10)
            assert begun.startswith(b"HTTP/1.1 200 OK\r\n")
            go_on.set()
            assert await asyncio.wait_for(reader.readexactly(2), 10) == b"cd"
            go_on.clear()
        writer.close()


class _Told:
    ids = RandomIds()
    spans = None

    def __init__(self) -> None:
        self.telemetry = Telemetry()


def _application(told: _Told) -> Application:
    """Answer as our routes do: plainly, with headers of their own, and with what may not stand in a head."""
    headers = {
        "plain": {},
        "told": {"Cache-Control": "no-store", "Preference-Applied": "return=minimal"},
        "last": {"Connection": "close"},
        "broken": {"Retry-After": "1\r\nset-cookie: a=b"},
        "torn": {"Retry-After": "1\r"},
        "void": {"Retry-After": "\0"},
    }
    router = Router()

    @router.get("/{name}", head=True)
    async def look(name: str, request: Request) -> Response:
        del request
        return answer({"name": name}, headers=headers[name])

    @router.post("/made")
    async def make(request: Request) -> Response:
        return answer({"read": (await read_body(request)).decode()}, 201)

    @router.post("/nothing")
    async def nothing(request: Request) -> Response:
        del request
        return Answer({}, 204, {})

    app = Application()
    app.router.routes.extend(router.routes)
    app.stand_behind_front(told, rest=list)
    return app


def _call(method: str, path: str, *lines: str, version: str = "1.1", body: str = "") -> bytes:
    heads = ["host: a", "x-request-id: call_of_test", f"content-length: {len(body)}", *lines]
    return f"{method} {path} HTTP/{version}\r\n".encode() + "\r\n".join([*heads, "", body]).encode()


CALLS = {
    "a call": _call("GET", "/plain"),
    "with headers of its own": _call("GET", "/told"),
    "that makes something": _call("POST", "/made", body="body"),
    "that is told to go on": _call("POST", "/made", "expect: 100-continue", body="body"),
    "that is told to go on with a body that nobody reads": _call("POST", "/nothing", "expect: 100-continue", body="b"),
    "without content": _call("POST", "/nothing"),
    "of which only the head is asked": _call("HEAD", "/plain"),
    "of an old client": _call("GET", "/plain", version="1.0"),
    "of an old client that would stay": _call("GET", "/plain", "connection: keep-alive", version="1.0"),
    "that is a client's last": _call("GET", "/plain", "connection: close"),
    "that is the last by our word": _call("GET", "/last"),
    "that is answered with a line break in a header": _call("GET", "/broken"),
    "that is answered with half a line break in a header": _call("GET", "/torn"),
    "that is answered with a zero in a header": _call("GET", "/void"),
    "of many": _call("GET", "/plain") + _call("POST", "/made", body="body") + _call("GET", "/told"),
}
WRITTEN = dict.fromkeys(list(CALLS)[:6], 1) | {"of many": 3}
"""How many answers of a kind are written in one go; of the others none is."""


@pytest.fixture
def two_told() -> tuple[_Told, _Told]:
    return _Told(), _Told()


async def test_an_answer_is_written_whole_as_uvicorn_writes_it(
    two_told: tuple[_Told, _Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []

    def noting(*given: Any) -> bool:
        done.append(write_whole(*given))
        return done[-1]

    async def answered(told: _Told) -> dict[str, tuple[bytes, int]]:
        came: dict[str, tuple[bytes, int]] = {}
        async with served(_application(told)) as port:
            for kind, call in CALLS.items():
                done.clear()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                # What comes behind it is answered on the same connection, if that goes on.
                writer.write(call + _call("GET", "/plain", "connection: close"))
                came[kind] = await asyncio.wait_for(reader.read(), 10), done.count(True)
                writer.close()
        return came

    monkeypatch.setattr(front, "write_whole", noting)
    whole = await answered(two_told[0])
    monkeypatch.setattr(front, "write_whole", lambda *_: False)
    apart = await answered(two_told[1])
    for kind, (came, written) in whole.items():
        assert came == apart[kind][0], kind
        assert written == WRITTEN.get(kind, 0), kind
        assert b"set-cookie" not in came, kind
        assert (b"100 Continue" in came) == (kind == "that is told to go on"), kind
    assert _counted(two_told[0].telemetry) == _counted(two_told[1].telemetry)


class _Another:
    """Another server, whose `send` is a method as well."""

    def __init__(self) -> None:
        self.sent: list[MutableMapping[str, Any]] = []

    async def receive(self) -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"body"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)


async def test_any_other_server_is_told_in_two_messages(two_told: tuple[_Told, _Told]) -> None:
    server = _Another()
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/made", "query_string": b"", "headers": []}
    await _application(two_told[0])(scope, server.receive, server.send)
    head, body = server.sent
    assert (head["type"], head["status"], head["headers"][-1][0]) == ("http.response.start", 201, b"x-request-id")
    assert (body["type"], body["body"]) == ("http.response.body", b'{"read":"body"}')


def _counted(telemetry: Telemetry) -> dict[tuple[str, str], float]:
    (answers,) = [each for each in telemetry.registry.collect() if each.name == "assent_http_seconds"]
    counts = [each for each in answers.samples if each.name.endswith("_count")]
    return {(each.labels["route"], each.labels["status"]): each.value for each in counts}


def _cycle(pipe: Pipe, **set_to: Any) -> RequestResponseCycle:
    corked = cast("asyncio.Transport", Corked(cast("asyncio.Transport", pipe), asyncio.get_running_loop()))
    log = logging.getLogger("uvicorn.access")
    cycle = RequestResponseCycle(
        scope=cast("Any", {"type": "http", "method": "GET"}),
        transport=corked,
        flow=FlowControl(corked),
        logger=log,
        access_logger=log,
        access_log=False,
        default_headers=[(b"server", b"ours")],
        message_event=asyncio.Event(),
        expect_100_continue=True,
        keep_alive=True,
        on_response=lambda: pipe.done.append("ended"),
    )
    for name, value in set_to.items():
        setattr(cycle, name, value)
    return cycle


async def test_a_plain_answer_ends_its_call() -> None:
    pipe = Pipe()
    cycle = _cycle(pipe)
    assert write_whole(cycle, 200, [(b"content-length", b"2")], b"{}")
    assert pipe.done == [b"HTTP/1.1 200 OK\r\nserver: ours\r\ncontent-length: 2\r\n\r\n{}", "ended"]
    assert (cycle.response_started, cycle.response_complete) == (True, True)
    assert (cycle.message_event.is_set(), cycle.waiting_for_100_continue) == (True, False)


async def test_what_is_not_plain_is_left_to_uvicorn() -> None:
    pipe = Pipe()
    paused = FlowControl(cast("asyncio.Transport", pipe))
    paused.pause_writing()
    states: list[dict[str, Any]] = [
        {"response_started": True},
        {"disconnected": True},
        {"keep_alive": False},
        {"access_log": True},
        {"flow": paused},
        {"transport": pipe},
        {"scope": {"type": "http", "method": "HEAD"}},
    ]
    for state in states:
        cycle = _cycle(pipe, **state)
        assert not write_whole(cycle, 200, [(b"content-length", b"2")], b"{}"), state
        assert (cycle.response_complete, cycle.message_event.is_set()) == (False, False), state
    assert pipe.done == []
