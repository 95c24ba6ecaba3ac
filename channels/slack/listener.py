"""Socket Mode: a connection that we open, on which Slack's calls come (api.slack.com/apis/socket-mode).

    we     POST apps.connections.open (app-level token)  ->  {"url": "wss://…?ticket=…"}   a ticket opens one connection
    Slack  {"type": "hello"}
    Slack  {"type": "interactive", "envelope_id": "…", "payload": {as over HTTP}}
    we     {"envelope_id": "…", "payload": {the answer, if there is one}}                   within three seconds
    Slack  {"type": "disconnect"}                                                           the SDK opens a new one

The SDK reconnects by itself, but tries a used-up ticket for ever when the handshake fails once; a watch replaces a
connection that stays down.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

import structlog

from app.ports import CallbackRejectedError, ChannelRefusedError, ChannelUnavailableError
from channels.slack import callback

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from app.ports import HttpAnswer, Inbound
    from channels.slack.client import SlackClient

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_CONNECT_SECONDS: Final = 15.0
_WATCH_SECONDS: Final = 15.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_FIRST_REFUSED: Final = 15.0
_LONGEST_REFUSED: Final = 300.0
_FINISH_SECONDS: Final = 3.0
_HTTP_OK: Final = 200


class SocketListener:
    """Receives one app's calls on one connection at a time. `name` is the channel's, for the log."""

    def __init__(
        self,
        client: SlackClient,
        receive: Callable[[Inbound], Awaitable[HttpAnswer]],
        *,
        name: str,
        app_token: str,
        app_id: str,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Connect to nothing yet. `sleep` takes seconds."""
        self._client = client
        self._receive = receive
        self._name = name
        self._app_token = app_token
        self._app_id = app_id
        self._sleep = sleep
        self._answering: set[asyncio.Task[object]] = set()
        self.connected = False
        """Whether the connection stood at the last look."""

    async def run(self) -> None:
        """Listen until cancelled. A refusal is for a person to mend; until then it is asked again, ever more rarely."""
        pause, refused = _FIRST_PAUSE, _FIRST_REFUSED
        while True:
            try:
                await self._connection()
                pause, refused = _FIRST_PAUSE, _FIRST_REFUSED
            except ChannelRefusedError as error:
                log.warning(
                    "connection.refused", channel=self._name, why=error.why, again_in=refused, mend="assent doctor"
                )
                await self._sleep(refused)
                refused = min(_LONGEST_REFUSED, refused * 2)
            except ChannelUnavailableError as error:
                wish = error.retry_after.total_seconds() if error.retry_after else pause
                log.warning("connection.failed", channel=self._name, why=error.why, again_in=wish)
                await self._sleep(wish)
                pause = min(_LONGEST_PAUSE, pause * 2)

    async def _connection(self) -> None:
        """Hold one SDK client until it stays down for two watches in a row."""
        address = await self._client.open_socket_address(self._app_token)
        socket = await self._client.socket(self._app_token)

        async def on_frame(_: object, frame: dict[str, object], raw: str | None) -> None:
            envelope = frame.get("envelope_id")
            if isinstance(envelope, str) and raw is not None:
                with _Kept(self._answering):
                    reply = await self._take(raw)
                    if reply is not None:
                        await socket.send_socket_mode_response({"envelope_id": envelope, **reply})

        socket.message_listeners.append(on_frame)
        socket.wss_uri = address
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await socket.connect()
            log.info("connection.opened", channel=self._name)
            self.connected, down = True, 0
            while down < 2:
                await asyncio.sleep(_WATCH_SECONDS)
                self.connected = await socket.is_connected()
                down = 0 if self.connected else down + 1
        except TimeoutError:
            why = "Socket Mode: the connection could not be opened in time"
            raise ChannelUnavailableError(why) from None
        finally:
            self.connected = False
            if self._answering:
                await asyncio.wait(self._answering, timeout=_FINISH_SECONDS)
            await self._client.close_socket(socket)
            log.info("connection.closed", channel=self._name)

    async def _take(self, raw: str) -> dict[str, object] | None:
        """Return what is acknowledged with; None to stay silent, so that the person sees an error and tries again.

        `receive` is never cut off: what it has begun to record counts, even when the answer comes too late to be shown.
        """
        try:
            frame = callback.parse_json(raw)
            if frame.get("type") != "interactive":
                return {}
            payload = frame.get("payload")
            if not isinstance(payload, dict):
                log.warning("callback.rejected", channel=self._name, why="the frame has no payload")
                return None
            inbound = callback.parse_payload(cast("dict[str, object]", payload), app_id=self._app_id)
            answer = await self._receive(inbound)
        except CallbackRejectedError as refusal:
            log.warning("callback.rejected", channel=self._name, why=refusal.why)
            return None
        except Exception:
            # The top of this call: the connection must outlive whatever one click met.
            log.exception("callback.failed", channel=self._name)
            return None
        if answer.status != _HTTP_OK:
            return None
        return {"payload": answer.body} if answer.body else {}


class _Kept:
    """Remembers the running task while it answers, so that a stop can wait for it."""

    def __init__(self, tasks: set[asyncio.Task[object]]) -> None:
        self._tasks = tasks
        self._task = cast("asyncio.Task[object]", asyncio.current_task())

    def __enter__(self) -> None:
        self._tasks.add(self._task)

    def __exit__(self, *_: object) -> None:
        self._tasks.discard(self._task)
