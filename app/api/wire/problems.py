"""Errors as RFC 9457 problem documents: one table from class to status, and nothing of our insides."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from app.domain import errors
from app.domain.errors import AssentError
from app.usecases.proving.note_refusals import Attempt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.applications import Starlette
    from starlette.requests import Request

    from app.api.wire.services import Services
    from app.domain.identity.api_key import ApiKey

log = structlog.get_logger(__name__)

STATUS: dict[type[AssentError], int] = {
    errors.AssentError: 500,
    errors.NotFoundError: 404,
    errors.UnauthenticatedError: 401,
    errors.ForbiddenError: 403,
    errors.WrongScopeError: 403,
    errors.ExecutorOnlyError: 403,
    errors.NotEligibleError: 403,
    errors.StepUpNeededError: 403,
    errors.LockedError: 403,
    errors.ConflictError: 409,
    errors.AlreadySettledError: 409,
    errors.NotApprovedError: 409,
    errors.UnsealedError: 409,
    errors.AlreadyClaimedError: 409,
    errors.GrantLapsedError: 409,
    errors.ReadOnlyError: 409,
    errors.PausedError: 409,
    errors.DigestMismatchError: 409,
    errors.AlreadyAnsweredError: 409,
    errors.OutdatedError: 409,
    errors.TooOftenError: 409,
    errors.TooSoonError: 409,
    errors.NotStartedError: 409,
    errors.OutcomeConflictError: 409,
    errors.InvalidError: 422,
    errors.BadJsonError: 422,
    errors.BadArgumentsError: 422,
    errors.UnknownToolError: 422,
    errors.IdempotencyMismatchError: 422,
    errors.TooLargeError: 413,
    errors.TooSlowError: 408,
    errors.TooManyError: 429,
    errors.UnavailableError: 503,
    errors.LackingSecretError: 503,
}
"""Every error of the domain has a row (a test walks the tree)."""

_MEDIA_TYPE = "application/problem+json"
_REFUSED = (errors.UnauthenticatedError, errors.ForbiddenError, errors.ConflictError)
_SAID_BY_VOTES = frozenset({"not_eligible", "outdated", "step_up_needed", "too_soon"})  # the vote's own event says it


def install(app: Starlette) -> None:
    """Answer every error as a problem document."""
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)


async def answer_to(request: Request, error: Exception) -> tuple[Response, bool]:
    """Return the answer to an error as `install` has it answered, and whether it is one that we know."""
    handler = next(handler for kind, handler in _HANDLERS.items() if isinstance(error, kind))
    return await handler(request, error), handler is not _unknown


def problem(error: AssentError, instance: str) -> Response:
    """Render one of our own errors."""
    status = STATUS[type(error)]
    # Elsewhere a header says it, and programs that back off read that one.
    more = {name: fact for name, fact in error.more.items() if name != "retry_after" or status == 403}
    headers: dict[str, str] = {}
    if status in {429, 503} or isinstance(error, errors.LockedError):
        headers["Retry-After"] = str(error.more.get("retry_after", 1))
    if status == 408:  # what is left of the body would be in the way of the next call
        headers["Connection"] = "close"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return render_problem(status, error.code, type(error).title(), error.detail, instance, more, headers)


def render_problem(  # noqa: PLR0917 - the members of a problem document
    status: int,
    code: str,
    title: str,
    detail: str,
    instance: str,
    more: Mapping[str, object] = MappingProxyType({}),
    headers: dict[str, str] | None = None,
) -> Response:
    """Render a problem document (RFC 9457)."""
    body = {
        **more,
        "type": f"urn:assent:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": instance,
        "code": code,
    }
    return JSONResponse(body, status_code=status, headers=headers, media_type=_MEDIA_TYPE)


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, AssentError)  # noqa: S101 - registered for exactly this class
    await note_refused(request, error)
    if isinstance(error, errors.NotFoundError):
        # Unknown, foreign and deleted ids must look alike: not even the path is echoed.
        return problem(error, "")
    return problem(error, request.url.path)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for exactly this class
    headers = dict(error.headers or {})
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http")
    return render_problem(error.status_code, code, str(error.detail), str(error.detail), request.url.path, {}, headers)


async def _vanished(request: Request, error: Exception) -> Response:
    """The caller hung up in the middle of its body: no error of ours, and nobody is left to answer."""
    del request, error
    return Response(status_code=400)


async def _unknown(request: Request, error: Exception) -> Response:
    log.error("request.crashed", path=request.url.path, exc_info=error)
    detail = "This is our fault. What was recorded before it stands: look how the request stands before you try again."
    return render_problem(500, "internal", "Internal error", detail, request.url.path)


_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    AssentError: _known,
    HTTPException: _http,
    ClientDisconnect: _vanished,
    Exception: _unknown,
}
"""Who answers which error; the first that fits."""


async def note_refused(request: Request, error: AssentError) -> None:
    """Leave a trace of an attempt that was refused; of what is merely not there, only where somebody would act."""
    route = getattr(request.scope.get("route"), "path", "?")
    claims = "claim_id" in request.query_params
    acts = (request.method not in {"GET", "HEAD"} or claims) and "{request_id}" in route
    if not isinstance(error, _REFUSED) and not (acts and isinstance(error, errors.NotFoundError)):
        return
    if error.code in _SAID_BY_VOTES and route.endswith("/decisions"):
        return
    services: Services | None = getattr(request.app.state, "services", None)
    key: ApiKey | None = getattr(request.state, "key", None)
    if services is None:
        return
    attempt = Attempt(
        org=key.org if key is not None else None,
        actor=key.holder if key is not None else f"address:{request.client.host if request.client else '?'}",
        what=f"{request.method} {route}",
        code=error.code,
        request_id=request.path_params.get("request_id") or getattr(request.state, "request_id", None),
    )
    await services.note_refusal(attempt)
