"""The long connection: clicks without a public address.

The wire is the platform's own (``POST /callback/ws/endpoint`` for a one-time address, then protobuf frames, whose class
is the SDK's), but the loop is ours, on `websockets`. The SDK's client cannot be stopped, captures one global loop,
answers no ``card`` frame, blocks its pings while a click is handled, and waits for ever on its own lock after a second
connect (measured on 1.7.5); mending all of that from outside would take more lines than these and break with its next
release.

A data frame carries type, message_id, sum and seq; a payload comes in `sum` parts. The answer is the same frame with
the payload ``{"code": 200, "data": "<base64 of the JSON answer>"}``, within three seconds. Nothing is signed: the
connection was opened with the app's secret, and every event is still checked for app, tenant and shape.

Each click is handled in a task of its own, so that a slow one holds up neither the others nor the pings. A click that
is not answered in time is told so (code 500) and may be pressed again. Losing the connection is normal: it is opened
again, after a wait that grows to what the platform asks for.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs, urlsplit

import structlog
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from app.ports import CallbackRejectedError, ChannelRefusedError, ChannelUnavailableError
from channels.feishu.callback import MAX_BYTES, parse_event, parse_json
from channels.feishu.settings import is_loopback, is_own_connection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from websockets.asyncio.client import ClientConnection

    from app.ports import HttpAnswer, Inbound
    from channels.feishu.callback import Audience
    from channels.feishu.client import Endpoint, FeishuClient

ANSWER_SECONDS = 2.6
"""How long a click may take; the platform gives up at three seconds."""

OPEN_SECONDS = 10.0
KEEPALIVE_SECONDS = 20.0
_CONTROL, _DATA = 0, 1
_MAX_PARTS = 64
_MAX_WAITING = 64  # messages of which some parts have come
_SHORTEST_WAIT, _LONGEST_WAIT = 0.5, 120.0
_REFUSED_AS = 5  # failures as which the first refusal counts: half a minute
_STEADY_SECONDS = 10.0  # a connection that lived so long was a good one

_log = structlog.get_logger(__name__)


class Frame(Protocol):
    """The SDK's protobuf class, as far as it is used."""

    headers: Any
    service: int
    method: int
    SeqID: int
    LogID: int
    payload: bytes

    def SerializeToString(self) -> bytes:  # noqa: N802 # protobuf's name
        """Write the frame."""
        ...

    def ParseFromString(self, raw: bytes, /) -> object:  # noqa: N802 # protobuf's name
        """Read the frame."""
        ...


class Listener:
    """Keeps one long connection open and hands its clicks on."""

    def __init__(
        self,
        *,
        name: str,
        client: FeishuClient,
        audience: Audience,
        domain: str,
        jitter: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Prepare. `domain` is where the API is; `jitter` yields 0 to 1; `sleep` takes seconds."""
        self._name = name
        self._client = client
        self._audience = audience
        self._domain = domain
        self._jitter = jitter
        self._sleep = sleep
        self.connected = False
        """Whether the connection stands now."""

    async def run(self, receive: Callable[[Inbound], Awaitable[HttpAnswer]]) -> None:
        """Receive until cancelled. Never ends by itself: whatever breaks is logged and tried again."""
        frame_class: Callable[[], Frame] = await self._client.load_frame()
        failures = 0
        while True:
            opened_at, wait = time.monotonic(), _LONGEST_WAIT
            try:
                endpoint = await self._client.find_endpoint()
                wait = max(1.0, endpoint.retry_seconds)
                await self._serve(endpoint, frame_class, receive)
                _log.info("connection.lost", channel=self._name)
            except ChannelRefusedError as error:  # for a person to mend: asked again, but rarely
                _log.warning("connection.refused", channel=self._name, why=error.why, mend="assent doctor")
                failures = max(failures, _REFUSED_AS)
            except ChannelUnavailableError as error:
                _log.warning("connection.failed", channel=self._name, why=error.why, failures=failures)
            except (OSError, WebSocketException) as error:  # OSError covers TimeoutError
                _log.warning("connection.failed", channel=self._name, why=type(error).__name__, failures=failures)
            except Exception:  # noqa: BLE001 # a worker's loop: while it is down nobody can decide
                _log.exception("connection.failed", channel=self._name)
            failures = 0 if time.monotonic() - opened_at > _STEADY_SECONDS else failures + 1
            await self._sleep(self._pause(failures, wait))

    def _pause(self, failures: int, longest: float) -> float:
        """Wait a little after a loss, twice as long after every failure, never longer than the platform asks."""
        growing = _SHORTEST_WAIT * 2 ** min(failures, 10)
        return min(growing, longest, _LONGEST_WAIT) * (0.5 + self._jitter() / 2)

    async def _serve(
        self,
        endpoint: Endpoint,
        frame_class: Callable[[], Frame],
        receive: Callable[[Inbound], Awaitable[HttpAnswer]],
    ) -> None:
        """Hold one connection until it closes."""
        if not is_own_connection(endpoint.url, domain=self._domain):
            raise ChannelRefusedError("the long connection's address is not the platform's, or not encrypted")
        service = int((parse_qs(urlsplit(endpoint.url).query).get("service_id") or ["0"])[0])
        opening = _Connect(
            endpoint.url,
            open_timeout=OPEN_SECONDS,
            close_timeout=1,
            ping_interval=KEEPALIVE_SECONDS,  # finds a dead connection even when the platform's own pings are rare
            ping_timeout=KEEPALIVE_SECONDS,
            max_size=MAX_BYTES,
            proxy=None if is_loopback(endpoint.url) else True,
        )
        async with opening as connection:
            _log.info("connection.opened", channel=self._name)
            session = _Session(connection, frame_class, service, self._audience, receive, self._name)
            self.connected = True
            try:
                async with asyncio.TaskGroup() as group:
                    pings = group.create_task(session.ping(endpoint.ping_seconds))
                    await session.read(group)
                    pings.cancel()
            finally:
                self.connected = False


class _Connect(connect):
    """Opens a connection where it was asked for, and nowhere else: the address holds a ticket."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow no redirect."""
        return exc


class _Session:
    """One open connection."""

    def __init__(  # noqa: PLR0917 # made in one place, a few lines above
        self,
        connection: ClientConnection,
        frame_class: Callable[[], Frame],
        service: int,
        audience: Audience,
        receive: Callable[[Inbound], Awaitable[HttpAnswer]],
        name: str,
    ) -> None:
        self._connection = connection
        self._frame_class = frame_class
        self._service = service
        self._audience = audience
        self._receive = receive
        self._name = name
        self._parts: dict[str, dict[int, bytes]] = {}

    async def ping(self, seconds: float) -> None:
        """Send the platform's own pings."""
        frame = self._frame_class()
        _add_header(frame, "type", "ping")
        frame.service, frame.method, frame.SeqID, frame.LogID = self._service, _CONTROL, 0, 0
        while True:
            await self._write(frame)
            await asyncio.sleep(max(1.0, seconds))

    async def read(self, group: asyncio.TaskGroup) -> None:
        """Read until the connection closes, whichever way it does."""
        try:
            async for message in self._connection:
                if isinstance(message, bytes):
                    self.take(message, group)
        except WebSocketException as error:
            _log.info("connection.broken", channel=self._name, why=type(error).__name__)

    def take(self, message: bytes, group: asyncio.TaskGroup) -> None:
        """Read one frame; when it completes an event, handle that beside the others."""
        frame = self._frame_class()
        try:
            frame.ParseFromString(message)
            headers = {str(header.key): str(header.value) for header in frame.headers}
        except Exception as error:  # noqa: BLE001 # the SDK's protobuf raises a class of its own private copy
            _log.warning("frame.rejected", channel=self._name, why=type(error).__name__)
            return
        if frame.method != _DATA or headers.get("type") not in {"event", "card"}:
            return
        payload = self._join(headers, frame.payload)
        if payload is not None:
            group.create_task(self._handle(frame, payload))

    def _join(self, headers: dict[str, str], part: bytes) -> bytes | None:
        """Return the payload once all its parts are here."""
        try:
            total, index = int(headers.get("sum", "1")), int(headers.get("seq", "0"))
        except ValueError:
            total, index = 0, 0
        if total <= 1:
            return part if total == 1 else None
        if total > _MAX_PARTS or not 0 <= index < total:
            return None
        message_id = headers.get("message_id", "")
        parts = self._parts.setdefault(message_id, {})
        parts[index] = part
        if sum(map(len, parts.values())) > MAX_BYTES:
            del self._parts[message_id]
            return None
        while len(self._parts) > _MAX_WAITING:
            del self._parts[next(iter(self._parts))]  # the oldest; the platform gave up on it long ago
        if len(parts) < total:
            return None
        del self._parts[message_id]
        return b"".join(parts[at] for at in range(total))

    async def _handle(self, frame: Frame, payload: bytes) -> None:
        try:
            inbound = parse_event(parse_json(payload), audience=self._audience)
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._receive(inbound)
        except CallbackRejectedError as error:
            _log.warning("callback.rejected", channel=self._name, why=error.why)
            await self._reply(frame, {"code": 500})
        except TimeoutError:
            _log.warning("callback.timed_out", channel=self._name)
            await self._reply(frame, {"code": 500})
        except Exception:  # noqa: BLE001 # what an HTTP server is to a webhook: one bad click must not end it
            _log.exception("callback.failed", channel=self._name)
            await self._reply(frame, {"code": 500})
        else:
            body = json.dumps(answer.body or {}, ensure_ascii=False).encode()
            await self._reply(frame, {"code": answer.status, "data": base64.b64encode(body).decode()})

    async def _reply(self, frame: Frame, answer: dict[str, object]) -> None:
        frame.payload = json.dumps(answer).encode()
        await self._write(frame)

    async def _write(self, frame: Frame) -> None:
        try:
            await self._connection.send(frame.SerializeToString())
        except WebSocketException:
            # The connection went; its reader sees it too and opens the next.
            _log.info("frame.dropped", channel=self._name)


def _add_header(frame: Frame, key: str, value: str) -> None:
    header = frame.headers.add()
    header.key, header.value = key, value
