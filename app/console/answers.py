"""How a page answers: with a page, whatever happens that can be named, or by sending the browser to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from starlette.responses import Response

from app.console.pages import page
from app.console.visit import HSTS, is_secure, language_of
from app.domain.errors import (
    AssentError,
    ForbiddenError,
    LackingSecretError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from app.domain.rules.policy import Policy

_CLOSED: tuple[tuple[type[AssentError], str, int], ...] = (
    (UnauthenticatedError, "closed", 401),
    (ForbiddenError, "no_longer", 403),
    (NotFoundError, "missing", 404),
    (LackingSecretError, "lacking", 503),
    (UnavailableError, "away", 503),
)


async def told(
    request: Request, work: Callable[[], Awaitable[Response]], *, closed: str = "closed", forbidden: str = "no_longer"
) -> Response:
    """Answer with a page, whatever happens that can be named.

    `closed` is how it is said that there is no session, `forbidden` that somebody may not.
    """
    try:
        if "\0" in request.scope["path"]:  # no id of ours has one, and PostgreSQL cannot even be asked for it
            raise NotFoundError
        return await work()
    except AssentError as error:
        found = ((name, status) for kind, name, status in _CLOSED if isinstance(error, kind))
        name, status = next(found, ("closed", 400))
        closed = str(error.more.get("said", closed))
        name = {401: closed, 403: forbidden}.get(status, name)
        language = language_of(request, None)
        roles = cast("list[str]", error.more.get("roles", []))
        who = [say(language, f"admin.role.{role}") for role in roles]
        values = {"name": name, "who": " / ".join(who), "secret_id": error.more.get("secret_id", "")}
        return await page(request, "closed.html", language, values, status=status)


def see(path: str, policy: Policy) -> Response:
    """Send the browser to a page of ours, which it gets."""
    headers = {"Location": path, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    if is_secure(policy):
        headers["Strict-Transport-Security"] = HSTS
    return Response(status_code=303, headers=headers)


async def no_page(request: Request) -> Response:
    """Say to somebody at a browser that an address is none of ours, and where the pages begin."""
    return await page(request, "closed.html", language_of(request, None), {"name": "no_page"}, status=404)


def is_browsing(request: Request) -> bool:
    """Say whether a page is wanted, by somebody who looks: no program asks for HTML."""
    return request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("accept", "")
