"""An authenticator app, set up on a person's own page: its secret is shown once, its first code takes it into use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.sign_in.desk import Desk
from app.console.visit import base_of
from app.domain.errors import ForbiddenError, NotFoundError

if TYPE_CHECKING:
    from app.usecases.console_verbs import ConsoleVerbs
    from app.usecases.proving.factors import Enrolment


def authenticator_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router, desk = Router(include_in_schema=False), Desk(c)

    @router.post("/me/app")
    async def begin(request: Request) -> Response:
        async def begun() -> Response:
            right, _, form = await desk.sent(request)
            try:
                made = await c.factors.redeem(right.org, right.person, form.get("code", ""))
            except ForbiddenError as error:
                return await desk.refuse(request, right, error, "me.wrong_invitation")
            picture = await asyncio.to_thread(_picture, made)
            return await desk.draw(request, right, secret={"text": made.secret, "uri": made.uri, "picture": picture})

        return await told(request, begun, closed="signed_out")

    @router.post("/me/app/confirm")
    async def confirm(request: Request) -> Response:
        async def confirmed() -> Response:
            right, policy, form = await desk.sent(request)
            try:
                await c.factors.confirm(right.org, right.person, "".join(form.get("totp", "").split()))
            except NotFoundError as error:
                return await desk.refuse(request, right, error, "me.nothing_begun")
            except ForbiddenError as error:
                return await desk.refuse(request, right, error, "me.wrong_code", confirming=True)
            return see(f"{base_of(policy)}/me?done=app", policy)

        return await told(request, confirmed, closed="signed_out")

    return router


def _picture(made: Enrolment) -> str:
    """Draw the app's address. It is the library's own markup, and has nothing of the address in it but squares."""
    import segno

    return segno.make(made.uri, micro=False).svg_inline(border=4, light="#fff", omitsize=True)
