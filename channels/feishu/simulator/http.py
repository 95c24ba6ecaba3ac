"""The simulated platform on a real socket: its HTTP API and its long connection as one plain ASGI application."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, unquote

from channels.feishu.simulator.errors import ApiFaultError
from channels.feishu.simulator.wire import CONTROL, DATA, Frame, decode_frame, encode_frame

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from channels.feishu.simulator.platform import Platform

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

Json = dict[str, object]

RESET_SECONDS = 7
"""What a rate-limited answer asks to wait."""


class Fault(StrEnum):
    """What can go wrong with one call."""

    RESET = "reset"  # the call takes effect, then the connection breaks
    HANG = "hang"  # no answer until `Faults.release`
    RATE_LIMITED = "rate_limited"  # 429, 99991400, with a reset header
    CHAT_RATE = "chat_rate"  # 230020
    SERVER_ERROR = "server_error"  # 502 with an HTML page, nothing done
    SERVER_ERROR_AFTER = "server_error_after"  # the call takes effect, then the same page
    TOKEN_REVOKED = "token_revoked"  # noqa: S105 # a fault's name: every token dies before this call is looked at
    REFUSED = "refused"  # 230002: the bot is not in the chat
    UNSHOWN = "unshown"  # answered as if it was done, with an id; nobody sees a message
    SHOWN_TWICE = "shown_twice"  # done, and people see a second message like it, of which the answer says nothing
    BUSY = "busy"  # 230049: this uuid is being sent
    LOCKED = "locked"  # 230099/11310: card action is lock
    REDIRECT = "redirect"  # 307 to /elsewhere of this server, which records what it is sent
    GARBAGE = "garbage"  # 200 with JSON that is no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    """One call that our gateway made."""

    operation: str
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes
    authorised: bool


class Faults:
    """Faults waiting for their calls, one at a time and in order."""

    def __init__(self) -> None:
        """Begin without any."""
        self._waiting: dict[str, deque[Fault]] = {}
        self._released = asyncio.Event()

    def add(self, operation: str, fault: Fault) -> None:
        """Let the next call of this operation fail so."""
        self._waiting.setdefault(operation, deque()).append(fault)

    def take(self, operation: str) -> Fault | None:
        """Return the fault that waits for this call."""
        waiting = self._waiting.get(operation)
        return waiting.popleft() if waiting else None

    def release(self) -> None:
        """Let every hanging call go on."""
        self._released.set()
        self._released = asyncio.Event()

    async def hang(self) -> None:
        """Hold a call until `release`."""
        await self._released.wait()


class Connection:
    """One long connection of the gateway."""

    def __init__(self, send: Send) -> None:
        """Keep where to write."""
        self._send = send
        self.replies: dict[str, asyncio.Future[Frame]] = {}

    async def write(self, frame: Frame) -> None:
        """Send one frame."""
        await self._send({"type": "websocket.send", "bytes": encode_frame(frame)})

    async def close(self) -> None:
        """Drop the connection as the platform does when it moves clients about."""
        await self._send({"type": "websocket.close", "code": 1012})


class SimulatorApp:
    """The ASGI application."""

    def __init__(self, platform: Platform) -> None:
        """Serve one platform."""
        self.platform = platform
        self.faults = Faults()
        self.calls: list[LoggedCall] = []
        self.connections: list[Connection] = []
        self.changed = asyncio.Condition()  # connections came or went, or a call was logged
        self.tampers: dict[str, Callable[[Json], Json]] = {}  # by operation: what becomes of an answer on its way
        self.base_url = ""
        self.client_config: Json = {
            "ReconnectCount": -1,
            "ReconnectInterval": 1,
            "ReconnectNonce": 0,
            "PingInterval": 120,
        }
        self._routes = self._table()
        self._tickets: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call or one long connection."""
        if scope["type"] == "websocket":
            await self._serve_connection(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve_call(scope, receive, send)

    def _table(self) -> list[tuple[str, re.Pattern[str], str, Callable[[re.Match[str], dict[str, str], bytes], Json]]]:
        """Name every operation of the API that we use: method, path, name, what it does."""
        platform = self.platform
        api = "/open-apis"
        return [
            (
                "POST",
                re.compile(f"{api}/auth/v3/tenant_access_token/internal"),
                "token",
                lambda _, __, body: platform.issue_token(body),
            ),
            ("POST", re.compile(f"{api}/im/v1/messages"), "send", lambda _, query, body: platform.send(query, body)),
            ("GET", re.compile(f"{api}/im/v1/messages/([^/]+)"), "get_message", lambda m, _, __: platform.get(m[1])),
            (
                "PATCH",
                re.compile(f"{api}/im/v1/messages/([^/]+)"),
                "patch",
                lambda m, _, body: platform.patch(m[1], body),
            ),
            (
                "POST",
                re.compile(f"{api}/im/v1/messages/([^/]+)/reply"),
                "reply",
                lambda m, _, body: platform.reply(m[1], body),
            ),
            (
                "GET",
                re.compile(f"{api}/contact/v3/group/([^/]+)/member/simplelist"),
                "list_group",
                lambda m, query, _: platform.list_group(m[1], query),
            ),
            (
                "GET",
                re.compile(f"{api}/contact/v3/users/find_by_department"),
                "list_department",
                lambda _, query, __: platform.list_department(query),
            ),
            (
                "POST",
                re.compile(f"{api}/contact/v3/users/batch_get_id"),
                "batch_get_id",
                lambda _, query, body: platform.batch_get_id(query, body),
            ),
            (
                "GET",
                re.compile(f"{api}/contact/v3/users/batch"),
                "list_users",
                lambda _, query, __: platform.list_users(query),
            ),
            (
                "GET",
                re.compile(f"{api}/contact/v3/users/([^/]+)"),
                "get_user",
                lambda m, query, _: platform.get_user(m[1], query),
            ),
            (
                "GET",
                re.compile(f"{api}/im/v1/chats/([^/]+)/members/is_in_chat"),
                "is_in_chat",
                lambda m, _, __: platform.is_in_chat(m[1]),
            ),
            *((verb, re.compile("/elsewhere"), "elsewhere", lambda _, __, ___: Json()) for verb in ("GET", "POST")),
            ("POST", re.compile("/callback/ws/endpoint"), "endpoint", lambda _, __, body: self._endpoint(body)),
        ]

    # --- HTTP ---------------------------------------------------------------------------------------------------------

    async def _serve_call(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _read_body(receive)
        path, method = unquote(str(scope["path"])), str(scope["method"])
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        query: dict[str, str] = {}
        for name, value in parse_qsl(bytes(scope["query_string"]).decode("latin-1")):
            query[name] = f"{query[name]},{value}" if name in query else value  # a list is a name that is repeated
        for wanted, pattern, operation, act in self._routes:
            match = pattern.fullmatch(path)
            if match is None or wanted != method:
                continue
            await self._log(
                LoggedCall(
                    operation=operation,
                    method=method,
                    path=path,
                    query=query,
                    body=body,
                    authorised="authorization" in headers,
                )
            )
            fault = self.faults.take(operation)
            if fault is Fault.HANG:
                await self.faults.hang()
            answer = self._answer(operation, fault, headers, lambda: act(match, query, body))  # noqa: B023 # called at once
            if fault is Fault.RESET:
                await _reset(receive)
                return
            await _respond(send, *answer)
            return
        await _respond(send, 404, b"404 page not found", {"content-type": "text/plain"})

    async def _log(self, call: LoggedCall) -> None:
        self.calls.append(call)
        async with self.changed:
            self.changed.notify_all()

    def _answer(
        self, operation: str, fault: Fault | None, headers: Mapping[str, str], act: Callable[[], Json]
    ) -> tuple[int, bytes, dict[str, str]]:
        html = (502, b"<html><body>502 Bad Gateway</body></html>", {"content-type": "text/html"})
        if fault is Fault.SERVER_ERROR:
            return html
        if fault is Fault.REDIRECT:
            body = json.dumps({"code": 0, "msg": "moved"}).encode()
            return 307, body, {"content-type": "application/json", "location": f"{self.base_url}/elsewhere"}
        if fault is Fault.GARBAGE:
            return 200, b'{"unexpected": true}', {"content-type": "application/json"}
        if fault is Fault.TOKEN_REVOKED:
            self.platform.revoke_tokens()
        try:
            if operation not in {"token", "endpoint"}:
                self.platform.authorise(headers.get("authorization"))
            _fail(fault)
            fields = act()
        except ApiFaultError as error:
            body = {"code": error.code, "msg": error.msg, "error": {"log_id": "20260301100000ABCDEF"}}
            return (
                error.status,
                json.dumps(body).encode(),
                {"content-type": "application/json; charset=utf-8"} | error.headers,
            )
        if fault in {Fault.UNSHOWN, Fault.SHOWN_TWICE}:
            self.platform.show_else(str(fields.get("message_id")), twice=fault is Fault.SHOWN_TWICE)
        if fault is Fault.SERVER_ERROR_AFTER:
            return html
        # The token endpoint answers flat, everything else under `data`.
        answered: Json = fields if operation == "token" else {"data": fields}
        content: Json = {"code": 0, "msg": "ok", **answered}
        content = self.tampers.get(operation, lambda whole: whole)(content)
        return (
            200,
            json.dumps(content, ensure_ascii=False).encode(),
            {"content-type": "application/json; charset=utf-8"},
        )

    # --- the long connection ------------------------------------------------------------------------------------------

    def _endpoint(self, body: bytes) -> Json:
        fields = cast("Json", json.loads(body))
        self.platform.check_credentials(fields, "AppID", "AppSecret")
        ticket = self.platform.new_id("ticket")
        self._tickets.add(ticket)
        origin = self.base_url.replace("http", "ws", 1)
        url = f"{origin}/callback/ws?device_id={ticket}&service_id=7&ticket={ticket}"
        return {"URL": url, "ClientConfig": self.client_config}

    async def _serve_connection(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        query = dict(parse_qsl(bytes(scope["query_string"]).decode("latin-1")))
        if query.get("ticket") not in self._tickets:
            await send({"type": "websocket.close", "code": 1008})
            return
        self._tickets.discard(query["ticket"])  # one ticket opens one connection
        await send({"type": "websocket.accept"})
        connection = Connection(send)
        await self._note(connection, joined=True)
        try:
            while True:
                event = await receive()
                if event["type"] == "websocket.disconnect":
                    return
                await self._read(connection, decode_frame(event["bytes"]))
        finally:
            await self._note(connection, joined=False)

    async def _note(self, connection: Connection, *, joined: bool) -> None:
        if joined:
            self.connections.append(connection)
        else:
            self.connections.remove(connection)
            for reply in connection.replies.values():
                reply.set_exception(ConnectionResetError("the gateway closed its connection"))
        async with self.changed:
            self.changed.notify_all()

    async def _read(self, connection: Connection, frame: Frame) -> None:
        kind = frame.headers.get("type", "")
        if frame.method == CONTROL and kind == "ping":
            pong = json.dumps(self.client_config).encode()
            await connection.write(Frame(method=CONTROL, service=frame.service, headers={"type": "pong"}, payload=pong))
        elif frame.method == DATA:
            reply = connection.replies.pop(frame.headers.get("message_id", ""), None)
            if reply is not None and not reply.done():
                reply.set_result(frame)


def _fail(fault: Fault | None) -> None:
    match fault:
        case Fault.RATE_LIMITED:
            headers = {"x-ogw-ratelimit-limit": "100", "x-ogw-ratelimit-reset": str(RESET_SECONDS)}
            raise ApiFaultError(99991400, "request trigger frequency limit", status=429, headers=headers)
        case Fault.CHAT_RATE:
            raise ApiFaultError(230020, "This operation triggers the frequency limit.")
        case Fault.REFUSED:
            raise ApiFaultError(230002, "Bot/User can NOT be out of the chat.")
        case Fault.BUSY:
            raise ApiFaultError(230049, "The message is being sent.")
        case Fault.LOCKED:
            raise ApiFaultError(
                230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card action is lock; "
            )
        case _:
            return


async def _read_body(receive: Receive) -> bytes:
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            return body


async def _respond(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    pairs += [(b"content-length", str(len(body)).encode()), (b"x-tt-logid", b"20260301100000ABCDEF")]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


async def _reset(receive: Receive) -> None:
    """Break the connection under an open call: ASGI has no word for it, so uvicorn's own transport is reached for."""
    cycle = getattr(receive, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if transport is None:
        raise TypeError("a reset needs uvicorn's transport")
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
