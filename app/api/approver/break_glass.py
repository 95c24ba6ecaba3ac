"""Breaking the glass over HTTP, with the personal keys of approvers only: no agent's, and no administrator's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.api.approver.standing_approvals import Digest, view_people
from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import asks, takes
from app.api.wire.queries import PAGE_PARAMETERS, cursor_at, parse_permit_page
from app.api.wire.routes import Request, Response, Router
from app.api.wire.schemas import Id, NothingBody, Totp
from app.domain.identity.api_key import Scope
from app.domain.money.payment import plain
from app.usecases.permits.glass_terms import Emergency
from app.usecases.permits.permit_before import glass_scope_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from app.api.wire.services import Services
    from app.usecases.permits.standing import ShownPermit

_Prose = Annotated[
    str, Field(max_length=1000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$", description="plain text, not empty")
]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class EmergencyBody(_Wire):
    """What one person asks for; nothing holds before a second one confirms it."""

    reason: _Prose
    tools: list[Id] = Field(default=["*"], min_length=1, max_length=50, description="names or patterns, as in rules")
    agent: Id | None = Field(default=None, description="only this agent")
    minutes: int = Field(ge=1, le=60)
    totp: Totp | None = Field(
        default=None, description="the six digits of the person's second factor, where a covered rule takes one"
    )


class GlassConfirmBody(_Wire):
    """The digest of exactly what was read; `totp` where the first of the two has given one."""

    digest: Digest
    totp: Totp | None = Field(default=None, description="the six digits that the person's second factor shows now")


class GlassReviewBody(_Wire):
    """What somebody found who looked at all that was done under it."""

    note: _Prose


class GlassView(BaseModel, defer_build=True):
    """A broken glass as it stands. `state`: proposed, active, ended, revoked."""

    id: str
    state: str
    scope: str = Field(description="what it allows, in one sentence")
    scope_zh: str
    digest: str
    reason: str
    agent: str | None
    tools: list[str]
    minutes: int | None
    uses: int | None = Field(description="how often it may be used")
    each: dict[str, str] = Field(description="how much one payment may be, by currency")
    total: dict[str, str] = Field(description="how much all payments may be together, by currency")
    spent: dict[str, str] = Field(description="how much they are so far")
    factor: bool = Field(description="whether it covers what takes a second factor, for both have shown theirs")
    proposed_by: str
    proposed_at: str
    confirmed_by: str | None
    confirmed_at: str | None
    until: str
    used: int
    last_used_at: str | None
    revoked_by: str | None
    revoked_at: str | None
    reviewed_by: str | None
    reviewed_at: str | None
    review: str | None


class GlassesView(BaseModel, defer_build=True):
    """A page of them: what is not reviewed yet first, then the newest first."""

    items: list[GlassView]
    next_cursor: str | None


"""The models of bodies, for OpenAPI."""


def break_glass_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["break-glass"], strict=True)

    @router.get("/v1/break-glass", **asks(PAGE_PARAMETERS, GlassesView))
    async def page(request: Request) -> Response:
        """List when the glass was broken, by whom and why; what is not reviewed yet comes first."""
        key = await c.access(request, Scope.APPROVER, Scope.ADMIN, Scope.AUDITOR)
        behind, most = parse_permit_page(request)
        page = await c.break_glass.page(org=key.org, most=most, behind=behind)
        return answer({"items": list(map(_view, page.shown)), "next_cursor": page.behind and cursor_at(*page.behind)})

    @router.post("/v1/break-glass", status_code=201, **takes(EmergencyBody, GlassView, 201))
    async def ask(request: Request) -> Response:
        """Ask to break the glass, as one of those whom the file names. A second one confirms within 15 minutes."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, EmergencyBody)
        emergency = Emergency(tools=(*body.tools,), agent=body.agent, minutes=body.minutes, reason=body.reason.strip())
        asked = await c.break_glass.ask(org=key.org, person=str(key.person), emergency=emergency, totp=body.totp)
        return answer(_view(asked), 201)

    @router.post("/v1/break-glass/{glass_id}/confirm", **takes(GlassConfirmBody, GlassView))
    async def confirm(glass_id: str, request: Request) -> Response:
        """Break it: from now on, for the minutes asked for, its calls run without anybody being asked."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, GlassConfirmBody)
        shown = await c.break_glass.confirm(
            org=key.org, person=str(key.person), permit_id=glass_id, digest=body.digest, totp=body.totp
        )
        return answer(_view(shown))

    @router.post("/v1/break-glass/{glass_id}/end", **takes(NothingBody, GlassView))
    async def end(glass_id: str, request: Request) -> Response:
        """End it early, as anybody who might break it; approvals that were not used yet are taken back."""
        key = await c.access(request, Scope.APPROVER)
        await read_model(request, NothingBody)
        return answer(_view(await c.break_glass.end(org=key.org, person=str(key.person), permit_id=glass_id)))

    @router.post("/v1/break-glass/{glass_id}/review", **takes(GlassReviewBody, GlassView))
    async def review(glass_id: str, request: Request) -> Response:
        """Say what was found, as somebody of the file's `review`, not of the two. Until then nobody can ask again."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, GlassReviewBody)
        shown = await c.break_glass.review(org=key.org, person=str(key.person), permit_id=glass_id, note=body.note)
        return answer(_view(shown))

    return router


def _view(shown: ShownPermit) -> dict[str, object]:
    permit, scope = shown.permit, glass_scope_of(shown.permit)
    bounds = scope.bounds if scope else None
    return {
        **view_people(shown),
        "agent": scope.agent if scope else None,
        "tools": list(scope.tools) if scope else [],
        "minutes": scope.minutes if scope else None,
        "uses": bounds.uses if bounds else None,
        "each": _amounts(bounds.each if bounds else {}),
        "total": _amounts(bounds.total if bounds else {}),
        "spent": _amounts(shown.spent),
        "factor": scope is not None and scope.factor,
        "reviewed_by": permit.reviewed_by,
        "reviewed_at": permit.reviewed_at.isoformat() if permit.reviewed_at else None,
        "review": permit.review,
    }


def _amounts(amounts: Mapping[str, Decimal]) -> dict[str, str]:
    return {currency: plain(amount) for currency, amount in amounts.items()}
