"""What was typed beside an approval: looked at, and counted where it is wrong.

Whoever types a wrong text three times in a row is not heard on this request for a while, on whichever card, channel or
replica; everybody else goes on, and denying is always possible. What was typed is kept nowhere.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.typed import is_typed_right
from app.domain.people.people import email_key
from app.domain.trail.audit import Kind, Record
from app.storage.identity.attempts import count_failure, forget_failures, locked_until
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.decision import Evidence
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx

MOST_WRONG = 3
LOCKED_FOR = timedelta(minutes=15)


class Mistyped(Struct, frozen=True, kw_only=True):
    """It was not what stands on the card: how many tries are left, or until when no further one is looked at."""

    left: int
    until: datetime | None = None


def locked_out(tx: Tx, request: ConfirmationRequest, person: str) -> datetime | None:
    """Return until when nothing that a person types about a request is looked at; None: it is."""
    return locked_until(tx, _subject(request, person))


def look_at_typed(
    tx: Tx, request: ConfirmationRequest, person: str, text: str, *, evidence: Evidence
) -> Mistyped | None:
    """Look at what a person typed to approve a locked request; None: it is right, and earlier mistakes are forgotten.

    The trail is told of what is wrong, and never what it was.
    """
    subject = _subject(request, person)
    until = locked_until(tx, subject)
    if until is not None:
        tx.append(refused_click(evidence, why="locked", person=person), request_id=request.id)
        return Mistyped(left=0, until=until)
    if is_typed_right(request, text):
        forget_failures(tx, subject)
        return None
    failures, until = count_failure(tx, subject, most=MOST_WRONG, lock_for=LOCKED_FOR)
    tx.append(refused_click(evidence, why="wrong_code", person=person), request_id=request.id)
    if until is not None:
        facts = {"person": person, "failures": failures, "what": request.id, "until": until.isoformat()}
        tx.append(Record(kind=Kind.APPROVER_LOCKED, actor=person, facts=facts), request_id=request.id)
    return Mistyped(left=MOST_WRONG - failures, until=until)


def _subject(request: ConfirmationRequest, person: str) -> str:
    return f"typed:{request.id}:{email_key(person)}"
