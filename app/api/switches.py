"""The administrator's switches: an org or one agent to read-only and back, at once. An agent's key opens none of it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from app.api import schemas
from app.api.bodies import answer, read_model
from app.api.operations import asks, takes
from app.api.plain_route import PlainRoute
from app.domain.errors import AssentError
from app.storage.api_keys import Scope

if TYPE_CHECKING:
    from app.api.surface import Surface
    from app.storage.switches import Switch


def switches_router(c: Surface) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["administration"], route_class=PlainRoute)

    @router.get("/v1/switches", **asks([], schemas.SwitchesView))
    async def page(request: Request) -> Response:
        """List the org's switches that were ever touched, with who set them, when and why."""
        key = await c.access(request, Scope.ADMIN)
        return answer({"items": [_view(each) for each in await c.switches.list(key.org)]})

    @router.put("/v1/switches/read-only", **takes(schemas.ReadOnlyBody, schemas.SwitchView))
    async def read_only(request: Request) -> Response:
        """Switch the org, or one agent, to read-only or back; in force on every replica within a second."""
        key = await c.access(request, Scope.ADMIN)
        body = await read_model(request, schemas.ReadOnlyBody)
        switch = await c.switches.set_read_only(
            key.org, on=body.on, agent=body.agent, reason=body.reason, by=f"key:{key.id}"
        )
        warning = await _warning(c, key.org, switch)
        return answer(_view(switch) | ({"warning": warning} if warning else {}))

    return router


async def _warning(c: Surface, org: str, switch: Switch) -> str | None:
    """Say that nobody is known by the agent's name: the switch is set all the same, for nothing may delay it."""
    if not switch.agent:
        return None
    try:
        named = {*c.run_hooks.named_agents(org), *(str(key.agent) for key in await c.keys.list(org) if key.agent)}
    except AssentError:
        return None
    if switch.agent in named:
        return None
    near = get_close_matches(switch.agent, named, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"no key and no file names the agent {switch.agent!r}, so this may bind nobody{hint}"


def _view(switch: Switch) -> dict[str, object]:
    return {
        "name": switch.name,
        "agent": switch.agent or None,
        "on": switch.is_on,
        "reason": switch.reason,
        "set_by": switch.set_by,
        "set_at": switch.set_at.isoformat(),
    }
