"""Who may open which page beside the requests that concern them: asked here, and nowhere else.

As long as the file gives people no roles, it is what an administrator gave by name: a live key of a scope that reads
the trail, or operates, with this person on it. Whoever has none is refused, and no page leads there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from app.domain.errors import ForbiddenError, UnauthenticatedError
from app.domain.identity.api_key import Scope
from app.domain.people.people import email_key
from app.storage.identity.api_keys import list_keys

if TYPE_CHECKING:
    from app.domain.errors import AssentError
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right


class Page(StrEnum):
    """What a right opens: a page, or what is done on one."""

    TRAIL = "trail"
    PULSE = "pulse"
    RULES = "rules"
    SETTLE = "settle"  # say what became of an unknown outcome
    PAUSE = "pause"


_READS = frozenset({Scope.AUDITOR, Scope.ADMIN})
_OPENED_BY = {
    Page.TRAIL: _READS,
    Page.PULSE: _READS,
    Page.RULES: _READS,
    Page.SETTLE: frozenset({Scope.ADMIN}),
    Page.PAUSE: frozenset({Scope.ADMIN}),
}


def pages_of(tx: Tx, person: str) -> frozenset[Page]:
    """Return what a person may open at this instant."""
    now, who = tx.now(), email_key(person)
    scopes = {key.scope for key in list_keys(tx) if key.agent is None and key.person == who and key.live(now)}
    return frozenset(page for page, opened_by in _OPENED_BY.items() if scopes & opened_by)


def refusal_for(tx: Tx, right: Right, page: Page) -> AssentError | None:
    """Say why a session may not open a page; None if it may. One request's session opens none."""
    if tx.now() >= right.until:
        return UnauthenticatedError()
    if right.request_id is not None or page not in pages_of(tx, right.person):
        return ForbiddenError()
    return None


class Rights:
    """Tell pages where they may lead."""

    def __init__(self, *, store: Store) -> None:
        """Take what it reads."""
        self._store = store

    async def __call__(self, right: Right) -> frozenset[Page]:
        """Return what the person of a session may open now."""
        if right.request_id is not None:
            return frozenset()
        return await self._store.read(lambda tx: pages_of(tx, right.person), org=right.org)
