"""One route for the webhooks of all channels. The platform's signature is the authentication; outside it is one 401."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from app.api import schemas
from app.api.bodies import read_body
from app.domain.errors import UnauthenticatedError, UnavailableError
from app.ports import CallbackRejectedError, Challenge, HttpAnswer, InboundCall

if TYPE_CHECKING:
    from app.api.surface import Surface

_MOST_UNVERIFIED = 64

log = structlog.get_logger(__name__)


def callbacks_router(c: Surface) -> APIRouter:
    """Build the route."""
    router = APIRouter(tags=["channels"], responses=schemas.PROBLEMS)
    unverified = asyncio.Semaphore(_MOST_UNVERIFIED)

    @router.post("/v1/channels/{name}/callback")
    async def callback(name: str, request: Request) -> Response:
        """Take a platform's call."""
        org, channel = c.channels.by_name(name)
        headers = tuple((key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in request.headers.raw)
        if unverified.locked():
            raise UnavailableError("too many calls at once", retry_after=1)
        async with unverified:  # strangers can send bodies here: only so many are kept at a time
            call = InboundCall(headers=headers, body=await read_body(request))
        try:
            inbound = channel.read(call, now=c.clock.now())
        except CallbackRejectedError as error:
            c.telemetry.callbacks_rejected.labels(channel=name).inc()
            log.warning("callback.rejected", channel=name, why=error.why)
            raise UnauthenticatedError from None
        if isinstance(inbound, Challenge):
            return _render(inbound.answer)
        return _render(await c.clicks(org, channel, inbound))

    return router


def _render(said: HttpAnswer) -> Response:
    if said.body is None:
        return Response(status_code=said.status)
    return JSONResponse(said.body, status_code=said.status)
