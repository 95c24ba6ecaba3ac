"""Signing in by way of an issuer of the file: there, and back with what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.sign_in.passkey_door import sign_in_page
from app.console.visit import base_of, begun_in, keep_begun, keep_session
from app.domain.errors import UnauthenticatedError
from app.usecases.signing_in.elsewhere import BEGUN_FOR

if TYPE_CHECKING:
    from app.usecases.console_verbs import ConsoleVerbs

_LONGEST = 4_000  # characters of a query
_MOST = 12


def issuer_door_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    @router.get("/sign-in/with/{org}/{name}")
    async def leave(org: str, name: str, request: Request) -> Response:
        async def left() -> Response:
            way = await c.elsewhere.begin(org, name)
            policy = c.elsewhere.policy_of(org)
            response = see(way.url, policy)
            keep_begun(response, policy, way.cookie, seconds=int(BEGUN_FOR.total_seconds()))
            return response

        return await told(request, left, closed="signed_out")

    @router.get("/sign-in/from/{org}/{name}")
    async def come_back(org: str, name: str, request: Request) -> Response:
        async def entered() -> Response:
            try:
                policy = c.elsewhere.policy_of(org)
                begun = await c.elsewhere.finish(org, name, _said(request), begun_in(request))
            except UnauthenticatedError:
                return await sign_in_page(c, request, notice="door.refused", status=401)
            response = see(f"{base_of(policy)}/", policy)
            keep_session(response, policy, begun)
            keep_begun(response, policy, "", seconds=0)
            return response

        return await told(request, entered)

    return router


def _said(request: Request) -> dict[str, str]:
    """Return what the issuer sent along, each thing once. Raises UnauthenticatedError."""
    found = request.query_params.multi_items()
    if len(request.url.query) > _LONGEST or len(found) > _MOST or len(dict(found)) < len(found):
        raise UnauthenticatedError
    return dict(found)
