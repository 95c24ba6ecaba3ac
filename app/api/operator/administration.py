"""The administrator's door: keys. An agent's key opens none of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from app.api.wire import schemas
from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import reads
from app.api.wire.routes import Request, Response, Router
from app.domain.identity.api_key import ApiKey, Scope

if TYPE_CHECKING:
    from app.api.wire.services import Services


def administration_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["administration"], responses=schemas.PROBLEMS)

    @router.get("/v1/keys")
    async def page(request: Request) -> Response:
        """List the org's keys, without their secrets."""
        key = await c.access(request, Scope.ADMIN)
        return answer({"items": [_view(each) for each in await c.keys.list(key.org)]})

    @router.post("/v1/keys", status_code=201, **reads(schemas.NewKeyBody))
    async def create(request: Request) -> Response:
        """Make a key; its text is in this answer and nowhere else."""
        key = await c.access(request, Scope.ADMIN)
        body = await read_model(request, schemas.NewKeyBody)
        made = await c.keys.create(
            org=key.org,
            scope=Scope(body.scope),
            label=body.label,
            agent=body.agent,
            person=body.person,
            lives_for=timedelta(days=body.lives_for_days) if body.lives_for_days else None,
            by=f"key:{key.id}",
        )
        return answer({**_view(made.key), "key": made.text}, 201)

    @router.delete("/v1/keys/{key_id}", status_code=204)
    async def revoke(key_id: str, request: Request) -> Response:
        """End a key for good, everywhere, within a second."""
        key = await c.access(request, Scope.ADMIN)
        await c.keys.revoke(key.org, key_id, by=f"key:{key.id}")
        return Response(status_code=204)

    return router


def _view(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "scope": key.scope.value,
        "agent": key.agent,
        "person": key.person,
        "label": key.label,
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
        "last_used_at": key.last_used_at.isoformat() if key.last_used_at else None,
    }
