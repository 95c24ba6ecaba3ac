"""Where an outcome that nobody knows is settled: by the key that executes (agent's or executor's), or an admin's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire import schemas
from app.api.wire.bodies import read_model
from app.api.wire.operations import changes
from app.api.wire.routes import Request, Response, Router
from app.api.wire.verdicts import access_to, answer_changed, caller_of
from app.domain.identity.api_key import AGENTS, Scope
from app.domain.request.request import ExecutionStatus
from app.domain.text.canonical import canonical

if TYPE_CHECKING:
    from app.api.wire.services import Services


def reconciling_router(c: Services) -> Router:
    """Build the route."""
    router = Router(tags=["requests"])

    @router.post("/v1/requests/{request_id}/reconcile", **changes(schemas.ReconcileBody))
    async def reconcile(request_id: str, request: Request) -> Response:
        """Settle an outcome that is unknown, or waits at the service, with a note on the evidence. Nothing runs.

        One that is unknown may also turn out to wait at the service (`pending_elsewhere`).
        """
        key = await access_to(c, request, request_id, *AGENTS, Scope.EXECUTOR, Scope.ADMIN)
        body = await read_model(request, schemas.ReconcileBody)
        found = await c.reconcile(
            caller_of(key),
            request_id=request_id,
            status=ExecutionStatus(body.status),
            result=canonical(body.result).decode() if body.result is not None else None,
            error=body.error,
            note=body.note,
            elsewhere=body.place,
        )
        return await answer_changed(c, key, request, found)

    return router
