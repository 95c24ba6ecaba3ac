"""The few messages of MCP that a server of three tools needs, in both generations of the protocol."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, cast

import anyio

from assent.client.log import warn
from assent.proxy import wording
from assent.proxy.asking.tools import TOOLS, BadArgumentsError
from assent.proxy.calls import MOST_OPEN, TICK
from assent.proxy.lines import lines
from assent.proxy.reading import Line, UnreadableError, asks, id_in, id_of, written

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from assent.proxy.asking.tools import Asking
    from assent.proxy.lines import Receive
    from assent.proxy.reading import Id, Object

    Send = Callable[[bytes], Awaitable[None]]

_HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_MODERN = "2026-07-28"
_INFO = {"name": "assent", "title": "Assent: approvals by people", "version": "1"}
_STAMP = {"io.modelcontextprotocol/serverInfo": _INFO}
_NO_METHOD, _BAD_PARAMS = -32601, -32602
_CLOSED = "Not approved: the approval gate was ended before people had decided."
_INSTRUCTIONS = (
    "Ask people with request_approval before you do what cannot be undone. It advises: it keeps you from nothing."
)


class AskingServer:
    """One client on a pair of pipes; each call is a task, and none a thread."""

    def __init__(self, asking: Asking, group: TaskGroup, send: Send) -> None:
        self._asking = asking
        self._group = group
        self._send = send
        self._open: dict[Id, anyio.CancelScope] = {}

    async def heard(self, raw: bytes | None) -> None:
        """Answer a line, or begin to."""
        if raw is not None and not raw.strip():
            return
        try:
            line = Line(raw)
            if line.doubled:
                raise UnreadableError("a member stands twice")  # noqa: TRY301 - as the others are
        except UnreadableError as fault:
            named = id_in(raw)
            await self._say(wording.error(None if named in self._open else named, wording.NOT_READ, f"{fault}"))
            return
        for message in line.messages:
            await self._message(message)

    async def _message(self, message: Object) -> None:
        if not asks(message):
            return
        call_id, method = id_of(message), message["method"]
        told = message.get("params")
        params = cast("Object", told) if isinstance(told, dict) else {}
        if call_id is None:
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            return
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                version = wanted if wanted in _HANDSHAKES else _HANDSHAKES[0]
                about: Object = {"protocolVersion": version, "serverInfo": _INFO, "instructions": _INSTRUCTIONS}
                await self._say(wording.result(call_id, {**about, "capabilities": {"tools": {}}}))
            case "server/discover":
                about = {"supportedVersions": [_MODERN], "capabilities": {"tools": {}}, "instructions": _INSTRUCTIONS}
                await self._say(wording.result(call_id, {**about, **_kept(3_600_000)}))
            case "ping":
                await self._say(wording.result(call_id, {}))
            case "tools/list":
                await self._say(wording.result(call_id, {"tools": TOOLS, **_kept(3_600_000)}))
            case "tools/call":
                await self._called(call_id, params)
            case _:
                await self._say(wording.error(call_id, _NO_METHOD, f"there is no method {method!r:.100}"))

    async def _called(self, call_id: Id, params: Object) -> None:
        tool = params.get("name")
        arguments: Any = params.get("arguments") or {}
        if not isinstance(tool, str) or not isinstance(arguments, dict):
            await self._say(wording.error(call_id, _BAD_PARAMS, "a call needs a name, and an object of arguments"))
        elif call_id in self._open or len(self._open) >= MOST_OPEN:
            await self._say(wording.error(call_id, wording.INVALID_REQUEST, "this id is open, or too many are"))
        else:
            self._open[call_id] = anyio.CancelScope()
            self._group.start_soon(self._carried_out, call_id, tool, cast("Object", arguments), _token(params))

    async def _carried_out(self, call_id: Id, tool: str, arguments: Object, token: Any) -> None:
        answer: Object | None = None
        scope = self._open[call_id]
        try:
            async with anyio.create_task_group() as group:
                if token is not None:
                    group.start_soon(self._tick, token, scope)
                with scope:
                    answer = await self._asking.call(tool, arguments)
                group.cancel_scope.cancel()
        except* BadArgumentsError as faults:
            answer = wording.texts(f"Bad arguments: {faults.exceptions[0]}.", failed=True)
        except* Exception as faults:  # noqa: BLE001 - one call must not end the others
            warn("a call of %s failed: %r", tool, faults)
            answer = wording.texts("Not approved: the request could not be made.", failed=True)
        finally:
            del self._open[call_id]
        if answer is not None and not scope.cancel_called:
            await self._say(wording.result(call_id, {**answer, "_meta": _STAMP}))

    async def _tick(self, token: Any, scope: anyio.CancelScope) -> None:
        count = 0
        while True:
            await anyio.sleep(TICK)
            if scope.cancel_called:  # whoever cancelled it wants to hear no more of it
                return
            count += 1
            await self._say(wording.progress(token, count, "this"))

    def _cancel(self, about: Any) -> None:
        scope = self._open.get(about) if isinstance(about, str | int | float) else None
        if scope is not None:
            scope.cancel()

    async def close(self) -> None:
        """End what is open, and say so."""
        open_calls = [(call_id, scope) for call_id, scope in self._open.items() if not scope.cancel_called]
        for _, scope in open_calls:
            scope.cancel()
        for call_id, _ in open_calls:
            await self._say(wording.result(call_id, {**wording.texts(_CLOSED, failed=True), "_meta": _STAMP}))

    async def _say(self, message: Object) -> None:
        await self._send(written(message))


def _kept(milliseconds: int) -> Object:
    return {"resultType": "complete", "cacheScope": "public", "ttlMs": milliseconds, "_meta": _STAMP}


def _token(params: Object) -> str | int | None:
    meta = params.get("_meta")
    found = cast("Object", meta).get("progressToken") if isinstance(meta, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


async def serve_asking(asking: Asking, receive: Receive, send: Send) -> None:
    """Serve one client until it is gone, or a signal ends us.

    What it still waited for, and what it was to look up, is withdrawn.
    """
    over = anyio.Event()
    async with anyio.create_task_group() as group:
        server = AskingServer(asking, group, send)

        async def hear() -> None:
            async for line in lines(receive):
                await server.heard(line)
            over.set()

        async def until_told() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
                async for _ in signals:
                    await server.close()
                    over.set()

        group.start_soon(hear)
        group.start_soon(until_told)
        await over.wait()
        group.cancel_scope.cancel()
    await asking.over()
