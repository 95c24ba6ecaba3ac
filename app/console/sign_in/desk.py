"""What the routes of a person's own page share: who they are, forms of that page, and drawing it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from app.console.pages import page
from app.console.visit import language_of, person_of, remember_language, sent_by
from app.domain.card.card_for import instant_text
from app.domain.errors import LockedError
from app.domain.text.visible import visible
from app.domain.words.say import say

if TYPE_CHECKING:
    from datetime import datetime

    from app.api.wire.routes import Request, Response
    from app.domain.errors import AssentError
    from app.domain.identity.console_session import ConsoleSession
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.usecases.console.sessions import Right
    from app.usecases.console_verbs import ConsoleVerbs
    from app.usecases.signing_in.passkeys import Mine


class Desk:
    """A person's own page."""

    def __init__(self, c: ConsoleVerbs) -> None:
        """Take what it works on."""
        self._c = c

    async def signed_in(self, request: Request) -> tuple[Right, Policy]:
        """Return whose session this is. Raises UnauthenticatedError; a card's link opens no page of a person."""
        right = await person_of(self._c, request)
        return right, self._c.sessions.policy_of(right)

    async def sent(self, request: Request) -> tuple[Right, Policy, dict[str, str]]:
        """Return a form of this very session's page. Raises UnauthenticatedError."""
        return await sent_by(self._c, request)

    async def draw(
        self, request: Request, right: Right, *, notice: str = "", status: int = 200, **more: object
    ) -> Response:
        """Draw the page."""
        policy = self._c.sessions.policy_of(right)
        language = language_of(request, policy)
        values = {
            "reader": right.person,
            "seal": self._c.sessions.seal_of(right),
            "notice": notice,
            "secret": None,
            "confirming": False,
            "posted": request.method == "POST",  # a choice of language would ask for a page that is shown once
            "sessions": _listed(await self._c.sessions.mine(right), right, policy, language),
            **_told(await self._c.passkeys.mine(right), policy, language),
            **more,
        }
        answer = await page(request, "me.html", language, values, policy=policy, status=status)
        return remember_language(request, answer, policy)

    async def refuse(
        self, request: Request, right: Right, error: AssentError, key: str, *, confirming: bool = False
    ) -> Response:
        """Draw the page again and say what was wrong."""
        language = language_of(request, self._c.sessions.policy_of(right))
        notice = say(language, key)
        if isinstance(error, LockedError):
            minutes = math.ceil(int(str(error.more.get("retry_after", 60))) / 60)
            notice = say(language, "console.locked", minutes=minutes)
        return await self.draw(request, right, notice=notice, status=409, confirming=confirming)


def _listed(
    found: list[ConsoleSession], right: Right, policy: Policy, language: Language
) -> list[tuple[str, str, bool]]:
    """Return of each session its id, what is said of it, and whether it is this one."""

    def line(each: ConsoleSession) -> str:
        begun, seen = instant_text(each.begun_at, policy.zone), instant_text(each.seen_at, policy.zone)
        return say(language, "me.session", begun=begun, via=visible(each.via), seen=seen)

    return [(each.id, line(each), each.id == right.name) for each in found]


def _told(mine: Mine, policy: Policy, language: Language) -> dict[str, object]:
    def day(at: datetime | None) -> str:
        return instant_text(at, policy.zone).partition(" ")[0] if at else say(language, "me.passkey.never")

    is_set_up = mine.totp is not None and mine.totp.is_active
    since = say(language, "me.app.since", date=day(mine.totp.set_at)) if mine.totp else ""
    return {
        "app": since if is_set_up else say(language, "me.app.none"),
        "passkeys": [
            say(language, "me.passkey.since", date=day(each.added_at), used=day(each.used_at)) for each in mine.passkeys
        ],
        "possible": mine.possible,
    }
