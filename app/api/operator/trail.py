"""The auditor's door: the trail in pages, a live stream of it, and the policies that judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from app.api.operator.event_view import view_event
from app.api.wire import schemas
from app.api.wire.bodies import answer
from app.api.wire.queries import number_of, parameter
from app.api.wire.routes import Request, Response, Router
from app.domain.errors import InvalidError, TooManyError
from app.domain.identity.api_key import AGENTS, READERS, Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.api.wire.services import Services
    from app.domain.identity.api_key import ApiKey

_MOST = 1_000
_LAST = 2**53
_DIGITS = 15
_AFTER = parameter("after", "integer", "events behind this place in the trail")


def trail_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["audit"], responses=schemas.PROBLEMS, strict=True)

    @router.get("/v1/audit", openapi_extra={"parameters": [_AFTER, parameter("limit", "integer", "1000 at most")]})
    async def page(request: Request) -> Response:
        """Page through the org's audit trail, in order, behind event `after`."""
        key = await c.access(request, Scope.AUDITOR, Scope.ADMIN)
        after, limit = number_of(request, "after", most=_LAST), number_of(request, "limit", most=_MOST)
        start, most = -1 if after is None else int(after), max(1, int(limit if limit is not None else 200))
        events, head = await c.read.trail(key.org, after=start, most=most)
        return answer({"items": [view_event(event) for event in events], "head": {"seq": head[0], "hash": head[1]}})

    @router.get("/v1/requests/{request_id}/events")
    async def story(request_id: str, request: Request) -> Response:
        """Everything the trail says of one request."""
        key = await c.access(request, *READERS)
        await c.read.get(key.org, request_id, agent=key.agent)
        return answer({"items": [view_event(event) for event in await c.read.story(key.org, request_id)]})

    @router.get("/v1/policies/{version}")
    async def policy(version: str, request: Request) -> Response:
        """The configuration of a version, as it was written."""
        key = await c.access(request, Scope.AUDITOR, Scope.ADMIN)
        return Response(await c.read.policy_text(key.org, version), media_type="application/yaml")

    @router.get("/v1/events", openapi_extra={"parameters": [_AFTER]})
    async def events(request: Request) -> Response:
        """Stream what happens to the org's requests, as server-sent events; an agent sees its own.

        Each event's id is its place in the trail: a client that comes back with Last-Event-ID misses nothing.
        """
        key = await c.access(request, *READERS)
        last = request.headers.get("last-event-id")
        if last is not None and not (last.isascii() and last.isdigit() and len(last) <= _DIGITS):
            raise InvalidError("Last-Event-ID is a number of the trail", path="header.last-event-id")
        after = number_of(request, "after", most=_LAST)
        start = int(last) if last else None if after is None else int(after)
        if c.feed.crowded(key.id):
            raise TooManyError("too many streams, of all or of this key", retry_after=5)
        from sse_starlette.sse import EventSourceResponse

        return EventSourceResponse(_stream(c, request, key, start), ping=15)

    return router


async def _stream(c: Services, request: Request, key: ApiKey, after: int | None) -> AsyncIterator[dict[str, str]]:
    async for event in c.feed.follow(key.org, after=after, who=key.id):
        if event.request_id is None:
            continue
        if key.scope in AGENTS and not await c.read.is_of_agent(key.org, event.request_id, str(key.agent)):
            continue
        if not await c.access.still_holds(request):  # revoked meanwhile: nothing more is told
            return
        yield {"id": str(event.seq), "event": event.record.kind.value, "data": json.dumps(view_event(event))}
