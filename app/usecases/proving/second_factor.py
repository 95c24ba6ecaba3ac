"""A code of a second factor, looked at: right once, and counted where it is wrong.

Wrong codes are counted for the person, over all requests and replicas: after three in a row none is looked at for a
while. Spending a code and what it was given for are one unit of work.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import LockedError
from app.domain.identity.seals import BadTokenError
from app.domain.identity.totp import matching_steps
from app.domain.people.people import email_key
from app.domain.request.decision import Evidence
from app.domain.request.request import API
from app.domain.trail.audit import Kind, Record
from app.storage.identity.attempts import count_failure, forget_failures, locked_until
from app.storage.identity.factors import find_factor, lock_factor, use_step
from app.storage.identity.passkeys import list_passkeys
from app.usecases.proving.step_up import LOCKED_FOR, MOST_WRONG
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.storage.engine.transaction import Tx


class Tried(Struct, frozen=True, kw_only=True):
    """A code that does not count: how many tries are left, or until when no further one is looked at.

    `used`: it was right, but somebody has used it already. `unreadable`: the gateway cannot read the secret any more.
    """

    left: int = MOST_WRONG
    until: datetime | None = None
    used: bool = False
    unreadable: bool = False


def has_totp(tx: Tx, person: str) -> bool:
    """Say whether a person's codes can count at all."""
    factor = find_factor(tx, email_key(person))
    return factor is not None and factor.is_active


def has_factor(tx: Tx, person: str) -> bool:
    """Say whether a person has any second factor: an app that shows codes, or a passkey."""
    return has_totp(tx, person) or bool(list_passkeys(tx, email_key(person)))


def look_at_totp(
    tx: Tx, seals: Seals, person: str, code: str, *, evidence: Evidence, request_id: str | None
) -> Tried | None:
    """Look at a code of an active factor and spend it; None: it is right, and earlier mistakes are forgotten.

    The trail is told of what does not count, and never what it was.
    """
    who = email_key(person)
    factor = lock_factor(tx, who)  # first: codes that come at once are looked at one after the other
    subject = totp_subject(who)
    until = locked_until(tx, subject)
    if until is not None:
        tx.append(refused_click(evidence, why="locked", person=person), request_id=request_id)
        return Tried(left=0, until=until)
    if factor is None or factor.secret is None or not factor.is_active:
        return Tried(unreadable=True)
    bound = bound_to(tx.org, who)
    try:
        secret = seals.read_hidden(factor.secret, bound=bound)
    except BadTokenError:
        tx.append(refused_click(evidence, why="unreadable_factor", person=person), request_id=request_id)
        return Tried(unreadable=True)
    steps = matching_steps(secret, code, at=tx.now())
    if not steps:
        return count_wrong(tx, person, subject, why="wrong_totp", evidence=evidence, request_id=request_id)
    fresh = next((step for step in steps if step > factor.last_step), None)
    if fresh is None or not use_step(tx, who, fresh, sealed=seals.hide(secret, bound=bound)):
        tx.append(refused_click(evidence, why="used_totp", person=person), request_id=request_id)
        return Tried(used=True)
    forget_failures(tx, subject)
    return None


def count_wrong(
    tx: Tx,
    person: str,
    subject: str,
    *,
    why: str,
    evidence: Evidence | None = None,
    request_id: str | None = None,
) -> Tried:
    """Count a wrong code and say so in the trail; the one that locks is an alarm there."""
    failures, until = count_failure(tx, subject, most=MOST_WRONG, lock_for=LOCKED_FOR)
    tx.append(refused_click(evidence or Evidence(channel=API), why=why, person=person), request_id=request_id)
    if until is not None:
        facts = {"person": person, "failures": failures, "what": "a second factor", "until": until.isoformat()}
        tx.append(Record(kind=Kind.APPROVER_LOCKED, actor=person, facts=facts), request_id=request_id)
    return Tried(left=MOST_WRONG - failures, until=until)


def locked(tx: Tx, until: datetime) -> LockedError:
    """Say until when nothing is looked at."""
    seconds = math.ceil((until - tx.now()).total_seconds())
    return LockedError(
        f"too many wrong codes: none is looked at for {seconds} s; denying is possible, and others may approve",
        retry_after=seconds,
    )


def totp_subject(person: str) -> str:
    """Name what a person's wrong codes are counted under."""
    return f"totp:{person}"


def bound_to(org: str, person: str) -> tuple[str, ...]:
    """Return what a secret is sealed to: it can be read for this person of this org alone."""
    return ("factor", org, person)
