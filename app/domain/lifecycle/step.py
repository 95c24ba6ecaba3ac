"""What follows from an event: the next request, what must happen because of it, or why nothing changed."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.lifecycle.effect import Effect
    from app.domain.request.request import ConfirmationRequest
    from app.domain.trail.audit import Record


class Refusal(StrEnum):
    """Why an event changed nothing."""

    SETTLED = "already_settled"
    NOT_ELIGIBLE = "not_eligible"
    BARRED = "barred"  # the requester or the agent's owner
    EDITED = "barred_editor"  # who changed the call: whose arguments they are, somebody else must approve
    OVER_LIMIT = "over_limit"  # the call is above what this person may approve, or its amount is not known
    STEP_UP = "step_up"  # the approval takes more than was given: a typed code, a second factor
    OUTDATED = "outdated"  # the file has changed since it was asked: what it says today would not let the call run
    REPEATED = "repeated"  # this person said the same before
    NO_VOTE = "no_vote"  # this person has no vote to withdraw
    TOO_EARLY = "too_early"  # the deadline has not passed, or nothing is due
    TOO_SOON = "too_soon"  # the card has not been there long enough to be read, or the last reminder was just now
    TOO_OFTEN = "too_often"  # enough questions, places handed over, people added or extensions for one request
    UNSUITABLE = "unsuitable"  # the person who was named cannot decide this, or then nobody could
    NO_QUESTION = "no_question"  # there is no such question, or it was answered
    NOT_APPROVED = "not_approved"
    REVOKED = "revoked"  # too few of those who approved may still approve
    CLAIMED = "already_claimed"
    LAPSED = "grant_lapsed"
    NOT_STARTED = "not_started"
    OUTCOME_CONFLICT = "outcome_conflict"


class Step(Struct, frozen=True, kw_only=True):
    """What follows from an event. With a `refusal` the request may still have changed: a late vote expires it."""

    request: ConfirmationRequest
    effects: tuple[Effect, ...] = ()
    record: Record | None = None
    at: datetime | None = None
    """The instant that the request says of this step: its event says the same. None: it says none."""
    refusal: Refusal | None = None


def no_place(request: ConfirmationRequest, person: str, *, barred: bool) -> Refusal:
    """Say why somebody who has no place may not decide: what they are told must be true of them."""
    if request.bars_as_editor(person):
        return Refusal.EDITED
    return Refusal.BARRED if barred else Refusal.NOT_ELIGIBLE
