"""The stand-in's HTTP and WebSocket front: a bare ASGI application, and a uvicorn that serves it on loopback.

GET|POST /api/{method}              the Web API; arguments as JSON, form or query alike
GET      /scim/v1/Users/{id}        the directory, with a token of its own
POST     /actions/{team}/{n}/{key}  a response_url
WS       /link?ticket=…             Socket Mode
any      /elsewhere                 where a redirect leads: it records whether a token came along
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self, cast
from urllib.parse import parse_qsl

import uvicorn

from channels.loopback import LoopbackServer
from channels.slack.simulator import rotation, scim
from channels.slack.simulator.api import call_method
from channels.slack.simulator.blocks import BlocksRefusedError, check_blocks
from channels.slack.simulator.state import ApiCall, Fault, Note

if TYPE_CHECKING:
    from channels.slack.simulator.state import World

Scope = MutableMapping[str, Any]  # pyright: ignore[reportExplicitAny] - the ASGI specification's own type
Event = MutableMapping[str, Any]  # pyright: ignore[reportExplicitAny] - the ASGI specification's own type
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

_SHOWN_ELSE: Final = frozenset({Fault.UNSHOWN, Fault.SHOWN_TWICE})
_DONE_FIRST: Final = _SHOWN_ELSE | {Fault.FATAL_AFTER_STORE, Fault.RESET_AFTER_RECEIVE, Fault.BROKEN_JSON}
_UNSHOWN: Final = frozenset({"refresh_token", "client_secret"})
_HTML: Final = b"<html><body><h1>500</h1>Something went wrong.</body></html>"
_BROKEN: Final[dict[Fault, tuple[int, dict[str, object] | str | bytes, dict[str, str]]]] = {
    Fault.SERVER_ERROR: (500, _HTML, {"content-type": "text/html"}),
    Fault.UNAVAILABLE: (503, "upstream connect error", {}),
    Fault.FATAL_AFTER_STORE: (200, {"ok": False, "error": "fatal_error"}, {}),
    Fault.BROKEN_JSON: (200, b'{"ok": tr', {"content-type": "application/json"}),
    Fault.PLAIN_TEXT: (200, "ok", {}),
}


class Front:
    """The ASGI application. `on_socket` is given each Socket Mode connection and keeps it until it ends."""

    def __init__(self, world: World, on_socket: Callable[[Receive, Send], Awaitable[None]]) -> None:
        """Serve this world; `public_url` is set by whoever serves the application."""
        self.world = world
        self.public_url = ""
        self.rotation: rotation.Rotation | None = None  # of an app whose tokens rotate
        self.drop: Callable[[tuple[str, int]], None] | None = None  # how the server drops a client's connection
        self._on_socket = on_socket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or hold one WebSocket."""
        path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
        query = dict(parse_qsl(cast("bytes", scope.get("query_string", b"")).decode("ascii")))
        if scope["type"] == "websocket":
            await self._socket(path, query, receive, send)
        elif scope["type"] == "http":
            body = await _body(receive)
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            match path.strip("/").split("/"):
                case ["api", method]:
                    await self._api(scope, method, _arguments(headers, query, body), headers, send)
                case ["scim", "v1", "Users", user] if scope["method"] == "GET":
                    await self._directory(scope, user, headers, send)
                case ["actions", *_]:
                    await self._reply(path, body, send)
                case ["moved"]:
                    await _respond(send, 302, "", {"location": f"{self.public_url}/elsewhere"})
                case ["elsewhere"]:
                    self.world.calls.append(_log("elsewhere", {}, headers))
                    await _respond(send, 200, {"ok": True})
                case _:
                    await _respond(send, 404, "no such page")

    async def _api(
        self, scope: Scope, method: str, arguments: dict[str, object], headers: dict[str, str], send: Send
    ) -> None:
        world = self.world
        world.calls.append(_log(method, arguments, headers))
        token = headers.get("authorization", "").removeprefix("Bearer ")
        fault = world.take_fault(method)
        answer: dict[str, object] = {"ok": False, "error": "restricted_action"}
        if fault is None or fault in _DONE_FIRST:
            if self._too_fast(method, arguments):
                world.refused_for_rate += 1
                await _rate_limited(send, max(1, world.holds_for))
                return
            if method == rotation.METHOD and self.rotation is not None:
                answer = self.rotation.exchange(world, token, arguments)
            else:
                answer = call_method(world, method, token, arguments)
            if "ticket" in answer:
                answer["url"] = f"ws{self.public_url.removeprefix('http')}/link?ticket={answer.pop('ticket')}"
        if fault in _SHOWN_ELSE:
            world.show_else(answer, twice=fault is Fault.SHOWN_TWICE)
        answer = world.tampers.get(method, lambda whole: whole)(answer)
        if method in world.late:
            await world.late[method].wait()
        known = world.tokens.get(token)
        scopes = {"x-oauth-scopes": ",".join(sorted(known.scopes))} if known else {}
        await self._carry_out(fault, answer, scope, scopes, send)

    async def _directory(self, scope: Scope, user: str, headers: dict[str, str], send: Send) -> None:
        world = self.world
        world.calls.append(_log(scim.METHOD, {"user": user}, headers))
        status, answer = scim.read_user(world, headers.get("authorization", "").removeprefix("Bearer "), user)
        answer = world.tampers.get(scim.METHOD, lambda whole: whole)(answer)
        fault = world.take_fault(scim.METHOD)
        if fault is None:
            await _respond(send, status, answer)
        else:
            await self._carry_out(fault, answer, scope, {}, send)

    async def _carry_out(
        self, fault: Fault | None, answer: dict[str, object], scope: Scope, headers: dict[str, str], send: Send
    ) -> None:
        match fault:
            case None | Fault.REFUSED | Fault.UNSHOWN | Fault.SHOWN_TWICE:
                await _respond(send, 200, answer, headers)
            case Fault.REDIRECT:
                await _respond(send, 307, "", {"location": f"{self.public_url}/elsewhere"})
            case Fault.HANG:
                await self.world.closing.wait()
                await _respond(send, 503, "closing")
            case Fault.RESET_BEFORE | Fault.RESET_AFTER_RECEIVE:
                await self._reset(scope, send)
            case Fault.RATE_LIMITED:
                await _rate_limited(send, 7)
            case _:
                status, body, more = _BROKEN[fault]
                await _respond(send, status, body, more)

    async def _reset(self, scope: Scope, send: Send) -> None:
        if self.drop is not None:
            self.drop(cast("tuple[str, int]", tuple(scope["client"])))
        else:  # served by somebody else: break the answer off, which closes the connection as well
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})

    def _too_fast(self, method: str, arguments: dict[str, object]) -> bool:
        room = self.world.rooms.get(str(arguments.get("channel", "")))
        if not self.world.limits_rate or method != "chat.postMessage" or room is None:
            return False
        now = self.world.clock.now()
        if now < self.world.held_until.get(room.id, now):
            return True
        too_fast = any((now - message.posted_at).total_seconds() < 1 for message in room.messages.values())
        if too_fast:
            self.world.held_until[room.id] = now + timedelta(seconds=self.world.holds_for)
        return too_fast

    async def _reply(self, path: str, body: bytes, send: Send) -> None:
        """Take a post to a response_url: an ephemeral note, or a replaced message."""
        right = self.world.reply_rights.get(path)
        if right is None or right.uses_left == 0 or self.world.clock.now() > right.until:
            await _respond(send, 404, "used_url" if right else "no such url")
            return
        right.uses_left -= 1
        try:
            note = cast("dict[str, object]", json.loads(body))
            blocks = cast("list[dict[str, object]]", note.get("blocks", []))
            if blocks:
                check_blocks(blocks)
        except (ValueError, BlocksRefusedError):
            await _respond(send, 400, {"ok": False, "error": "invalid_payload"})
            return
        if note.get("response_type") != "ephemeral" or note.get("replace_original") is not False:
            await _respond(send, 400, {"ok": False, "error": "this stand-in knows ephemeral notes only"})
            return
        room = self.world.rooms[right.room]
        room.notes.append(Note(user=right.user, text=str(note.get("text", "")), blocks=blocks))
        await _respond(send, 200, "ok")

    async def _socket(self, path: str, query: dict[str, str], receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        ticket = query.get("ticket", "")
        refused = self.world.refuse_sockets > 0
        self.world.refuse_sockets -= refused
        if refused or path != "/link" or ticket not in self.world.tickets:
            await send({"type": "websocket.close", "code": 1008})
            return
        self.world.tickets.discard(ticket)
        await send({"type": "websocket.accept"})
        await self._on_socket(receive, send)


class Serving:
    """Serves an application on a free port of 127.0.0.1, in this process, on this loop. An async context manager."""

    def __init__(self, front: Front) -> None:
        """Bind nothing yet."""
        self._front = front
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Bind, and return once connections are taken."""
        listener = socket.create_server(("127.0.0.1", 0))
        self._front.public_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = _Server(
            uvicorn.Config(
                self._front,
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                ws="websockets-sansio",
                timeout_graceful_shutdown=2,
            )
        )
        self._front.drop = server.drop
        group = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._stack.push_async_callback(self._stop, server)
        group.create_task(server.serve(sockets=[listener]))
        await server.listening.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving; hanging calls are let go first."""
        await self._stack.aclose()

    async def _stop(self, server: _Server) -> None:
        self._front.world.closing.set()
        server.stopping.set()


class _Server(LoopbackServer):
    """A server that can drop a connection."""

    def drop(self, client: tuple[str, int]) -> None:
        for connection in list(self.server_state.connections):
            transport = cast("asyncio.Transport | None", getattr(connection, "transport", None))
            if transport is not None and transport.get_extra_info("peername") == client:
                transport.abort()


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        event = await receive()
        body += cast("bytes", event.get("body", b""))
        if not event.get("more_body", False):
            return body


def _arguments(headers: dict[str, str], query: dict[str, str], body: bytes) -> dict[str, object]:
    merged: dict[str, object] = dict(query)
    kind = headers.get("content-type", "")
    if kind.startswith("application/json") and body:
        try:
            parsed = cast("object", json.loads(body))
        except ValueError:
            return {"(invalid_json)": True}
        merged |= cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {"(json_not_object)": True}
    elif body:
        merged |= dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return merged


def _log(method: str, arguments: dict[str, object], headers: dict[str, str]) -> ApiCall:
    shown = {name: value for name, value in arguments.items() if name not in _UNSHOWN}
    return ApiCall(method=method, arguments=shown, authorized="authorization" in headers)


async def _rate_limited(send: Send, seconds: int) -> None:
    await _respond(send, 429, {"ok": False, "error": "ratelimited"}, {"retry-after": str(seconds)})


async def _respond(
    send: Send, status: int, body: dict[str, object] | str | bytes, headers: dict[str, str] | None = None
) -> None:
    match body:
        case dict():
            raw, kind = json.dumps(body, ensure_ascii=False).encode(), "application/json; charset=utf-8"
        case str():
            raw, kind = body.encode(), "text/plain; charset=utf-8"
        case bytes():
            raw, kind = body, "application/octet-stream"
    told = {"content-type": kind, "content-length": str(len(raw)), **(headers or {})}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": raw})
