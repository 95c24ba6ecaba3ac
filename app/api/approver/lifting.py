"""Where the refusal that follows a denial is lifted: with the key of somebody who may decide the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.api.wire.bodies import read_model
from app.api.wire.operations import changes
from app.api.wire.routes import Request, Response, Router
from app.api.wire.verdicts import answer_changed
from app.domain.identity.api_key import Scope

if TYPE_CHECKING:
    from app.api.wire.services import Services


class LiftBody(BaseModel):
    """Lift the refusal that follows a denial: the call may be asked about again."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    reason: Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")] | None = None


"""The models of bodies, for OpenAPI."""


def lifting_router(c: Services) -> Router:
    """Build the route."""
    router = Router(tags=["requests"])

    @router.post("/v1/requests/{request_id}/lift", **changes(LiftBody))
    async def lift(request_id: str, request: Request) -> Response:
        """Let the call of a denied request be asked about again. The request itself stays denied; nothing runs."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, LiftBody)
        found = await c.lift(org=key.org, request_id=request_id, person=str(key.person), reason=body.reason)
        return await answer_changed(c, key, request, found)

    return router
