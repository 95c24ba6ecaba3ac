"""A link to the page of a request, for the person whose key it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire import schemas
from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import takes
from app.api.wire.routes import Request, Response, Router
from app.domain.identity.api_key import Scope

if TYPE_CHECKING:
    from app.api.wire.services import Services


def review_links_router(c: Services) -> Router:
    """Build the route under /v1 that makes a link."""
    router = Router(tags=["requests"])

    @router.post("/v1/requests/{request_id}/review-link", **takes(schemas.NothingBody, schemas.ReviewLinkView))
    async def link(request_id: str, request: Request) -> Response:
        """Make a link to the page that shows all of a request, for the person whose key this is: once, within minutes.

        Whoever has the link can use it: hand it to nobody.
        """
        key = await c.access(request, Scope.APPROVER)
        await read_model(request, schemas.NothingBody)
        way = await c.review.way(key.org, request_id, str(key.person))
        return answer({"url": way.url, "expires_at": way.not_after.isoformat()})

    return router
