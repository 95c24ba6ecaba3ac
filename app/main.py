"""The web application: routes around a container."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from fastapi import FastAPI
from starlette.responses import JSONResponse

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

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from app.container import Container

log = structlog.get_logger(__name__)

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


class _Measure:
    """Count answers by route, and bind nothing to the request: a plain ASGI layer costs no task a call."""

    def __init__(self, app: ASGIApp, *, container: Container) -> None:
        self._app = app
        self._telemetry = container.telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, watch)
        if b"wait=" not in scope.get("query_string", b""):
            route = scope.get("route")
            self._telemetry.answered(getattr(route, "path", "unmatched"), status, time.perf_counter() - started)
