"""A person's own page: their second factors, and making a passkey with an invitation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.sign_in.desk import Desk
from app.console.sign_in.passkey_door import as_json
from app.console.visit import base_of, language_of
from app.domain.errors import ForbiddenError, InvalidError
from app.domain.words.say import say

if TYPE_CHECKING:
    from app.usecases.console_verbs import ConsoleVerbs
    from app.usecases.signing_in.passkeys import Asked

_DONE = {"session": "me.session_ended", "passkey": "me.passkey_made", "app": "me.app_made"}


def mine_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router, desk = Router(include_in_schema=False), Desk(c)

    @router.get("/me", head=True)
    async def show(request: Request) -> Response:
        async def shown() -> Response:
            right, policy = await desk.signed_in(request)
            done = _DONE.get(request.query_params.get("done", ""))
            return await desk.draw(request, right, notice=say(language_of(request, policy), done) if done else "")

        return await told(request, shown, closed="signed_out")

    @router.post("/me/passkeys/options")
    async def ask(request: Request) -> Response:
        async def asked() -> Asked:
            right, _, form = await desk.sent(request)
            return await c.passkeys.begin(right, form.get("code", ""))

        return await as_json(request, asked, refused="me.wrong_invitation")

    @router.post("/me/passkeys")
    async def enrol(request: Request) -> Response:
        async def enrolled() -> Response:
            right, policy, form = await desk.sent(request)
            try:
                await c.passkeys.enrol(right, *(form.get(name, "") for name in ("code", "challenge", "answer")))
            except (ForbiddenError, InvalidError) as error:
                return await desk.refuse(request, right, error, "me.passkey_failed")
            return see(f"{base_of(policy)}/me?done=passkey", policy)

        return await told(request, enrolled, closed="signed_out")

    @router.post("/me/sessions")
    async def end(request: Request) -> Response:
        async def ended() -> Response:
            right, policy, form = await desk.sent(request)
            await c.sessions.end_one(right, form.get("session", ""))
            return see(f"{base_of(policy)}/me?done=session", policy)

        return await told(request, ended, closed="signed_out")

    return router
