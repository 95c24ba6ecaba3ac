"""The administrators' page and its forms: who has which role, factor, session and key, and what is done about it."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.sign_in.passkey_door import as_json
from app.console.visit import base_of, language_of, person_of, remember_language, sent_by
from app.domain.card.card_for import instant_text
from app.domain.errors import ForbiddenError, InvalidError, LockedError, NotFoundError, StepUpNeededError
from app.domain.words.say import say
from app.usecases.console.office.admin_page import covers_invitation
from app.usecases.proving.proof import Given

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs
    from app.usecases.signing_in.passkeys import Asked

_DONE = {"revoked", "taken", "signed_out"}


def admin_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    async def answered(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
        return await told(request, work, closed="signed_out", forbidden="not_for_you")

    @router.get("/console/admin", head=True)
    async def show(request: Request) -> Response:
        return await answered(request, partial(_shown, c, request))

    @router.post("/console/admin/invite/options")
    async def ask(request: Request) -> Response:
        return await as_json(request, partial(_asked, c, request), refused="admin.wrong")

    @router.post("/console/admin/invite")
    async def invite(request: Request) -> Response:
        return await answered(request, partial(_invited, c, request))

    @router.post("/console/admin/take")
    async def take(request: Request) -> Response:
        return await answered(request, partial(_done, c, request, _take, "taken"))

    @router.post("/console/admin/sign-out")
    async def sign_out(request: Request) -> Response:
        return await answered(request, partial(_done, c, request, _sign_out, "signed_out"))

    @router.post("/console/admin/revoke")
    async def revoke(request: Request) -> Response:
        return await answered(request, partial(_done, c, request, _revoke, "revoked"))

    return router


async def _shown(c: ConsoleVerbs, request: Request) -> Response:
    right = await person_of(c, request)
    done = request.query_params.get("done", "")
    notice = say(language_of(request, c.sessions.policy_of(right)), f"admin.done.{done}") if done in _DONE else ""
    return await _drawn(c, request, right, notice=notice, sought=request.query_params.get("q", ""))


async def _asked(c: ConsoleVerbs, request: Request) -> Asked:
    right, _, form = await sent_by(c, request)
    await c.office.admin.may(right)
    return await c.passkeys.ask_act(right, covers_invitation(form.get("person", "")))


async def _take(c: ConsoleVerbs, right: Right, form: Mapping[str, str]) -> None:
    await c.office.admin.take_away(right, form.get("person", ""), passkey=form.get("passkey") or None)


async def _sign_out(c: ConsoleVerbs, right: Right, form: Mapping[str, str]) -> None:
    await c.office.admin.sign_out(right, form.get("person", ""))


async def _revoke(c: ConsoleVerbs, right: Right, form: Mapping[str, str]) -> None:
    await c.office.admin.revoke(right, form.get("key", ""))


async def _done(
    c: ConsoleVerbs,
    request: Request,
    act: Callable[[ConsoleVerbs, Right, Mapping[str, str]], Awaitable[None]],
    done: str,
) -> Response:
    """Do what a form says, if its reader is sure, and show the page anew."""
    right, policy, form = await sent_by(c, request)
    await c.office.admin.may(right)
    language = language_of(request, policy)
    if form.get("sure") != "yes":
        return await _drawn(c, request, right, notice=say(language, "admin.unsure"), status=409)
    try:
        await act(c, right, form)
    except NotFoundError:
        return await _drawn(c, request, right, notice=say(language, "admin.gone"), status=409)
    return see(f"{base_of(policy)}/console/admin?done={done}", policy)


async def _invited(c: ConsoleVerbs, request: Request) -> Response:
    """Invite somebody, and show the code: this once, and in no other answer."""
    right, policy, form = await sent_by(c, request)
    await c.office.admin.may(right)
    language, person = language_of(request, policy), form.get("person", "")
    try:
        signed = await c.passkeys.acted(right, form.get("challenge", ""), form["answer"]) if "answer" in form else None
        given = Given(totp="".join(form.get("totp", "").split()) or None, passkey=signed)
        made = await c.office.admin.invite(right, person, given)
    except LockedError as error:
        minutes = math.ceil(int(str(error.more.get("retry_after", 60))) / 60)
        return await _drawn(c, request, right, notice=say(language, "console.locked", minutes=minutes), status=409)
    except (StepUpNeededError, ForbiddenError):
        return await _drawn(c, request, right, notice=say(language, "admin.wrong"), status=409)
    except InvalidError:
        return await _drawn(c, request, right, notice=say(language, "admin.gone"), status=409)
    told = say(language, "admin.invitation", person=made.person, at=instant_text(made.expires_at, policy.zone))
    return await _drawn(c, request, right, invitation=(told, made.code))


async def _drawn(
    c: ConsoleVerbs,
    request: Request,
    right: Right,
    *,
    notice: str = "",
    sought: str = "",
    status: int = 200,
    invitation: tuple[str, str] | None = None,
) -> Response:
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    found = await c.office.admin.show(right, language, sought=sought)
    values = {
        "found": found,
        "seal": c.sessions.seal_of(right),
        "here": "admin",
        "pages": found.pages,
        "read_at": found.read_at,
        "notice": notice,
        "invitation": invitation,
        "posted": request.method == "POST",
    }
    answer = await page(request, "admin.html", language, values, policy=policy, status=status)
    return remember_language(request, answer, policy)
