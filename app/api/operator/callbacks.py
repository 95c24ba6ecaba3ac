"""One route for the webhooks of all channels. The platform's signature is the authentication; outside it is one 401."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog
from starlette.responses import JSONResponse

from app.api.wire import schemas
from app.api.wire.bodies import Unproven
from app.api.wire.routes import Request, Response, Router
from app.domain.errors import UnauthenticatedError
from app.ports import CallbackRejectedError, Challenge, HttpAnswer, InboundCall

if TYPE_CHECKING:
    from app.api.wire.services import Services

_BODY_SECONDS = 2.0
"""A platform wants its answer within three seconds; it does not take as long to ask."""

log = structlog.get_logger(__name__)


def callbacks_router(c: Services) -> Router:
    """Build the route."""
    router = Router(tags=["channels"], responses=schemas.PROBLEMS)
    unproven = Unproven()

    @router.post("/v1/channels/{name}/callback")
    async def callback(name: str, request: Request) -> Response:
        """Take a platform's call."""
        began = time.monotonic()
        org, channel = c.channels.by_name(name)
        headers = tuple((key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in request.headers.raw)
        now = c.clock.now() - c.replicas.off  # by the database: how old a signature is, no wrong host decides
        body = await unproven.read(request, headers, now=now, seconds=_BODY_SECONDS)
        call = InboundCall(headers=headers, body=body)
        try:
            inbound = channel.read(call, now=now)
        except CallbackRejectedError as error:
            c.telemetry.callbacks_rejected.labels(channel=name).inc()
            log.warning("callback.rejected", channel=name, why=error.why)
            raise UnauthenticatedError from None
        c.contact.heard[name] = began
        if isinstance(inbound, Challenge):
            return _render(inbound.answer)
        return _render(await c.clicks(org, channel, inbound, spent=time.monotonic() - began))

    return router


def _render(said: HttpAnswer) -> Response:
    if said.body is None:
        return Response(status_code=said.status)
    return JSONResponse(said.body, status_code=said.status)
