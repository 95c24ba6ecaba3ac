"""The web application: routes around a container."""

from __future__ import annotations

import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from fastapi import FastAPI
from starlette.responses import JSONResponse
from structlog.contextvars import bind_contextvars

from app.api.agents import moments
from app.api.agents.hooks import hooks_router
from app.api.agents.requests import requests_router
from app.api.approver import break_glass, consulting, factors, lifting
from app.api.approver import standing_approvals as standing
from app.api.approver.break_glass import break_glass_router
from app.api.approver.consulting import consulting_router
from app.api.approver.factors import factors_router
from app.api.approver.lifting import lifting_router
from app.api.approver.reconciling import reconciling_router
from app.api.approver.standing_approvals import standing_router
from app.api.operator import switches
from app.api.operator.administration import administration_router
from app.api.operator.callbacks import callbacks_router
from app.api.operator.health import health_router
from app.api.operator.payees import payees_router
from app.api.operator.switches import switches_router
from app.api.operator.trail import trail_router
from app.api.pages.review import review_router
from app.api.wire import schemas
from app.api.wire.problems import install
from app.telemetry.logs import log_act

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from fastapi.telemetry import TelemetryConfig
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from app.container import Container

log = structlog.get_logger(__name__)

_UNTOLD: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""The framework's own spans and logs are off: they repeat what came in and what errors say. Ours hold no argument."""

_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})

_BODIES = (
    schemas.Submission,
    *moments.BODIES,
    moments.ModelRequestBody,
    schemas.Decision,
    schemas.ClaimBody,
    schemas.OutcomeBody,
    schemas.ReconcileBody,
    schemas.CancelBody,
    *lifting.BODIES,
    *consulting.BODIES,
    *factors.BODIES,
    *standing.BODIES,
    *break_glass.BODIES,
    schemas.NewKeyBody,
    schemas.ReadOnlyBody,
    *switches.BODIES,
    schemas.PayeeBody,
    schemas.ProblemView,
)


def create_app(container: Container) -> FastAPI:
    """Build the application. The container is opened when the application starts, and closed when it stops."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with container:
            log.info("gateway.ready", orgs=list(container.book.orgs()))
            yield

    app = FastAPI(
        title="Assent",
        version="1",
        summary="A durable human-in-the-loop approval gateway for AI agents.",
        lifespan=lifespan,
        telemetry=_UNTOLD,
        openapi_url=None,  # and so no pages of the framework, whose scripts would come from strangers
    )
    install(app)
    app.state.services = container.services  # for what is not a route: the answers to errors
    routers = (
        requests_router(container.services),
        reconciling_router(container.services),
        lifting_router(container.services),
        review_router(container.services),
        consulting_router(container.services),
        hooks_router(container.services),
        callbacks_router(container.services),
        trail_router(container.services),
        administration_router(container.services),
        switches_router(container.services),
        factors_router(container.services),
        payees_router(container.services),
        standing_router(container.services),
        break_glass_router(container.services),
        health_router(container.services),
    )
    # Not include_router: its lazy wrapper is walked on every call. Ours go first: routes are tried in their order.
    app.router.routes[:0] = [route for router in routers for route in router.routes]
    _describe_bodies(app)

    async def describe(request: Request) -> Response:
        container.services.access.to_operations(request)
        return JSONResponse(app.openapi())

    app.add_route("/openapi.json", describe, include_in_schema=False)
    app.add_middleware(_Measure, container=container)
    return app


def _describe_bodies(app: FastAPI) -> None:
    """Put the models of bodies, which routes read themselves, into OpenAPI."""
    plain = app.openapi

    def openapi() -> dict[str, object]:
        if app.openapi_schema:
            return app.openapi_schema
        document = plain()
        known = document.setdefault("components", {}).setdefault("schemas", {})
        for body in _BODIES:
            schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
            known.update(schema.pop("$defs", {}))  # the models within it
            known[body.__name__] = schema
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        return document

    app.openapi = openapi  # pyright: ignore[reportAttributeAccessIssue] - the documented way to extend it


_CALL_ID = re.compile(rb"[\w.:-]{1,64}", re.ASCII)
_TRACE = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context, version 00


class _Measure:
    """Name a call, count its answer by route, and say in one line who did what; as plain ASGI, which costs no task.

    A call keeps the `X-Request-Id` that it came with, or gets one; the answer has it, and so has every line of the log.
    """

    def __init__(self, app: ASGIApp, *, container: Container) -> None:
        self._app = app
        self._container = container
        self._telemetry = container.telemetry
        self._ids = container.ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif (spans := self._container.spans) is None or not spans.serves(scope["path"]):
            await self._serve(scope, receive, send)
        else:
            with spans.served(scope["method"], scope["headers"]) as span:
                route, status = await self._serve(scope, receive, send, trace=spans.trace_id(span))
                spans.answered(span, scope["method"], route, status)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, *, trace: str | None = None) -> tuple[str, int]:
        """Serve a call; return its route, and the status that it was answered with."""
        started = time.perf_counter()
        status = 500
        call_id, named = self._names(scope["headers"])
        trace = trace or named
        bind_contextvars(call=call_id, trace=trace) if trace else bind_contextvars(call=call_id)

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", call_id.encode())]
            await send(message)

        await self._app(scope, receive, watch)
        seconds = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "unmatched")
        state = scope.get("state", {})
        query = scope.get("query_string", b"")
        if b"wait=" not in query and "held" not in state:
            self._telemetry.answered(route, status, seconds)
        if scope["method"] not in _LOOKING or b"claim_id=" in query:
            key = state.get("key")
            log_act(
                "call.answered",
                method=scope["method"],
                route=route,
                status=status,
                ms=round(seconds * 1000, 1),
                org=key and key.org,
                actor=key and key.holder,
                request=state.get("request_id") or scope.get("path_params", {}).get("request_id"),
                call=call_id,
                trace=trace,
            )
        return route, status

    def _names(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, str | None]:
        """Return the call's id and the trace that it is part of, as far as the caller named them well."""
        call_id = trace = None
        for name, value in headers:
            if name == b"x-request-id" and _CALL_ID.fullmatch(value):
                call_id = value.decode()
            elif name == b"traceparent" and (match := _TRACE.fullmatch(value)):
                trace = match[1].decode()
        return call_id or self._ids.new("call"), trace
