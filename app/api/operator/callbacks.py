"""One route for the webhooks of all channels. The platform's signature is the authentication; outside it is one 401."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from app.api.wire import schemas
from app.api.wire.bodies import read_body
from app.domain.errors import TooSlowError, UnauthenticatedError
from app.ports import CallbackRejectedError, Challenge, HttpAnswer, InboundCall

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from datetime import datetime

    from app.api.wire.services import Services

_MOST_STRANGERS = 64
_MOST_LIKELY = 256
"""Bodies that are being read at once before anything proves that a platform sent them: by whether their heads look as
if one had. A head costs an attacker nothing, so where a lane is full, room is made: see `Arrivals`."""
_BODY_SECONDS = 3.0
"""A platform wants its answer within three seconds; it does not take longer to ask."""
_FRESH_SECONDS = 300

_STAMP = re.compile(r"[0-9]{10}", re.ASCII)
_SIGNATURE = re.compile(r"(?:v[0-9]=)?[0-9a-f]{64}", re.ASCII)

log = structlog.get_logger(__name__)


def callbacks_router(c: Services) -> APIRouter:
    """Build the route."""
    router = APIRouter(tags=["channels"], responses=schemas.PROBLEMS)
    strangers, likely = Arrivals(_MOST_STRANGERS), Arrivals(_MOST_LIKELY)

    @router.post("/v1/channels/{name}/callback")
    async def callback(name: str, request: Request) -> Response:
        """Take a platform's call."""
        org, channel = c.channels.by_name(name)
        headers = tuple((key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in request.headers.raw)
        source = request.client.host if request.client else "?"
        now = c.clock.now()
        lane = likely if looks_signed(headers, now=now) else strangers
        async with lane.place(source):  # strangers can send bodies here: only so many are kept at a time
            call = InboundCall(headers=headers, body=await read_body(request, seconds=_BODY_SECONDS))
        try:
            inbound = channel.read(call, now=now)
        except CallbackRejectedError as error:
            c.telemetry.callbacks_rejected.labels(channel=name).inc()
            log.warning("callback.rejected", channel=name, why=error.why)
            raise UnauthenticatedError from None
        if isinstance(inbound, Challenge):
            return _render(inbound.answer)
        return _render(await c.clicks(org, channel, inbound))

    return router


def looks_signed(headers: Iterable[tuple[str, str]], *, now: datetime) -> bool:
    """Whether a head has a well-formed signature and a fresh time: what every platform's has. It proves nothing."""
    stamps = [value for name, value in headers if name.endswith("-request-timestamp")]
    signatures = [value for name, value in headers if name.endswith("-signature")]
    if len(stamps) != 1 or len(signatures) != 1 or not _STAMP.fullmatch(stamps[0]):
        return False
    return abs(now.timestamp() - int(stamps[0])) <= _FRESH_SECONDS and bool(_SIGNATURE.fullmatch(signatures[0]))


class Arrivals:
    """Bodies that are arriving, at most so many. Whoever comes then takes the place of one that dawdles.

    A platform's body comes with its head, and is there at once. So the oldest goes, of the address that has most of
    them: a thousand that never end keep out nobody whose body comes.
    """

    def __init__(self, most: int) -> None:
        """Take the bound."""
        self._most = most
        self._count = 0
        self._by_source: dict[str, dict[asyncio.Timeout, None]] = {}

    @asynccontextmanager
    async def place(self, source: str) -> AsyncGenerator[None]:
        """Hold a place. Raises TooSlowError when somebody else was given it."""
        if self._count >= self._most:
            self._make_room()
        limit = asyncio.timeout(None)
        self._by_source.setdefault(source, {})[limit] = None
        self._count += 1
        try:
            async with limit:
                yield
        except TimeoutError:
            raise TooSlowError from None
        finally:
            self._leave(source, limit)

    def _make_room(self) -> None:
        source, arriving = max(self._by_source.items(), key=lambda each: len(each[1]))
        oldest = next(iter(arriving))
        oldest.reschedule(asyncio.get_running_loop().time())
        self._leave(source, oldest)

    def _leave(self, source: str, limit: asyncio.Timeout) -> None:
        arriving = self._by_source.get(source, {})
        if limit in arriving:
            del arriving[limit]
            self._count -= 1
        if not arriving:
            self._by_source.pop(source, None)


def _render(said: HttpAnswer) -> Response:
    if said.body is None:
        return Response(status_code=said.status)
    return JSONResponse(said.body, status_code=said.status)
