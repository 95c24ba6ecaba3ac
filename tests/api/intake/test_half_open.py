"""Clients that begin and do not go on, against a real gateway with few places: they keep nobody out."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from app.api.intake.connections import (
    HEAD_BYTES,
    HEAD_SECONDS,
    LEAVING_BYTES,
    LEAVING_SECONDS,
    Connection,
    ConnectionWatch,
)
from app.api.wire import bodies
from app.api.wire.bodies import Arrivals, Unproven, looks_signed
from app.clock import SystemClock
from app.domain.errors import TooSlowError
from app.settings import Settings
from tests.durability.gateway_process import scene, until
from tests.durability.kills.test_crashes import ANN, live
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.durability.gateway_process import Gateway

PLACES = 400
FORGED = "v0=" + "0" * 64


class Stranger:
    """A connection that somebody has opened."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def vanish(self) -> None:
        """End it as a machine does that goes away."""
        held: socket.socket = self.writer.get_extra_info("socket")
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def ended(self) -> bytes:
        """Wait until the gateway ends it; return what it said before."""
        said = b""
        with suppress(ConnectionError):
            while part := await self.reader.read(4096):
                said += part
        return said


@asynccontextmanager
async def strangers(gateway: Gateway, many: int, beginning: str) -> AsyncIterator[list[Stranger]]:
    """Open connections that send a beginning, and nothing more."""
    port = urlsplit(gateway.address).port
    opened: list[Stranger] = []
    try:
        for _ in range(many):
            stranger = Stranger(*await asyncio.open_connection("127.0.0.1", port))
            opened.append(stranger)
            stranger.writer.write(beginning.encode())
        yield opened
    finally:
        for stranger in opened:
            stranger.writer.transport.abort()


def _half_a_click(*, signed: bool) -> str:
    stamp = int(SystemClock().now().timestamp())
    heads = f"x-slack-request-timestamp: {stamp}\r\nx-slack-signature: {FORGED}\r\n" if signed else ""
    return f"POST /v1/channels/pay-slack/callback HTTP/1.1\r\nhost: x\r\n{heads}content-length: 100\r\n\r\n{{"


@requirement("S-65", "F-38")
@pytest.mark.process
@pytest.mark.timeout(180)
async def test_whoever_does_not_go_on_keeps_nobody_out(sqlite_url: str, tmp_path: Path) -> None:
    async with scene(sqlite_url, tmp_path, "slack") as made:
        made.environ["ASSENT_MAX_CONNECTIONS"] = str(PLACES)
        async with made.gateway() as gateway:
            async with strangers(gateway, PLACES + 50, "GET /v1/requests HTTP/1.1\r\nhost: ") as half_heads:
                await _half_heads_make_room(gateway, half_heads)
                await _half_bodies_keep_no_click_out(gateway, made.slack, sqlite_url)
                # Its time was up, or its place was needed.
                assert await asyncio.wait_for(half_heads[-1].ended(), 3 * HEAD_SECONDS) == b""
            await _who_vanishes_is_no_error(gateway)


async def _half_heads_make_room(gateway: Gateway, half_heads: list[Stranger]) -> None:
    for n in range(3):
        assert (await gateway.ask("wire", session=f"s-{n}"))["state"] == "pending"
    await asyncio.wait_for(half_heads[0].ended(), 30)


async def _half_bodies_keep_no_click_out(gateway: Gateway, slack: Any, url: str) -> None:
    request = await gateway.ask("pay")
    await until("the card is out", lambda: live(slack))
    plain, forged = _half_a_click(signed=False), _half_a_click(signed=True)
    async with strangers(gateway, 70, plain), strangers(gateway, 300, forged):
        pressed = await slack.click(ANN, slack.room.id, str(live(slack)[0]["ts"]), "assent_approve")
        assert (pressed.status, pressed.trouble) == (200, "")
        approved = "SELECT count(*) FROM audit_events WHERE kind = 'request.approved'"
        await until("it is approved", lambda: look(url, approved) == [(1,)])
        assert (await gateway.read(request))["state"] == "approved"


async def _who_vanishes_is_no_error(gateway: Gateway) -> None:
    written = gateway.log.stat().st_size
    async with strangers(gateway, 100, _half_a_click(signed=True)) as vanishing:
        assert (await gateway.call("payer", "GET", "/readyz")).status_code == 200
        for stranger in vanishing:
            stranger.vanish()
    async with strangers(gateway, 1, "GET / HTTP/1.1\r\nx: " + "y" * (3 * HEAD_BYTES)) as [endless]:
        assert (await asyncio.wait_for(endless.ended(), 30)).startswith(b"HTTP/1.1 431 ")
    assert (await gateway.call("payer", "GET", "/readyz")).status_code == 200
    assert "Traceback" not in gateway.log.read_text()
    assert gateway.log.stat().st_size - written < 20_000


class _Aborted:
    """A connection's other end, as far as it can be aborted."""

    def __init__(self, gone: list[str], name: str) -> None:
        self._gone, self._name = gone, name

    def abort(self) -> None:
        self._gone.append(self._name)


@requirement("S-65")
async def test_where_the_last_place_is_taken_those_go_that_have_asked_for_nothing_longest() -> None:
    gone: list[str] = []
    open_ones = set[Any]()
    watch = ConnectionWatch(3)
    server = SimpleNamespace(connections=open_ones)

    def comes(name: str, *, since: float, in_head: bool = True, answering: bool = False) -> Connection:
        made = Connection.__new__(watch.protocol())
        made.__dict__ |= {"server_state": server, "transport": _Aborted(gone, name), "since": since}
        made.__dict__ |= {"in_head": in_head, "cycle": SimpleNamespace(response_complete=not answering)}
        open_ones.add(made)
        watch.admit(made)
        return made

    comes("is answered", since=1, in_head=False, answering=True)
    comes("is kept alive", since=2, in_head=False)
    dawdles = comes("dawdles", since=3)
    assert gone == [], "there is a place for everybody"
    comes("is new", since=4)
    assert gone == ["dawdles"]
    open_ones.discard(dawdles)
    comes("is newer", since=5)
    assert gone == ["dawdles", "is new"]
    open_ones.clear()
    for name in ("one", "two", "three"):
        comes(f"{name} is answered", since=6, in_head=False, answering=True)
    comes("comes too late", since=7)
    assert gone[2:] == ["comes too late"], "nobody who is being answered is cut"


class _Wire(asyncio.Transport):
    """A connection's other end, on which a test says what comes in one read."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 6)})
        self.answers = asyncio.Queue[bytes]()
        self.closed = self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.answers.put_nowait(bytes(data))

    def close(self) -> None:
        self.closed = True

    def write_eof(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def _says_how_much(_: Any, receive: Any, send: Any) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": f"{size} bytes".encode()})


async def _says_no(_: Any, receive: Any, send: Any) -> None:
    del receive
    await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def _connected(app: Any = _says_how_much) -> tuple[Connection, _Wire]:
    config = Config(app, http="httptools", ws="none", lifespan="off", log_config=None)
    config.load()
    protocol = ConnectionWatch(3).protocol()
    made = protocol(config=config, server_state=ServerState(), app_state={})
    wire = _Wire()
    made.connection_made(wire)
    return made, wire


def _post(body: bytes) -> bytes:
    return f"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@requirement("S-65")
@pytest.mark.parametrize("part", [1000, HEAD_BYTES, 10 * HEAD_BYTES])
async def test_a_head_without_end_is_cut_off_however_it_comes(part: int) -> None:
    made, wire = _connected()
    made.data_received(b"GET / HTTP/1.1\r\nhost: ")
    for _ in range(3 * HEAD_BYTES // part + 1):
        if not wire.closed:
            made.data_received(b"x" * part)
    assert wire.closed
    assert (await asyncio.wait_for(wire.answers.get(), HANGS)).startswith(b"HTTP/1.1 431 ")
    assert made.head_bytes <= LEAVING_BYTES
    assert not made.is_late(asyncio.get_running_loop().time() + LEAVING_SECONDS - 1)
    assert made.is_late(asyncio.get_running_loop().time() + LEAVING_SECONDS)
    for _ in range(LEAVING_BYTES // part + 1):
        made.data_received(b"x" * part)
    assert wire.aborted, "what is thrown away has a bound"


@requirement("S-65")
async def test_what_is_left_of_a_body_after_its_answer_has_its_time_and_no_longer() -> None:
    made, wire = _connected(_says_no)
    call = _post(b"body")
    made.data_received(call[:-2])
    await asyncio.wait_for(wire.answers.get(), HANGS)
    later = asyncio.get_running_loop().time() + HEAD_SECONDS
    assert not made.is_late(later - 1)
    assert made.is_late(later)
    made.data_received(call[-2:])
    assert not made.is_late(later + 1), "all of it came: the connection is kept for the next call"
    made.data_received(_post(b"body"))
    assert (await asyncio.wait_for(wire.answers.get(), HANGS)).startswith(b"HTTP/1.1 401 ")


@requirement("S-65", "S-08")
@pytest.mark.parametrize("cut", [0, 1, -1, -2, -3])
async def test_a_large_body_that_comes_in_one_read_with_its_head_is_no_head(cut: int) -> None:
    """As `assent-hook` and proxies send it; once more on the same connection, and wherever the head is cut."""
    made, wire = _connected()
    for size in (1_000_000, 900_000):
        call = _post(b"b" * size)
        head = len(call) - size + cut
        for read in (call[:head], call[head:]) if cut else (call,):
            made.data_received(read)
        said = b""
        while not said.endswith(b"\r\n0\r\n\r\n"):
            said += await asyncio.wait_for(wire.answers.get(), HANGS)
        assert f"\r\n{size} bytes\r\n".encode() in said
        assert not wire.closed


@requirement("S-65")
async def test_the_place_of_a_body_that_dawdles_goes_to_one_that_comes() -> None:
    arrivals, began, over = Arrivals(3), asyncio.Semaphore(0), asyncio.Event()

    async def dawdle(source: str) -> str:
        try:
            async with arrivals.place(source):
                began.release()
                await over.wait()
        except TooSlowError:
            return "sent away"
        return "served"

    held = [asyncio.ensure_future(dawdle(source)) for source in ("few", "many", "many")]
    for _ in held:
        await began.acquire()
    async with arrivals.place("new"):
        pass
    assert await asyncio.wait_for(held[1], HANGS) == "sent away"  # the oldest, of the address that has most
    over.set()
    assert [await each for each in held] == ["served", "sent away", "served"]
    async with arrivals.place("few"), arrivals.place("few"), arrivals.place("few"):
        pass  # every place was given back


class _Endless:
    """A call whose body has begun and does not come."""

    def __init__(self, began: asyncio.Semaphore) -> None:
        self.scope: dict[str, list[tuple[bytes, bytes]]] = {"headers": []}
        self.client = None
        self.receive = None
        self._began = began

    async def stream(self) -> AsyncIterator[bytes]:
        self._began.release()
        await asyncio.Event().wait()
        yield b""


@requirement("S-65")
@pytest.mark.parametrize("signed", [False, True])
async def test_no_more_bodies_are_kept_than_there_are_places_before_anything_proves_them(
    monkeypatch: pytest.MonkeyPatch, *, signed: bool
) -> None:
    monkeypatch.setattr(bodies, "_MOST_LIKELY" if signed else "_MOST_STRANGERS", 2)
    unproven, began, now = Unproven(), asyncio.Semaphore(0), SystemClock().now()
    stamp = ("x-slack-request-timestamp", f"{int(now.timestamp())}")
    heads = [stamp, ("x-slack-signature", FORGED)] if signed else []

    def begin() -> asyncio.Future[bytes]:
        call: Any = _Endless(began)
        return asyncio.ensure_future(unproven.read(call, heads, now=now, seconds=60))

    held = [begin() for _ in range(3)]
    for _ in held:
        await began.acquire()
    with pytest.raises(TooSlowError):
        await asyncio.wait_for(held[0], HANGS)
    assert not held[1].done()
    assert not held[2].done()
    for each in held[1:]:
        each.cancel()
    await asyncio.gather(*held[1:], return_exceptions=True)


@requirement("S-65")
def test_a_head_looks_signed_only_if_it_is_well_formed_and_fresh() -> None:
    now = SystemClock().now()
    fresh, old = f"{int(now.timestamp())}", f"{int(now.timestamp()) - 3600}"
    genuine = [("x-slack-request-timestamp", fresh), ("x-slack-signature", FORGED)]
    assert looks_signed(genuine, now=now)
    assert looks_signed([("x-lark-request-timestamp", fresh), ("x-lark-signature", "a" * 64)], now=now)
    for wrong in (
        [],
        genuine[:1],
        genuine[1:],
        [*genuine, genuine[0]],
        [("x-slack-request-timestamp", old), genuine[1]],
        [("x-slack-request-timestamp", "٣" * 10), genuine[1]],
        [genuine[0], ("x-slack-signature", "v0=" + "0" * 63)],
        [genuine[0], ("x-slack-signature", "v0=" + "0" * 65)],
    ):
        assert not looks_signed(wrong, now=now), wrong


@requirement("S-65")
@pytest.mark.parametrize("value", ["*", "proxy.example", "10.0.0.0/33", "10.0.0.1, *"])
def test_only_addresses_and_networks_may_say_who_calls(value: str) -> None:
    with pytest.raises(ValueError, match="is no address and no network"):
        Settings(secret="s" * 40, trusted_proxies=value)  # type: ignore[arg-type]
    assert Settings(secret="s" * 40, trusted_proxies="10.0.0.0/8, ::1").trusted_proxies  # type: ignore[arg-type]
