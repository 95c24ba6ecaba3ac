"""The page on which the trail is looked through, the same as a table to take along, and its verification."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import base_of, language_of, person_of, remember_language, sent_by
from app.domain.errors import InvalidError
from app.domain.request.request import State
from app.domain.words.say import say
from app.usecases.console.office.trail_page import FIELDS, MOST_EXPORTED, SAVED

if TYPE_CHECKING:
    from app.usecases.console_verbs import ConsoleVerbs

_CSV = {
    "Content-Disposition": 'attachment; filename="assent-trail.csv"',
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


def trail_page_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    @router.get("/console/trail", head=True)
    async def show(request: Request) -> Response:
        async def shown() -> Response:
            return await _drawn(c, request)

        return await told(request, shown, closed="signed_out", forbidden="not_for_you")

    @router.get("/console/trail.csv")
    async def export(request: Request) -> Response:
        async def exported() -> Response:
            right = await person_of(c, request)
            text = await c.office.trail.csv(right, _fields(request))
            return Response("\ufeff" + text, headers=_CSV, media_type="text/csv; charset=utf-8")

        return await told(request, exported, closed="signed_out", forbidden="not_for_you")

    @router.post("/console/trail/verify")
    async def verify(request: Request) -> Response:
        async def begun() -> Response:
            right, policy, _ = await sent_by(c, request)
            await c.office.verify.begin(right)
            return see(f"{base_of(policy)}/console/trail", policy)

        return await told(request, begun, closed="signed_out", forbidden="not_for_you")

    return router


def _fields(request: Request) -> dict[str, str]:
    return {name: request.query_params.get(name, "") for name in (*FIELDS, "before")}


async def _drawn(c: ConsoleVerbs, request: Request) -> Response:
    right = await person_of(c, request)
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    fields, notice = _fields(request), ""
    try:
        found = await c.office.trail.show(right, fields, language)
    except InvalidError as error:
        notice = say(language, "trail.invalid", field=say(language, f"trail.{error.more.get('path', 'before')}"))
        found = await c.office.trail.show(right, {}, language)
    given = {name: value for name, value in fields.items() if value and name != "before"}
    values = {
        "found": found,
        "fields": fields,
        "states": [(state.value, say(language, f"headline.{state.value}")) for state in State],
        "saved": SAVED,
        "most": MOST_EXPORTED,
        "onward": urlencode({**given, "before": found.onward}),
        "query": urlencode(given),
        "walk": c.office.verify.shown(right.org),
        "seal": c.sessions.seal_of(right),
        "here": "trail",
        "pages": found.pages,
        "read_at": found.read_at,
        "notice": notice,
    }
    answer = await page(request, "trail.html", language, values, policy=policy, status=400 if notice else 200)
    return remember_language(request, answer, policy)
