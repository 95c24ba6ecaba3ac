"""The inbox of whoever is signed in, and the way out."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import (
    base_of,
    drop_session,
    language_of,
    person_of,
    remember_language,
    sent_by,
)
from app.domain.errors import ForbiddenError, NotFoundError
from app.domain.request.decision import Verdict
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.console.decide_page import Wanted
from app.usecases.console.inbox import MOST_SHOWN
from app.usecases.console.sessions import pages_of

if TYPE_CHECKING:
    from app.domain.text.language import Language
    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs


def inbox_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    @router.get("/", head=True)
    async def inbox(request: Request) -> Response:
        async def shown() -> Response:
            return await _drawn(c, request, await person_of(c, request))

        return await told(request, shown, closed="signed_out")

    @router.post("/")
    async def together(request: Request) -> Response:
        async def pressed() -> Response:
            right, _, form = await sent_by(c, request, fields=MOST_SHOWN + 2)
            return await _drawn(c, request, right, form)

        return await told(request, pressed, closed="signed_out")

    @router.post("/sign-out")
    async def leave(request: Request) -> Response:
        async def left() -> Response:
            right, policy, form = await sent_by(c, request)
            await c.sessions.end(right, everywhere=form.get("where") == "everywhere")
            response = see(f"{base_of(policy)}/", policy)
            drop_session(response, policy)
            return response

        return await told(request, left, closed="signed_out")

    return router


class Told(Struct, frozen=True):
    """What became of one request that was marked."""

    what: str
    how: str
    good: bool


async def _drawn(c: ConsoleVerbs, request: Request, right: Right, form: dict[str, str] | None = None) -> Response:
    """Draw the lists as they stand, also after several were approved, with what became of each."""
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    marked = {name: press for name, press in (form or {}).items() if name != "seal"}
    results = await _approved(c, right, language, marked) if marked else []
    alone, after = request.query_params.get("list", ""), request.query_params.get("after", "")
    lists = await c.inbox(right, language, alone=alone, after=after)
    drawn = (lists.to_decide, lists.others, lists.asked, lists.done)
    rows = [(item.id, item.stands, item.tone, item.asks) for each in drawn for item in each.items]
    values = {
        "lists": lists,
        "stands": hashlib.sha256(repr([lists.counted, rows]).encode()).hexdigest()[:16],
        "after": after,
        "told": results,
        "notice": say(language, "inbox.together.none") if form is not None and not marked else "",
        "reader": visible(name_of(policy, right.person, language)),
        "seal": c.sessions.seal_of(right),
        "pages": pages_of(right),
    }
    all_good = form is None or (results and all(each.good for each in results))
    answer = await page(request, "inbox.html", language, values, policy=policy, status=200 if all_good else 409)
    return remember_language(request, answer, policy)


async def _approved(c: ConsoleVerbs, right: Right, language: Language, marked: dict[str, str]) -> list[Told]:
    """Approve each of several as its row showed it, one after the other; whatever one meets keeps no other back."""
    refused: dict[str, str] = {}
    for request_id, press in marked.items():
        wanted = Wanted(verdict=Verdict.APPROVE, press=press, together=True)
        try:
            found = await c.decide_page.press(right, request_id, wanted, language)
        except (ForbiddenError, NotFoundError):
            refused[request_id] = say(language, "inbox.gone")
        else:
            refused |= {request_id: found.sentence} if found else {}
    rows = await c.inbox.rows(right, language, list(marked))
    return [
        Told(
            what=" ".join(filter(None, (row.amount, row.payee))) or row.title if (row := rows.get(each)) else "–",
            how=refused.get(each) or f"{say(language, 'inbox.recorded')} · {row.stands if row else ''}",
            good=each not in refused,
        )
        for each in marked
    ]
