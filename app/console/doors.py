"""The way in, and what pages load.

A link is looked at (GET) as often as previews like; only the button's POST, from our own page, uses it up. The session
is a cookie of that one request's path.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import is_browsing, no_page, see, told
from app.console.pages import SERVED, page, static_text
from app.console.sign_in.passkey_door import sign_in_page
from app.console.visit import (
    base_of,
    foreign,
    form_of,
    is_own,
    keep_session,
    language_of,
    remember_language,
    sessions_in,
)
from app.domain.errors import NotFoundError, UnauthenticatedError
from app.domain.identity.review_link import Purpose
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.usecases.console.sessions import Door, Right
    from app.usecases.console_verbs import ConsoleVerbs

_DOOR = "/sign-in"
_CLOSED: Mapping[Purpose | None, str] = {Purpose.LINK: "closed_card", Purpose.CONSOLE: "closed_sign_in"}


def doors_router(c: ConsoleVerbs) -> Router:
    """Build the routes of the way in."""
    router = Router(include_in_schema=False)

    @router.get(_DOOR, head=True)
    async def door(request: Request) -> Response:
        async def shown() -> Response:
            token = request.query_params.get("t")
            if token is None:
                return await sign_in_page(c, request)
            try:
                opens = c.sessions.door(token)
            except UnauthenticatedError:
                return await _closed(c, request, token)
            another = await c.sessions.another(opens, sessions_in(request)[1])
            if another is not None:
                return await _refused(c, request, opens, another)
            policy = opens.policy
            language = language_of(request, policy)
            values = {
                "action": f"{base_of(policy)}{_DOOR}",
                "token": token,
                "is_whole": opens.is_whole,
                "person": visible(name_of(policy, opens.person)),
            }
            answer = await page(request, "door.html", language, values, policy=policy)
            return remember_language(request, answer, policy)

        return await told(request, shown)

    @router.post(_DOOR)
    async def enter(request: Request) -> Response:
        return await told(request, lambda: _entered(c, request))

    @router.get("/console/{name}", head=True)
    async def load(name: str, request: Request) -> Response:
        if name not in SERVED:
            if is_browsing(request):
                return await no_page(request)
            raise NotFoundError
        # Its address has its version in it.
        kept = "public, max-age=31536000, immutable" if "v" in request.query_params else "no-cache"
        headers = {"Cache-Control": kept, "X-Content-Type-Options": "nosniff"}
        return Response(await asyncio.to_thread(static_text, name), headers=headers, media_type=SERVED[name])

    return router


async def _entered(c: ConsoleVerbs, request: Request) -> Response:
    token = (await form_of(request)).get("t", "")
    try:
        opens = c.sessions.door(token)
        policy = opens.policy
        another = await c.sessions.another(opens, sessions_in(request)[1])
        if another is not None:
            return await _refused(c, request, opens, another)
        begun = await c.sessions.enter(token) if is_own(request, policy) else None
    except UnauthenticatedError:
        return await _closed(c, request, token)
    if begun is None:
        raise foreign()
    base = base_of(policy)
    response = see(f"{base}/r/{begun.request_id}" if begun.request_id else f"{base}/", policy)
    keep_session(response, policy, begun)
    return response


async def _closed(c: ConsoleVerbs, request: Request, link: str) -> Response:
    """Say that a link does not work, and what does instead: each kind of link has its own time and its own mend."""
    name = _CLOSED.get(c.sessions.kind_of(link), "closed")
    return await page(request, "closed.html", language_of(request, None), {"name": name}, status=401)


async def _refused(c: ConsoleVerbs, request: Request, opens: Door, another: Right) -> Response:
    """Say that a link is one person's and the browser another's. It stays unused."""
    language, policy = language_of(request, opens.policy), c.sessions.policy_of(another)
    values = {
        "name": "another",
        "person": visible(name_of(opens.policy, opens.person)),
        "reader": visible(name_of(policy, another.person)),
        "seal": c.sessions.seal_of(another),
    }
    return await page(request, "closed.html", language, values, policy=policy, status=403)
