"""Ask anew, where a call is about to run about which nobody was asked, whether it would be let through today."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.errors import AssentError
from app.domain.policy import Allow
from app.domain.strictness import strictest
from app.usecases.known_as import as_one, checked, rulings_of, tools_of
from app.usecases.lineage import above_now
from app.usecases.permit_before import still_permits

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request import ConfirmationRequest
    from app.policies.policy_book import PolicyBook
    from app.storage.transaction import Tx

_STANDING = "standing:"


def why_not_allowed(tx: Tx, book: PolicyBook, request: ConfirmationRequest, *, now: datetime) -> str | None:
    """Return, in a sentence, why a call that a rule or a standing approval let through is not let through any more."""
    loaded, call = book.current(request.call.org), request.call
    above = above_now(tx, book, call.agent, call.session) if call.session is not None else None
    if isinstance(above, AssentError):
        return f"who is above this session cannot be told ({above}); ask again"
    agents = (call.agent, *(above.agents if above else ()))
    try:
        tools = tools_of(loaded.policy, call.tool)
        checked(tools, dict(call.arguments))
    except AssentError as error:
        return f"today's configuration does not take this call ({error}); ask again"
    own, *found = [
        (name, ruling) for name in agents for _, ruling in rulings_of(loaded.policy, replace(call, agent=name), now=now)
    ]
    ruling = strictest(own[1], found)
    people = as_one(tools).requires_confirmation or any(
        settings.confirm_all_tools for name in agents if (settings := loaded.agents.get(name)) is not None
    )
    by = request.allowed_by or ""
    if by.startswith(_STANDING):
        permitted = still_permits(tx, by.removeprefix(_STANDING), call, ruling, loaded.policy, now=now, wished=people)
        what = "broken glass" if request.by_broken_glass else "standing approval"
        return None if permitted else f"the {what} that let this through holds no longer; ask again"
    if isinstance(ruling, Allow) and not people:
        return None
    return "no rule of today's configuration lets this through without people; ask again"
