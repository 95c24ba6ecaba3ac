"""The page that says how the gateway does, and the form that pauses all of it, or lifts that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.routes import Request, Response, Router
from app.console.answers import see, told
from app.console.pages import page
from app.console.visit import base_of, language_of, person_of, remember_language, sent_by
from app.domain.errors import UnauthenticatedError
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.console.office.budgets_used import MOST_SPENDS
from app.usecases.console.office.pulse_page import OUTCOMES
from app.usecases.console.rights import Page

if TYPE_CHECKING:
    from app.domain.rules.policy import Policy
    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs

_SWITCH = {"pause": True, "lift": False}
_MOST_REASON = 1_000


def pulse_router(c: ConsoleVerbs) -> Router:
    """Build the routes."""
    router = Router(include_in_schema=False)

    @router.get("/console/pulse", head=True)
    async def show(request: Request) -> Response:
        async def shown() -> Response:
            right = await person_of(c, request)
            return await _drawn(c, request, right)

        return await told(request, shown, closed="signed_out", forbidden="not_for_you")

    @router.post("/console/pulse/pause")
    async def pause(request: Request) -> Response:
        async def paused() -> Response:
            right, policy, form = await sent_by(c, request)
            if form.get("do") not in _SWITCH:
                raise UnauthenticatedError
            await c.office.pulse.may_pause(right)
            on, reason, language = _SWITCH[form["do"]], form.get("reason", "").strip(), language_of(request, policy)
            if form.get("sure") != "yes" or (on and not reason) or len(reason) > _MOST_REASON:
                return await _drawn(c, request, right, notice=say(language, "pulse.pause.sure"))
            switch = await c.switches.set_pause(right.org, on=on, reason=reason or None, by=right.person)
            await c.under_pause.show(right.org, switch)
            return see(f"{base_of(policy)}/console/pulse", policy)

        return await told(request, paused, closed="signed_out", forbidden="not_for_you")

    @router.post("/console/pulse/test")
    async def post_test(request: Request) -> Response:
        async def posted() -> Response:
            right, policy, form = await sent_by(c, request)
            made = await c.trial.post(right, form.get("channel", ""))
            return see(f"{base_of(policy)}/console/pulse?test={made}#test", policy)

        return await told(request, posted, closed="signed_out", forbidden="not_for_you")

    return router


async def _drawn(c: ConsoleVerbs, request: Request, right: Right, *, notice: str = "") -> Response:
    policy = c.sessions.policy_of(right)
    language = language_of(request, policy)
    found = await c.office.pulse.show(right, language)
    asked = request.query_params.get("test", "")
    tested = await c.trial.look(right, asked, language) if asked and Page.PAUSE in found.pages else None
    values = {
        "found": found,
        "outcomes": OUTCOMES,
        "tested": tested,
        "test_id": asked,
        "most_spends": MOST_SPENDS,
        "tallest": max([1, *(day.total for day in found.days)]),
        "channels": [spec.name for spec in policy.channels],
        "lights": _lights(c, policy),
        "seal": c.sessions.seal_of(right),
        "most_reason": _MOST_REASON,
        "here": "pulse",
        "pages": found.pages,
        "read_at": found.read_at,
        "notice": notice,
    }
    answer = await page(request, "pulse.html", language, values, policy=policy, status=409 if notice else 200)
    return remember_language(request, answer, policy)


def _lights(c: ConsoleVerbs, policy: Policy) -> list[tuple[str, str, str]]:
    """Say of each of the org's channels whether it could be reached last, as this gateway knows."""
    names = {spec.name for spec in policy.channels}
    words = {None: "untried", True: "open", False: "shut"}
    stands = {at: words[found.is_open] for at, found in c.contact.directions().items()}
    stands |= {(name, "know"): "shut" for name in c.contact.unknowing()}
    return [(visible(name), way, stand) for (name, way), stand in sorted(stands.items()) if name in names]
