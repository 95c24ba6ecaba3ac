"""Second factors: an administrator invites and removes, a person redeems and confirms with their own key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import asks, takes
from app.api.wire.routes import Request, Response, Router
from app.api.wire.schemas import PROBLEMS, Email, Totp
from app.domain.identity.api_key import Scope

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.domain.identity.factor import Factor
    from app.domain.identity.passkey import Passkey


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class InvitationBody(_Wire):
    """Let a person set a second factor up, or another one in the place of theirs."""

    person: Email


class RedeemBody(_Wire):
    """Begin a second factor with an invitation; the person is the one whose key it is."""

    code: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00]*$", description="the invitation's")]


class FirstCodeBody(_Wire):
    """Take a second factor into use."""

    totp: Totp = Field(description="the six digits that the app shows now")


class InvitationView(BaseModel, defer_build=True):
    """An invitation. `code` is shown this once: hand it to the person by another way than their key has."""

    person: str
    code: str
    expires_at: str


class EnrolmentView(BaseModel, defer_build=True):
    """What goes into the app, as a QR code of `uri` or by hand. Shown this once."""

    secret: str
    uri: str
    confirm_by: str


class FactorView(BaseModel, defer_build=True):
    """How far a person has come. `invited_until`: an invitation, or a secret without its first code, holds until then.

    Codes count while it is `active`, also while it is being replaced.
    """

    person: str
    status: str
    invited_until: str | None
    set_by: str
    set_at: str


class PasskeyView(BaseModel, defer_build=True):
    """One passkey of a person."""

    id: str
    person: str
    added_at: str
    used_at: str | None


class FactorsView(BaseModel, defer_build=True):
    """Who has a second factor, or is about to: apps that show codes (`items`), and passkeys."""

    items: list[FactorView]
    passkeys: list[PasskeyView]


_NOTHING: dict[int | str, dict[str, object]] = {204: {"description": "Done."}, **PROBLEMS}


def factors_router(c: Services) -> Router:
    """Build the routes under /v1/factors."""
    router = Router(tags=["second factors"])

    @router.get("/v1/factors", **asks([], FactorsView))
    async def page(request: Request) -> Response:
        """List who has a second factor or an invitation, without anything secret."""
        key = await c.access(request, Scope.ADMIN)
        apps, passkeys = await c.factors.list(key.org), await c.factors.list_passkeys(key.org)
        return answer({"items": [*map(_view, apps)], "passkeys": [*map(_passkey_view, passkeys)]})

    @router.post("/v1/factors/invitations", **takes(InvitationBody, InvitationView, 201))
    async def invite(request: Request) -> Response:
        """Invite a person; the code works once, for a day, and only together with that person's own key."""
        key = await c.access(request, Scope.ADMIN)
        body = await read_model(request, InvitationBody)
        made = await c.factors.invite(key.org, body.person, by=f"key:{key.id}")
        return answer({"person": made.person, "code": made.code, "expires_at": made.expires_at.isoformat()}, 201)

    @router.post("/v1/factors/enrol", **takes(RedeemBody, EnrolmentView))
    async def enrol(request: Request) -> Response:
        """Redeem an invitation: the secret for the app, which counts once `confirm` has had its first code."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, RedeemBody)
        begun = await c.factors.redeem(key.org, str(key.person), body.code)
        return answer({"secret": begun.secret, "uri": begun.uri, "confirm_by": begun.confirm_by.isoformat()})

    @router.post("/v1/factors/confirm", **takes(FirstCodeBody, FactorView))
    async def confirm(request: Request) -> Response:
        """Take the begun factor into use with its first code; one that was there before ends with it."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, FirstCodeBody)
        return answer(_view(await c.factors.confirm(key.org, str(key.person), body.totp)))

    @router.delete("/v1/factors/{person}", status_code=204, responses=_NOTHING)
    async def remove(person: str, request: Request) -> Response:
        """Take all second factors of a person away, and any invitation: until a new one they approve nothing at L3."""
        key = await c.access(request, Scope.ADMIN)
        await c.factors.remove(key.org, person, by=f"key:{key.id}")
        return Response(status_code=204)

    @router.delete("/v1/factors/{person}/passkeys/{passkey_id}", status_code=204, responses=_NOTHING)
    async def remove_passkey(person: str, passkey_id: str, request: Request) -> Response:
        """Take one passkey of a person away; what else they have goes on working."""
        key = await c.access(request, Scope.ADMIN)
        await c.factors.remove(key.org, person, by=f"key:{key.id}", passkey=passkey_id)
        return Response(status_code=204)

    return router


def _passkey_view(passkey: Passkey) -> dict[str, object]:
    return {
        "id": passkey.id,
        "person": passkey.person,
        "added_at": passkey.added_at.isoformat(),
        "used_at": passkey.used_at.isoformat() if passkey.used_at else None,
    }


def _view(factor: Factor) -> dict[str, object]:
    return {
        "person": factor.person,
        "status": factor.status.value,
        "invited_until": factor.invite_until.isoformat() if factor.invite_until else None,
        "set_by": factor.set_by,
        "set_at": factor.set_at.isoformat(),
    }
