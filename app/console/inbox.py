"""The inbox of whoever is signed in, and the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from app.api.wire.bodies import PlainRoute
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import (
    base_of,
    drop_session,
    language_of,
    person_of,
    remember_language,
    sent_by,
)
from app.usecases.console.office.rights import pages_of

if TYPE_CHECKING:
    from app.usecases.console_verbs import ConsoleVerbs


def inbox_router(c: ConsoleVerbs) -> APIRouter:
    """Build the routes."""
    router = APIRouter(route_class=PlainRoute, include_in_schema=False)

    @router.get("/")
    async def inbox(request: Request) -> Response:
        async def shown() -> Response:
            right = await person_of(c, request)
            policy = c.sessions.policy_of(right)
            language = language_of(request, policy)
            lists = await c.inbox(right, language)
            values = {
                "lists": lists,
                "reader": right.person,
                "seal": c.sessions.seal_of(right),
                "pages": pages_of(right),
            }
            answer = await page(request, "inbox.html", language, values, policy=policy)
            return remember_language(request, answer, policy)

        return await told(request, shown, closed="signed_out")

    @router.post("/sign-out")
    async def leave(request: Request) -> Response:
        async def left() -> Response:
            right, policy, form = await sent_by(c, request)
            await c.sessions.end(right, everywhere=form.get("where") == "everywhere")
            response = see(f"{base_of(policy)}/", policy)
            drop_session(response, policy)
            return response

        return await told(request, left, closed="signed_out")

    return router
