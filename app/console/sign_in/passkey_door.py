"""Passkeys at the door and before a decision: what the browser asks for, and the session that its answer begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.bodies import answer
from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import base_of, form_of, is_own, keep_session, language_of, sessions_in
from app.domain.errors import AssentError, ForbiddenError, LockedError, UnauthenticatedError
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from app.usecases.console_verbs import ConsoleVerbs
    from app.usecases.signing_in.passkeys import Asked


def passkey_door_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    @router.post("/sign-in/passkey/options")
    async def ask(request: Request) -> Response:
        return await as_json(request, c.passkeys.ask_sign_in)

    @router.post("/sign-in/passkey")
    async def enter(request: Request) -> Response:
        async def entered() -> Response:
            form = await form_of(request)
            said, challenge = form.get("answer", ""), form.get("challenge", "")
            try:
                policy = await c.passkeys.door(said)
                if not is_own(request, policy):
                    raise UnauthenticatedError  # noqa: TRY301 - said like any other that is not one of ours
                begun = await c.passkeys.sign_in(challenge, said)
            except UnauthenticatedError:
                return await sign_in_page(c, request, notice="door.passkey_failed", status=401)
            response = see(f"{base_of(policy)}/", policy)
            keep_session(response, policy, begun)
            return response

        return await told(request, entered)

    @router.post("/r/{request_id}/passkey")
    async def ask_approval(request_id: str, request: Request) -> Response:
        async def asked() -> Asked:
            right = await c.sessions.right_of(*sessions_in(request))
            if not is_own(request, c.sessions.policy_of(right)):
                raise UnauthenticatedError
            return await c.passkeys.ask_approval(right, request_id, (await form_of(request)).get("press", ""))

        return await as_json(request, asked, refused="console.passkey_failed")

    return router


async def sign_in_page(c: ConsoleVerbs, request: Request, *, notice: str | None = None, status: int = 200) -> Response:
    """Draw the page on which people sign in who came without a link."""
    language = language_of(request, None)
    host = request.url.hostname or ""
    offered = c.elsewhere.offered(host)
    ways = [
        (f"{base_of(c.elsewhere.policy_of(org))}/sign-in/with/{org}/{each.name}", each.label) for org, each in offered
    ]
    values = {"notice": say(language, notice) if notice else "", "ways": ways}
    values |= {"passkeys": c.elsewhere.takes_passkeys(host)}
    return await page(request, "sign_in.html", language, values, status=status)


async def as_json(
    request: Request, work: Callable[[], Awaitable[Asked]], *, refused: str = "door.passkey_failed"
) -> Response:
    """Answer a script of ours with what the browser is to ask for, or with a sentence."""
    language = language_of(request, None)
    try:
        asked = await work()
    except LockedError as error:
        minutes = -(-int(str(error.more.get("retry_after", 60))) // 60)
        return answer({"error": say(language, "console.locked", minutes=minutes)}, 409)
    except ForbiddenError:
        return answer({"error": say(language, refused)}, 409)
    except AssentError:
        return answer({"error": say(language, "review.signed_out")}, 401)
    response = answer({"options": asked.options, "challenge": asked.challenge})
    response.headers["Cache-Control"] = "no-store"
    return response
