"""What every call passes first: it gets a name, is led to its route, is counted, and is told of in one line.

Our own routes are answered without the framework's layers. It answers what is none of them: unknown paths, other
methods, addresses with a slash too many. Errors become the same problem documents (`app.api.wire.problems`).
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from structlog.contextvars import bind_contextvars
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from app.api.intake.connections import write_whole
from app.api.wire.bodies import Answer
from app.api.wire.operations import describe
from app.api.wire.problems import answer_to
from app.api.wire.queries import refuse_illegible
from app.api.wire.routes import PlainRoute
from app.telemetry.logs import log_acts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from app.ports import IdFactory
    from app.telemetry.figures import Telemetry
    from app.telemetry.spans import Spans

_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_PARAMETER = re.compile(r"\{(\w+)\}", re.ASCII)
_ENCODED = re.compile(rb"[%\x80-\xff]")  # what has to be decoded in a path or a query: in most there is none of it
_CALL_ID = re.compile(rb"[\w.:-]{1,64}", re.ASCII)
_TRACE = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context, version 00


class Told(Protocol):
    """Who names calls and is told of them."""

    @property
    def ids(self) -> IdFactory:
        """Names them."""
        ...

    @property
    def telemetry(self) -> Telemetry:
        """Counts them."""
        ...

    @property
    def spans(self) -> Spans | None:
        """Traces them, where the process traces."""
        ...


class Application(Starlette):
    """The framework, behind the front."""

    _front: Front | None = None
    _rest: Callable[[], Iterable[BaseRoute]] | None = None
    _described: dict[str, Any] | None = None

    def stand_behind_front(self, told: Told, *, rest: Callable[[], Iterable[BaseRoute]]) -> None:
        """Put the front before the routes that there are now. `rest` builds more, for the first who wants one."""
        self._direct = Direct(self, self.router.routes)
        self._rest, self._completing = rest, threading.Lock()
        self._front = Front(self._direct, super().__call__, told, self._has_more)

    async def _has_more(self) -> bool:
        """Build the rest of the routes, if there is one."""
        if self._rest is None:
            return False
        await asyncio.to_thread(self.complete)
        return True

    def complete(self) -> None:
        """Have all routes, if some are not built yet. It takes a tenth of a second: not for the event loop."""
        with self._completing:
            if self._rest is not None:
                routes = list(self._rest())
                self.router.routes.extend(routes)
                self._direct.add(routes)
                self._rest = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a call."""
        await (self._front or super().__call__)(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return what our routes are to OpenAPI, worked out when somebody asks for the first time."""
        if self._described is None:
            self._described = describe([route for route in self.routes if isinstance(route, PlainRoute)])
        return self._described


class Front:
    """Stands before everything, as plain ASGI, which costs no task.

    A call keeps the `X-Request-Id` that it came with, or gets one; the answer has it, and so has every line of the log.
    """

    def __init__(self, direct: Direct, framework: ASGIApp, told: Told, has_more: Callable[[], Awaitable[bool]]) -> None:
        """Take our own routes, and what answers everything else; `has_more` says if routes came that were not there."""
        self._direct = direct
        self._framework = framework
        self._told = told
        self._has_more = has_more
        self._answered: list[tuple[str, Mapping[str, object]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call of HTTP; whatever else it is goes on as it is."""
        if scope["type"] != "http":
            await self._framework(scope, receive, send)
        elif (spans := self._told.spans) is None or not spans.serves(scope["path"]):
            await self._serve(scope, receive, send)
        else:
            with spans.served(scope["method"], scope["headers"]) as span:
                route, status = await self._serve(scope, receive, send, trace=spans.trace_id(span))
                spans.answered(span, scope["method"], route, status)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, *, trace: str | None = None) -> tuple[str, int]:
        """Serve a call; return its route, and the status that it was answered with."""
        started = time.perf_counter()
        call_id, named = self._names(scope["headers"])
        trace = trace or named
        bind_contextvars(call=call_id, trace=trace) if trace else bind_contextvars(call=call_id)
        sending = _Sending(send, call_id)
        found = self._direct.find(scope)
        if found is None and await self._has_more():
            found = self._direct.find(scope)
        try:
            if found is None:
                await self._framework(scope, receive, sending)
            else:
                await self._direct.serve(found, scope, receive, sending)
        finally:
            route = self._count(scope, sending.status, time.perf_counter() - started, call_id, trace)
        return route, sending.status

    def _count(self, scope: Scope, status: int, seconds: float, call_id: str, trace: str | None) -> str:
        route = getattr(scope.get("route"), "path", "unmatched")
        state, query = scope.get("state", {}), scope.get("query_string", b"")
        if b"wait=" not in query and "held" not in state:
            self._told.telemetry.answers[route, status].observe(seconds)
        if scope["method"] not in _LOOKING or b"claim_id=" in query:
            key = state.get("key")
            self._log(
                {
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "ms": round(seconds * 1000, 1),
                    "org": key and key.org,
                    "actor": key and key.holder,
                    "request": state.get("request_id") or scope.get("path_params", {}).get("request_id"),
                    "call": call_id,
                    "trace": trace,
                }
            )
        return route

    def _log(self, facts: Mapping[str, object]) -> None:
        """Log an answer together with the others of this turn of the loop: a commit wakes many callers at once."""
        self._answered.append(("call.answered", facts))
        if len(self._answered) == 1:
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        answered, self._answered = self._answered, []
        log_acts(answered)

    def _names(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, str | None]:
        """Return the call's id and the trace that it is part of, as far as the caller named them well."""
        call_id = trace = None
        for name, value in headers:
            if name == b"x-request-id" and _CALL_ID.fullmatch(value):
                call_id = value.decode()
            elif name == b"traceparent" and (match := _TRACE.fullmatch(value)):
                trace = match[1].decode()
        return call_id or self._told.ids.new("call"), trace


class _Sending:
    """Sends the answer to a call: with the call's name in its head, and its status noted."""

    __slots__ = ("_named", "_send", "status")

    def __init__(self, send: Send, call_id: str) -> None:
        self._send = send
        self._named = (b"x-request-id", call_id.encode())
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), self._named]
        await self._send(message)

    def write_whole(self, answer: Answer) -> bool:
        """Write an answer in one go; return whether it was, which only uvicorn's own connections can do."""
        cycle = getattr(self._send, "__self__", None)
        if not isinstance(cycle, RequestResponseCycle):  # or somebody stands in between, to see what is sent
            return False
        self.status = answer.status_code
        return write_whole(cycle, answer.status_code, [*answer.raw_headers, self._named], answer.body)


def answered_by(route: PlainRoute) -> set[str]:
    """Return the methods that a route answers."""
    return {*(route.methods or ()), *(("HEAD",) if route.head else ())}


class _Way(NamedTuple):
    """A route with parameters, by the steps of its path."""

    fixed: Callable[[Sequence[str]], object]
    """Takes those steps out of a path for which no parameter stands: one call, where a look at each would be many."""
    wanted: object
    """What they must be."""
    places: list[tuple[str, int]]
    route: PlainRoute


class Direct:
    """Finds our routes by method and path, and serves them."""

    def __init__(self, app: Starlette, routes: Iterable[BaseRoute]) -> None:
        """Take the routes in the order in which they are tried; those that are no `PlainRoute` are left alone."""
        self._app = app
        self._fixed: dict[tuple[str, str], PlainRoute] = {}
        self._open: dict[tuple[str, int], list[_Way]] = {}
        self.add(routes)

    def add(self, routes: Iterable[BaseRoute]) -> None:
        """Take more, which are tried after those that there are."""
        for route in routes:
            if not isinstance(route, PlainRoute):
                continue
            steps = route.path_format.split("/")
            names = [name for step in steps for name in _PARAMETER.findall(step)]
            places = [at for at, step in enumerate(steps) if _PARAMETER.fullmatch(step)]
            if len(places) != len(names):
                continue  # a parameter within a step, or of a type: the framework knows how
            fixed = itemgetter(*[at for at in range(len(steps)) if at not in places])
            way = _Way(fixed, fixed(steps), list(zip(names, places, strict=True)), route)
            for method in answered_by(route):
                if names:
                    self._open.setdefault((method, len(steps)), []).append(way)
                else:
                    self._fixed.setdefault((method, route.path), route)

    def find(self, scope: Scope) -> PlainRoute | None:
        """Return the route of a call, and put it into the scope with the path's parameters; None: ask the framework."""
        method, path = scope["method"], scope["path"]
        route, parameters = self._fixed.get((method, path)), {}
        if route is None:
            route, parameters = self._lead(method, path.split("/"))
        if route is None or scope.get("root_path"):
            return None
        scope["app"], scope["route"], scope["path_params"] = self._app, route, parameters
        return route

    def _lead(self, method: str, steps: list[str]) -> tuple[PlainRoute | None, dict[str, str]]:
        for fixed, wanted, places, route in self._open.get((method, len(steps)), ()):
            if fixed(steps) == wanted:
                parameters = {name: steps[at] for name, at in places}
                if "" not in parameters.values():
                    return route, parameters
        return None, {}

    async def serve(self, route: PlainRoute, scope: Scope, receive: Receive, send: _Sending) -> None:
        """Answer a call of a route that was found. What is no error of ours is answered, and raised again."""
        request = Request(scope, receive, send)
        try:
            if _ENCODED.search(scope.get("raw_path") or b"") or _ENCODED.search(scope["query_string"]):
                refuse_illegible(request)
            response = await route.endpoint(request=request, **scope["path_params"])
        except Exception as error:
            response, is_known = await answer_to(request, error)
            await response(scope, receive, send)
            if not is_known:
                raise
            error.__traceback__ = None  # of an error that is raised again and again it would only grow
            return
        if type(response) is not Answer or not send.write_whole(response):
            await response(scope, receive, send)
