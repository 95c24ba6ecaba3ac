"""The web application: routes around a container. The console's pages join them when somebody comes for one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from app.api.agents.evidence import evidence_router
from app.api.agents.hooks import hooks_router
from app.api.agents.requests import requests_router
from app.api.approver.break_glass import break_glass_router
from app.api.approver.consulting import consulting_router
from app.api.approver.factors import factors_router
from app.api.approver.lifting import lifting_router
from app.api.approver.reconciling import reconciling_router
from app.api.approver.review_links import review_links_router
from app.api.approver.standing_approvals import standing_router
from app.api.intake.front import Application, answered_by
from app.api.operator.administration import administration_router
from app.api.operator.callbacks import callbacks_router
from app.api.operator.health import health_router
from app.api.operator.payees import payees_router
from app.api.operator.switches import switches_router
from app.api.operator.trail import trail_router
from app.api.wire.problems import answer_to, install
from app.api.wire.routes import PlainRoute

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from app.container import Container


def create_app(container: Container) -> Application:
    """Build the application. The container is opened when the application starts, and closed when it stops."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with container:
            yield

    app = Application(lifespan=lifespan)
    install(app)

    async def nowhere(request: Request, error: Exception) -> Response:
        from app.console.answers import is_browsing, no_page  # who mistypes an address waits for it

        if is_browsing(request):
            return await no_page(request)
        return (await answer_to(request, error))[0]

    async def otherwise(request: Request, error: Exception) -> Response:
        response = (await answer_to(request, error))[0]
        here = (route for route in app.routes if isinstance(route, PlainRoute))
        ways = {way for route in here if route.path_regex.match(request.scope["path"]) for way in answered_by(route)}
        response.headers["Allow"] = ", ".join(sorted(ways)) or response.headers.get("Allow", "")
        return response

    app.add_exception_handler(404, nowhere)
    app.add_exception_handler(405, otherwise)
    app.state.services = container.services  # for what is not a route: the answers to errors
    routers = (
        requests_router(container.services),
        evidence_router(container.services),
        reconciling_router(container.services),
        lifting_router(container.services),
        review_links_router(container.services),
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
    app.router.routes.extend(route for router in routers for route in router.routes)

    async def describe(request: Request) -> Response:
        container.services.access.to_operations(request)
        return JSONResponse(await asyncio.to_thread(app.openapi))

    app.router.routes.append(Route("/openapi.json", describe, include_in_schema=False))

    def pages() -> Iterator[BaseRoute]:
        from app.console.routes import console_routers  # a seventh of all our modules: no start waits for them

        return (route for router in console_routers(container.console) for route in router.routes)

    app.stand_behind_front(container, rest=pages)
    return app
