"""The files that calls bring along, for whoever may read the request: an agent its own, people those of the org."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.files import file_answer
from app.api.wire.operations import gives_file
from app.api.wire.routes import Request, Response, Router
from app.domain.identity.api_key import Scope

if TYPE_CHECKING:
    from app.api.wire.services import Services


def evidence_router(c: Services) -> Router:
    """Build the route."""
    router = Router(tags=["requests"], strict=True)

    @router.get("/v1/requests/{request_id}/evidence/{number}", **gives_file())
    async def evidence(request_id: str, number: str, request: Request) -> Response:
        """Return one file of a request's evidence, by its number there, as nothing but that file.

        409 `unsealed`: it is not there any more, or is not what was sent. A link has no file: 404.
        """
        key = await c.access(request, *Scope)
        runs = key.runs if key.scope is Scope.EXECUTOR else None
        return file_answer(await c.read.file_of(key.org, request_id, number, agent=key.agent, runs=runs))

    return router
