"""One route for the webhooks of all channels. The platform's signature is the authentication; outside it is one 401."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from app.api.wire import schemas
from app.api.wire.bodies import read_body
from app.domain.errors import UnauthenticatedError, UnavailableError
from app.ports import CallbackRejectedError, Challenge, HttpAnswer, InboundCall

if TYPE_CHECKING:
    from app.api.wire.services import Services

_MOST_UNVERIFIED = 256
_MOST_FROM_ONE = 64
"""Bodies that are being read at once, in all and from one address, before anything proves that a platform sent them."""
_BODY_SECONDS = 2.0
"""A platform wants its answer within three seconds; it does not take as long to ask."""

log = structlog.get_logger(__name__)


def callbacks_router(c: Services) -> APIRouter:
    """Build the route."""
    router = APIRouter(tags=["channels"], responses=schemas.PROBLEMS)
    unverified: Counter[str] = Counter()

    @router.post("/v1/channels/{name}/callback")
    async def callback(name: str, request: Request) -> Response:
        """Take a platform's call."""
        began = time.monotonic()
        org, channel = c.channels.by_name(name)
        headers = tuple((key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in request.headers.raw)
        source = request.client.host if request.client else "?"
        if unverified.total() >= _MOST_UNVERIFIED or unverified[source] >= _MOST_FROM_ONE:
            raise UnavailableError("too many calls at once", retry_after=1)
        unverified[source] += 1  # strangers can send bodies here: only so many are kept at a time
        try:
            call = InboundCall(headers=headers, body=await read_body(request, seconds=_BODY_SECONDS))
        finally:
            unverified[source] -= 1
            if not unverified[source]:
                del unverified[source]
        try:
            inbound = channel.read(call, now=c.clock.now())
        except CallbackRejectedError as error:
            c.telemetry.callbacks_rejected.labels(channel=name).inc()
            log.warning("callback.rejected", channel=name, why=error.why)
            raise UnauthenticatedError from None
        if isinstance(inbound, Challenge):
            return _render(inbound.answer)
        return _render(await c.clicks(org, channel, inbound, spent=time.monotonic() - began))

    return router


def _render(said: HttpAnswer) -> Response:
    if said.body is None:
        return Response(status_code=said.status)
    return JSONResponse(said.body, status_code=said.status)
