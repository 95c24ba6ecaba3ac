"""The page of one request's story, and the form that settles an outcome which nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import base_of, language_of, person_of, remember_language, sent_by
from app.domain.errors import NotStartedError, OutcomeConflictError, UnauthenticatedError
from app.domain.words.say import say
from app.usecases.console.office.request_page import MOST_NOTE
from app.usecases.console.office.timeline import LANES

if TYPE_CHECKING:
    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs

_RAN = {"succeeded": True, "failed": False}


def request_stories_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    @router.get("/console/requests/{request_id}", head=True)
    async def show(request_id: str, request: Request) -> Response:
        async def shown() -> Response:
            right = await person_of(c, request)
            return await _drawn(c, request, right, request_id)

        return await told(request, shown, closed="signed_out", forbidden="not_for_you")

    @router.post("/console/requests/{request_id}")
    async def settle(request_id: str, request: Request) -> Response:
        async def settled() -> Response:
            right, policy, form = await sent_by(c, request)
            if form.get("status") not in _RAN:
                raise UnauthenticatedError
            note, language = form.get("note", "").strip(), language_of(request, policy)
            if not note or len(note) > MOST_NOTE:
                notice = say(language, "story.settle.needed", most=MOST_NOTE)
                return await _drawn(c, request, right, request_id, notice=notice, note=note)
            try:
                await c.office.story.settle(right, request_id, ran=_RAN[form["status"]], note=note)
            except (OutcomeConflictError, NotStartedError):
                notice = say(language, "story.settle.conflict")
                return await _drawn(c, request, right, request_id, notice=notice)
            return see(f"{base_of(policy)}/console/requests/{request_id}", policy)

        return await told(request, settled, closed="signed_out", forbidden="not_for_you")

    return router


async def _drawn(
    c: ConsoleVerbs, request: Request, right: Right, request_id: str, *, notice: str = "", note: str = ""
) -> Response:
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    found = await c.office.story.show(right, request_id, language)
    values = {
        "found": found,
        "line": found.timeline,
        "lanes": LANES,
        "rows": list(zip(found.timeline.rows, found.sheet.record, strict=True)),
        "card": found.sheet.card,
        "here": "",
        "pages": found.pages,
        "read_at": found.read_at,
        "seal": c.sessions.seal_of(right),
        "most_note": MOST_NOTE,
        "notice": notice,
        "note": note[:MOST_NOTE],
    }
    answer = await page(request, "story.html", language, values, policy=policy, status=409 if notice else 200)
    return remember_language(request, answer, policy)
