"""Who may ask for more time or another round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.people.people import email_key
from app.usecases.voters.electorate import voters_of

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy


def may_ask_for(request: ConfirmationRequest, person: str, policy: Policy, now: datetime) -> bool:
    """Say whether a person may ask for more time, or for another round: they may decide, or asked for the call."""
    if email_key(person) == request.call.requester:
        return True
    # Whoever changed it must leave the decision to others, but may keep them from running out of time.
    return person in voters_of(replace(request, edited_by=None), policy, now=now).entitled()
