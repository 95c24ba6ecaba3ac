"""The page of the rules, and its forms: try a call, judge the last ones by another file, end a standing approval."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.uploads import form_with_file
from app.console.visit import base_of, foreign, is_own, language_of, person_of, remember_language, sent_by
from app.domain.errors import (
    ForbiddenError,
    InvalidError,
    NotEligibleError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from app.domain.words.say import say
from app.usecases.console.office.call_form import MORE
from app.usecases.console.office.proposed_file import MOST_CALLS, MOST_TEXT
from app.usecases.console.rights import Page
from app.usecases.judging.propose import FEWEST, OCCASIONS
from app.usecases.judging.propose_rules import MOST_READ

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from app.domain.rules.policy import Policy
    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs

_MOST_TRIED = 65_536  # bytes of a call's form, percent-encoded
_MOST_FIELDS = 40
_FRAME = 4_096  # bytes of a form with a file beside the file
_TEXT = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


def rules_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    async def answered(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
        return await told(request, work, closed="signed_out", forbidden="not_for_you")

    @router.get("/console/rules", head=True)
    async def show(request: Request) -> Response:
        async def shown() -> Response:
            return await _drawn(c, request, await person_of(c, request), tool=request.query_params.get("tool", ""))

        return await answered(request, shown)

    @router.get("/console/rules/proposed")
    async def proposed(request: Request) -> Response:
        return await answered(request, partial(_suggested, c, request))

    @router.get("/console/rules/versions/{version}")
    async def text(version: str, request: Request) -> Response:
        async def written() -> Response:
            kept = await c.office.rules.text(await person_of(c, request), version)
            name = f'attachment; filename="assent-{version}.yaml"'  # a version that is kept is of hexadecimal digits
            headers = {**_TEXT, "Content-Disposition": name}
            return Response(kept, headers=headers, media_type="text/plain; charset=utf-8")

        return await answered(request, written)

    @router.post("/console/rules/try")
    async def try_call(request: Request) -> Response:
        return await answered(request, partial(_tried, c, request))

    @router.post("/console/rules/replay")
    async def replay(request: Request) -> Response:
        return await answered(request, partial(_replayed, c, request))

    @router.post("/console/rules/standing/{standing_id}/end")
    async def end(standing_id: str, request: Request) -> Response:
        return await answered(request, partial(_ended, c, request, standing_id))

    return router


async def _tried(c: ConsoleVerbs, request: Request) -> Response:
    right, policy, form = await sent_by(c, request, most=_MOST_TRIED, fields=_MOST_FIELDS)
    language, tool = language_of(request, policy), form.get("tool", "")
    try:
        found = await c.office.rules.try_call(right, form, language)
    except InvalidError as error:
        field = str(error.more.get("path", "")) or say(language, "rules.try.choose")
        field = say(language, "rules.try.more") if field == MORE else field
        notice = say(language, "rules.try.invalid", field=field, why=error.detail)
        return await _drawn(c, request, right, tool=tool, notice=notice, more={"given": form})
    return await _drawn(c, request, right, tool=tool, more={"given": form, "tried": found})


async def _replayed(c: ConsoleVerbs, request: Request) -> Response:
    right = await person_of(c, request)
    if not right.pages >= {Page.RULES, Page.TRAIL}:  # before a body of this size is read
        raise ForbiddenError
    policy = c.sessions.policy_of(right)
    form = await form_with_file(request, most=2 * MOST_TEXT + _FRAME)
    seal = form.get("seal", b"").decode("ascii", "replace")
    if not is_own(request, policy):
        raise foreign()
    if not c.sessions.is_sealed(right, seal):
        raise UnauthenticatedError
    return await _judged(c, request, right, form.get("file", b"") or form.get("text", b""))


async def _suggested(c: ConsoleVerbs, request: Request) -> Response:
    right = await person_of(c, request)
    try:
        found = await c.office.proposed.suggest(right)
    except UnavailableError:
        language = language_of(request, c.sessions.policy_of(right))
        return await _drawn(c, request, right, notice=say(language, "rules.replay.busy"))
    return await _drawn(c, request, right, more={"suggested": found})


async def _ended(c: ConsoleVerbs, request: Request, standing_id: str) -> Response:
    right, policy, _ = await sent_by(c, request)
    try:
        await c.office.rules.end(right, standing_id)
    except (NotEligibleError, NotFoundError):
        notice = say(language_of(request, policy), "rules.standing.not")
        return await _drawn(c, request, right, notice=notice)
    return see(f"{base_of(policy)}/console/rules#standing", policy)


async def _judged(c: ConsoleVerbs, request: Request, right: Right, given: bytes) -> Response:
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    try:
        text = given.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if not text.strip() or len(given) > MOST_TEXT or "\0" in text:
        return await _drawn(c, request, right, notice=say(language, "rules.replay.empty", most=MOST_TEXT))
    try:
        found = await c.office.proposed.judge(right, text)
    except UnavailableError:
        return await _drawn(c, request, right, notice=say(language, "rules.replay.busy"))
    return await _drawn(c, request, right, more={"judged": found})


async def _drawn(
    c: ConsoleVerbs,
    request: Request,
    right: Right,
    *,
    tool: str = "",
    notice: str = "",
    more: Mapping[str, object] | None = None,
) -> Response:
    policy: Policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    found = await c.office.rules.show(right, language, tool=tool)
    values: dict[str, object] = {
        "found": found,
        "tried": None,
        "judged": None,
        "suggested": None,
        "fewest": FEWEST,
        "occasions": OCCASIONS,
        "most_read": MOST_READ,
        "given": {},
        "seal": c.sessions.seal_of(right),
        "most_calls": MOST_CALLS,
        "most_text": MOST_TEXT,
        "here": "rules",
        "pages": found.pages,
        "read_at": found.read_at,
        "notice": notice,
        **(more or {}),
    }
    answer = await page(request, "rules.html", language, values, policy=policy, status=409 if notice else 200)
    return remember_language(request, answer, policy)
