"""The administrator's switches: read-only, and pauses. In force at once, and an agent's key opens none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import structlog
from pydantic import BaseModel, ConfigDict, Field

from app.api.wire import schemas
from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import asks, takes
from app.api.wire.routes import Request, Response, Router
from app.domain.errors import AssentError, InvalidError
from app.domain.identity.api_key import Scope
from app.usecases.pauses.strangers import strange_agent, strange_tool

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.domain.call.switch import Switch

log = structlog.get_logger(__name__)

_MOST_ENDED = 2_000
"""Requests that one call ends: an answer is not to take minutes."""

_Reason = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]


class PauseBody(BaseModel):
    """Pause an org, one of its agents, a tool, or a tool of one agent; or lift exactly that pause."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    on: bool
    agent: schemas.Id | None = Field(
        default=None, description="only this agent and those below it; `*` stands for anything"
    )
    tool: schemas.Id | None = Field(default=None, description="only this tool, under all of its names; `*` as above")
    reason: _Reason | None = None
    deny_waiting: bool = Field(
        default=False,
        description="end what waits under it, too: requests are cancelled, unused approvals revoked; with `on`",
    )


class EndedView(BaseModel, defer_build=True):
    """What was ended because of a pause. `more`: others wait still, and the same call again goes on with them."""

    cancelled: int
    revoked: int
    more: bool


class PauseView(schemas.SwitchView):
    """A pause as it stands. `ended`: with `deny_waiting`, what was ended by this call."""

    ended: EndedView | None = None


"""The models of bodies, for OpenAPI."""


def switches_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["administration"])

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
        return answer(await _answered(c, key.org, switch))

    @router.put("/v1/switches/pause", **takes(PauseBody, PauseView))
    async def pause(request: Request) -> Response:
        """Stop the org, an agent, a tool or a tool of an agent, or lift that pause; other pauses stand.

        From the answer on no approval of it is handed out anywhere, and within a second no replica lets a call of it
        pass. What runs already goes on, what waits for people goes on waiting, and no approval is lost by it; unless
        `deny_waiting` ends both.
        """
        key = await c.access(request, Scope.ADMIN)
        body = await read_model(request, PauseBody)
        if body.deny_waiting and not body.on:
            raise InvalidError("what waits is ended by a pause, not by lifting one", path="deny_waiting")
        switch = await c.switches.set_pause(
            key.org, on=body.on, agent=body.agent, tool=body.tool, reason=body.reason, by=f"key:{key.id}"
        )
        shown = await _answered(c, key.org, switch)
        if body.deny_waiting:
            ended = await c.under_pause.end(key.org, switch, by=switch.set_by, most=_MOST_ENDED)
            shown |= {"ended": {"cancelled": ended.cancelled, "revoked": ended.revoked, "more": ended.more}}
        else:
            await _show(c, key.org, switch)
        return answer(shown)

    return router


async def _show(c: Services, org: str, switch: Switch) -> None:
    """Let cards say that they are paused, or no longer: nothing hangs on it, so nothing that goes wrong is told."""
    try:
        await c.under_pause.show(org, switch)
    except AssentError as error:
        log.warning("pause.not_shown", org=org, why=error.code)


async def _answered(c: Services, org: str, switch: Switch) -> dict[str, object]:
    """Show a switch, with a warning where nothing is known by its names: it is set, for nothing may delay it."""
    try:
        told = [await _strange_agent(c, org, switch.agent), strange_tool(switch.tool, c.run_hooks.policy(org))]
    except AssentError:
        return _view(switch)
    warning = "; ".join(filter(None, told))
    return _view(switch) | ({"warning": warning} if warning else {})


async def _strange_agent(c: Services, org: str, agent: str) -> str | None:
    if not agent:
        return None
    keys = await c.keys.list(org)
    return strange_agent(agent, {*c.run_hooks.named_agents(org), *(str(key.agent) for key in keys if key.agent)})


def _view(switch: Switch) -> dict[str, object]:
    return {
        "name": switch.name,
        "agent": switch.agent or None,
        "tool": switch.tool or None,
        "on": switch.is_on,
        "reason": switch.reason,
        "set_by": switch.set_by,
        "set_at": switch.set_at.isoformat(),
    }
