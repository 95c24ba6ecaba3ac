"""The way to the review page, its door, and the page itself.

A link is looked at (GET) as often as previews like; only the button's POST, from our own page, uses it up. The session
is a cookie of that one page's path. Nothing under /review decides anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Request, Response

from app.api.pages.review_page import closed_page, review_page, sign_in_page
from app.api.wire import schemas
from app.api.wire.bodies import PlainRoute, answer, read_body, read_model
from app.api.wire.operations import takes
from app.domain.errors import AssentError, ForbiddenError, NotFoundError, UnauthenticatedError, UnavailableError
from app.domain.identity.api_key import Scope
from app.domain.identity.review_link import SESSION_FOR
from app.domain.text.language import Language

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from app.api.wire.services import Services
    from app.domain.rules.policy import Policy

_MOST = 4_096  # bytes of the one form
_DOOR = "/review/sign-in"
_FORM = "application/x-www-form-urlencoded"
_A_YEAR = 31_536_000

_CLOSED: tuple[tuple[type[AssentError], str, int], ...] = (
    (UnauthenticatedError, "closed", 401),
    (ForbiddenError, "no_longer", 403),
    (NotFoundError, "missing", 404),
    (UnavailableError, "away", 503),
)


def review_router(c: Services) -> APIRouter:
    """Build the routes under /review, and the one under /v1 that makes a link."""
    router = APIRouter(tags=["requests"], route_class=PlainRoute)

    @router.post("/v1/requests/{request_id}/review-link", **takes(schemas.NothingBody, schemas.ReviewLinkView))
    async def link(request_id: str, request: Request) -> Response:
        """Make a link to the page that shows all of a request, for the person whose key this is: once, within minutes.

        Whoever has the link can use it: hand it to nobody.
        """
        key = await c.access(request, Scope.APPROVER)
        await read_model(request, schemas.NothingBody)
        way = await c.review.way(key.org, request_id, str(key.person))
        return answer({"url": way.url, "expires_at": way.not_after.isoformat()})

    @router.get(_DOOR, include_in_schema=False)
    async def door(request: Request) -> Response:
        async def shown() -> Response:
            token = request.query_params.get("t", "")
            policy = c.review.door(token)
            action = f"{_path_of(policy)}{_DOOR}"
            language = _language_of(request, policy)
            chosen = language.value if "lang" in request.query_params else None
            return _secured(sign_in_page(language, action=action, token=token, chosen=chosen), policy)

        return await _told(request, shown)

    @router.post(_DOOR, include_in_schema=False)
    async def enter(request: Request) -> Response:
        async def entered() -> Response:
            form = await _form_of(request)
            token = form.get("t", "")
            policy = c.review.door(token)
            if not _is_own(request, policy):
                raise UnauthenticatedError
            found = await c.review.enter(token)
            path = f"{_path_of(policy)}/review/{found.request_id}"
            lang = f"?lang={form['lang']}" if form.get("lang") in set(Language) else ""
            response = Response(status_code=303, headers={"Location": f"{path}{lang}", "Cache-Control": "no-store"})
            response.headers["Referrer-Policy"] = "no-referrer"
            response.set_cookie(
                _cookie_of(policy),
                found.session,
                max_age=int(SESSION_FOR.total_seconds()),
                path=path,
                secure=_is_secure(policy),
                httponly=True,
                samesite="strict",
            )
            return _secured(response, policy)

        return await _told(request, entered)

    @router.get("/review/{request_id}", include_in_schema=False)
    async def show(request_id: str, request: Request) -> Response:
        async def shown() -> Response:
            session = next((request.cookies[name] for name in _COOKIES if name in request.cookies), "")
            sheet = await c.review.show(session, request_id, lambda policy: _language_of(request, policy))
            return review_page(sheet)

        return await _told(request, shown)

    return router


_COOKIES = ("__Secure-assent-review", "assent-review")


async def _told(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """Answer with a page, whatever happens that can be named."""
    try:
        return await work()
    except AssentError as error:
        found = ((name, status) for kind, name, status in _CLOSED if isinstance(error, kind))
        name, status = next(found, ("closed", 400))
        return closed_page(_language_of(request, None), name, status)


async def _form_of(request: Request) -> dict[str, str]:
    """Return the fields of the form, each once. Raises UnauthenticatedError for anything that is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise UnauthenticatedError
    body = await read_body(request, most=_MOST)
    try:
        fields = parse_qs(body.decode("ascii"), strict_parsing=True, max_num_fields=4)
    except ValueError:
        raise UnauthenticatedError from None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


def _is_own(request: Request, policy: Policy) -> bool:
    """Say whether a form comes from our own page: browsers say so themselves, and nothing else is believed."""
    parts = urlsplit(policy.url or "")
    port = "" if parts.port in {None, {"https": 443, "http": 80}.get(parts.scheme)} else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname)
    own = f"{parts.scheme}://{host}{port}"
    return (
        request.headers.get("origin") == own and request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
    )


def _language_of(request: Request, policy: Policy | None) -> Language:
    """Return the language that the reader chose, or the browser's first of ours, or the org's."""
    chosen = request.query_params.get("lang")
    if chosen in set(Language):
        return Language(chosen)
    for wish in request.headers.get("accept-language", "").split(","):
        name = wish.partition(";")[0].partition("-")[0].strip().lower()
        if name in set(Language):
            return Language(name)
    return policy.language if policy else Language.EN


def _path_of(policy: Policy) -> str:
    return urlsplit(policy.url or "").path


def _is_secure(policy: Policy) -> bool:
    return urlsplit(policy.url or "").scheme == "https"


def _cookie_of(policy: Policy) -> str:
    return _COOKIES[0] if _is_secure(policy) else _COOKIES[1]


def _secured(response: Response, policy: Policy) -> Response:
    if _is_secure(policy):
        response.headers["Strict-Transport-Security"] = f"max-age={_A_YEAR}"
    return response
