"""Which answers are refusals that somebody should be able to read of later, and whose they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain import errors
from app.domain.errors import AssentError
from app.usecases.proving.note_refusals import Attempt

if TYPE_CHECKING:
    from starlette.requests import Request

    from app.api.wire.services import Services
    from app.domain.identity.api_key import ApiKey

_REFUSED = (errors.UnauthenticatedError, errors.ForbiddenError, errors.ConflictError)
_SAID_BY_VOTES = frozenset({"not_eligible", "step_up_needed", "too_soon"})  # the vote's own event says it


async def note_refused(request: Request, error: AssentError) -> None:
    """Leave a trace of an attempt that was refused; of what is merely not there, only where somebody would act."""
    route = getattr(request.scope.get("route"), "path", "?")
    acts = request.method not in {"GET", "HEAD"} and "{request_id}" in route
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
        actor=_actor(key) if key is not None else f"address:{request.client.host if request.client else '?'}",
        what=f"{request.method} {route}",
        code=error.code,
        request_id=request.path_params.get("request_id"),
    )
    await services.note_refusal(attempt)


def _actor(key: ApiKey) -> str:
    """Name who holds a key as the trail does elsewhere."""
    if key.agent is not None:
        return f"agent:{key.agent}"
    return key.person or f"key:{key.id}"
