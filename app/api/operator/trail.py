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
    from app.domain.trail.audit import AuditEvent

_MOST = 1_000
_LAST = 2**53
_DIGITS = 15
_AUDITING = (Scope.AUDITOR, Scope.ADMIN)
"""The scopes of keys that may read all of the trail: also what is about no request."""

_AFTER = parameter("after", "integer", "events behind this place in the trail")


def trail_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["audit"], responses=schemas.PROBLEMS, strict=True)

    @router.get("/v1/audit", openapi_extra={"parameters": [_AFTER, parameter("limit", "integer", "1000 at most")]})
    async def page(request: Request) -> Response:
        """Page through the org's audit trail, in order, behind event `after`."""
        key = await c.access(request, *_AUDITING)
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
        key = await c.access(request, *_AUDITING)
        return Response(await c.read.policy_text(key.org, version), media_type="application/yaml")

    @router.get("/v1/events", openapi_extra={"parameters": [_AFTER]})
    async def events(request: Request) -> Response:
        """Stream the org's trail as it grows, as server-sent events.

        Auditors and administrators are told all of it, approvers what is about a request, an agent what is about its
        own. Each event's id is its place in the trail: a client that comes back with Last-Event-ID misses nothing. A
        place that the trail has not reached is refused with its `head`: the database was restored to an earlier state.
        """
        key = await c.access(request, *READERS)
        last = request.headers.get("last-event-id")
        if last is not None and not (last.isascii() and last.isdigit() and len(last) <= _DIGITS):
            raise InvalidError("Last-Event-ID is a number of the trail", path="header.last-event-id")
        after = number_of(request, "after", most=_LAST)
        start = int(last) if last else None if after is None else int(after)
        if c.feed.crowded(key.id):
            raise TooManyError("too many streams, of all or of this key", retry_after=5)
        if start is not None:
            await _refuse_beyond(c, key.org, start, path="header.last-event-id" if last else "query.after")
        from sse_starlette.sse import EventSourceResponse

        return EventSourceResponse(_stream(c, request, key, start), ping=15)

    return router


async def _refuse_beyond(c: Services, org: str, after: int, *, path: str) -> None:
    """Refuse a place that the trail has not reached: whoever waited there would miss all until then, in silence.

    No conflict, which the trail would say: whoever comes back again and again would write it up to that place.
    """
    head = await c.feed.head(org)
    if after > head:
        told = f"event {after} is not in the trail, which ends with event {head}: was the database restored?"
        raise InvalidError(told, path=path, head=head)


async def _may_read(c: Services, key: ApiKey, event: AuditEvent) -> bool:
    if key.scope in _AUDITING:
        return True
    if event.request_id is None:
        return False
    return key.scope not in AGENTS or await c.read.is_of_agent(key.org, event.request_id, str(key.agent))


async def _stream(c: Services, request: Request, key: ApiKey, after: int | None) -> AsyncIterator[dict[str, str]]:
    async for event in c.feed.follow(key.org, after=after, who=key.id):
        if not await _may_read(c, key, event):
            continue
        if not await c.access.still_holds(request):  # revoked meanwhile: nothing more is told
            return
        yield {"id": str(event.seq), "event": event.record.kind.value, "data": json.dumps(view_event(event))}
