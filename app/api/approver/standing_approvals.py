"""Standing approvals over HTTP: proposed, confirmed and ended with approvers' own keys; no agent opens any of it."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import asks, takes
from app.api.wire.queries import PAGE_PARAMETERS, cursor_at, parse_permit_page
from app.api.wire.routes import Request, Response, Router
from app.api.wire.schemas import PROBLEMS, Id
from app.domain.identity.api_key import Scope
from app.domain.money.payment import plain
from app.domain.text.language import Language
from app.usecases.permits.permit_before import scope_of
from app.usecases.permits.standing import Proposal

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.usecases.permits.standing import ShownPermit

_AMOUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,4})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_MOST_CURRENCIES = 20


def _exact(amounts: dict[str, str]) -> dict[str, str]:
    for currency, amount in amounts.items():
        if not _CURRENCY.fullmatch(currency) or not _AMOUNT.fullmatch(amount):
            raise ValueError('amounts are texts such as "500.00" by currency such as "CNY"')
    return amounts


Amounts = Annotated[dict[str, str], Field(max_length=_MOST_CURRENCIES), AfterValidator(_exact)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Reason = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class StandingApprovalBody(_Wire):
    """A standing approval that is proposed, on a request that people approved. Nothing holds before it is confirmed."""

    request: Id = Field(description="the approved request: its agent, tool and values are what may be repeated")
    uses: int = Field(ge=1, le=1_000_000)
    lasts_seconds: int = Field(ge=1, le=366 * 86_400, description="from now on")
    each: Amounts = Field(default_factory=dict, description="payments: at most this much each, by currency")
    total: Amounts = Field(default_factory=dict, description="payments: at most this much in all, by currency")
    session: bool = Field(default=False, description="only in the session of that request")
    reason: Reason = ""


class ConfirmBody(_Wire):
    """The second person's yes to exactly what `digest` names."""

    digest: Digest


class StandingApprovalView(BaseModel, defer_build=True):
    """A standing approval as it stands. `state`: proposed, active, used up, ended, revoked.

    `kind`: "standing" where two people made it; "session" where one approver allowed it for a session.
    """

    id: str
    kind: str
    state: str
    scope: str = Field(description="what it allows, in one sentence")
    scope_zh: str
    digest: str
    agent: str | None
    tool: str | None
    session: str | None
    request: str | None
    rule: str | None
    reason: str
    proposed_by: str
    proposed_at: str
    confirmed_by: str | None
    confirmed_at: str | None
    until: str
    uses: int | None
    used: int
    each: dict[str, str]
    total: dict[str, str]
    spent: dict[str, str]
    last_used_at: str | None
    revoked_by: str | None
    revoked_at: str | None


class StandingApprovalsView(BaseModel, defer_build=True):
    """A page of them: those that may still hold come first, then those that are over; the newest first."""

    items: list[StandingApprovalView]
    next_cursor: str | None


"""The models of bodies, for OpenAPI."""


def standing_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["standing approvals"], strict=True)

    @router.get("/v1/standing-approvals", **asks(PAGE_PARAMETERS, StandingApprovalsView))
    async def page(request: Request) -> Response:
        """List the org's standing approvals, also those that are over, with their uses and what was spent."""
        key = await c.access(request, Scope.APPROVER, Scope.ADMIN, Scope.AUDITOR)
        behind, most = parse_permit_page(request)
        page = await c.standing.page(org=key.org, most=most, behind=behind)
        return answer({"items": list(map(_view, page.shown)), "next_cursor": page.behind and cursor_at(*page.behind)})

    @router.post("/v1/standing-approvals", status_code=201, **takes(StandingApprovalBody, StandingApprovalView, 201))
    async def propose(request: Request) -> Response:
        """Propose a standing approval: the answer spells out what it would allow. Nothing holds yet."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, StandingApprovalBody)
        proposal = Proposal(
            request_id=body.request,
            uses=body.uses,
            lasts=timedelta(seconds=body.lasts_seconds),
            each={currency: Decimal(amount) for currency, amount in body.each.items()},
            total={currency: Decimal(amount) for currency, amount in body.total.items()},
            for_session=body.session,
            reason=body.reason,
        )
        shown = await c.standing.propose(org=key.org, person=str(key.person), proposal=proposal)
        return answer(_view(shown), 201)

    @router.post("/v1/standing-approvals/{standing_id}/confirm", **takes(ConfirmBody, StandingApprovalView))
    async def confirm(standing_id: str, request: Request) -> Response:
        """Put a proposed one in force, as a second person who may approve such calls."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, ConfirmBody)
        shown = await c.standing.confirm(org=key.org, person=str(key.person), permit_id=standing_id, digest=body.digest)
        return answer(_view(shown))

    @router.delete("/v1/standing-approvals/{standing_id}", responses={200: {"model": StandingApprovalView}, **PROBLEMS})
    async def revoke(standing_id: str, request: Request) -> Response:
        """End one for good: the next call asks people again, on every replica."""
        key = await c.access(request, Scope.APPROVER, Scope.ADMIN)
        person = str(key.person) if key.scope is Scope.APPROVER else None
        shown = await c.standing.revoke(org=key.org, permit_id=standing_id, by=person or f"key:{key.id}", person=person)
        return answer(_view(shown))

    return router


def view_people(shown: ShownPermit) -> dict[str, object]:
    """Show what both kinds of permission have: who made it, until when it holds, and how often it was used."""
    permit = shown.permit
    times = {
        "proposed_at": permit.proposed_at,
        "confirmed_at": permit.confirmed_at,
        "until": permit.expires_at,
        "last_used_at": permit.last_used_at,
        "revoked_at": permit.revoked_at,
    }
    return {
        "id": permit.id,
        "state": shown.state,
        "scope": shown.sentences[Language.EN],
        "scope_zh": shown.sentences[Language.ZH],
        "digest": permit.digest,
        "reason": permit.reason,
        "proposed_by": permit.proposed_by,
        "confirmed_by": permit.confirmed_by,
        "used": permit.used,
        "revoked_by": permit.revoked_by,
        **{name: at.isoformat() if at else None for name, at in times.items()},
    }


def _view(shown: ShownPermit) -> dict[str, object]:
    scope = scope_of(shown.permit)
    return {
        **view_people(shown),
        "kind": "session" if shown.permit.for_session else "standing",
        "agent": scope.agent if scope else None,
        "tool": scope.tool if scope else None,
        "session": scope.session if scope else None,
        "request": scope.request if scope else None,
        "rule": scope.rule if scope else None,
        "uses": scope.uses if scope else None,
        "each": {currency: plain(amount) for currency, amount in scope.each.items()} if scope else {},
        "total": {currency: plain(amount) for currency, amount in scope.total.items()} if scope else {},
        "spent": {currency: plain(amount) for currency, amount in shown.spent.items()},
    }
