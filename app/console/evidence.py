"""The files of a request, for whoever may see its page: each as nothing but that file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.files import file_answer
from app.api.wire.routes import Request, Response, Router
from app.console.answers import told
from app.console.visit import sessions_in

if TYPE_CHECKING:
    from app.usecases.console_verbs import ConsoleVerbs


def evidence_pages_router(c: ConsoleVerbs) -> Router:
    """Build the route."""
    router = Router(include_in_schema=False)

    @router.get("/r/{request_id}/evidence/{number}")
    async def file(request_id: str, number: str, request: Request) -> Response:
        async def handed_out() -> Response:
            right = await c.sessions.right_of(*sessions_in(request))
            return file_answer(await c.decide_page.file(right, request_id, number))

        return await told(request, handed_out, closed="signed_out")

    return router
