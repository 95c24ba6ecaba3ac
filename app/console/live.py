"""The streams by which open pages are told that something has moved: server-sent events, and no word of what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.visit import sessions_in
from app.domain.errors import NotFoundError, TooManyError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.usecases.console_verbs import ConsoleVerbs

_DIGITS = 15
_COMES_BACK_AFTER = 3_000  # milliseconds; a gateway that restarts is there again by then


def live_router(c: ConsoleVerbs) -> Router:
    """Build the routes: beside each page, for a link's cookie is of that one address."""
    router = Router(include_in_schema=False)

    @router.get("/live")
    async def of_any(request: Request) -> Response:
        return await _streamed(c, request, None)

    @router.get("/r/{request_id}/live")
    async def of_one(request_id: str, request: Request) -> Response:
        return await _streamed(c, request, request_id)

    return router


async def _streamed(c: ConsoleVerbs, request: Request, request_id: str | None) -> Response:
    from sse_starlette import EventSourceResponse

    held = sessions_in(request) if request_id is not None else ("", sessions_in(request)[1])

    async def still() -> bool:
        try:
            await c.sessions.right_of(*held, used=False)
        except UnauthenticatedError:
            return False
        return True

    try:
        right = await c.sessions.right_of(*held, used=False)
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        known = int(since) if since.isascii() and since.isdigit() and len(since) <= _DIGITS else None
        moves = await c.live.follow(right, request_id, since=known, still=still)
    except UnauthenticatedError:
        return Response(status_code=401)
    except NotFoundError:
        return Response(status_code=404)
    except TooManyError:
        return Response(status_code=429, headers={"Retry-After": "30"})
    headers = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}
    return EventSourceResponse(_told(moves), ping=15, headers=headers)


async def _told(moves: AsyncIterator[int]) -> AsyncIterator[dict[str, object]]:
    yield {"comment": "here", "retry": _COMES_BACK_AFTER}
    async for seq in moves:
        yield {"id": str(seq), "event": "moved", "data": ""}
