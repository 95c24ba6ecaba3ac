"""What an approver sends along with an approval, and what it makes the approval worth.

Nothing: L1. The amount or the code, typed: L2. That and a second factor, a fresh code or a passkey that signed this
very approval: L3. What is wrong refuses the approval, also where it would not have been needed; what is missing refuses
it where the request takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.domain.errors import LockedError, StepUpNeededError
from app.domain.identity.passkey import Aim
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.request.decision import Evidence
from app.domain.request.request import API, CONSOLE
from app.usecases.passkeys.answered import covered_by, use_answer
from app.usecases.proving.may_count import may_count, standing_worth
from app.usecases.proving.second_factor import Tried, has_factor, has_totp, locked, look_at_totp
from app.usecases.proving.step_up import MOST_WRONG, look_at_typed
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.passkey import Proven
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.engine.transaction import Tx
    from app.usecases.proving.step_up import Mistyped

_TYPED = "the amount or the code shown"
_CODE = "`totp` (the six digits of your second factor)"
_NO_FACTOR = "no second factor is set up for you: ask an administrator for an invitation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What came with an approval. It is kept nowhere."""

    typed: str | None = field(default=None, repr=False)
    totp: str | None = field(default=None, repr=False)
    passkey: Proven | None = field(default=None, repr=False)


NOTHING_GIVEN = Given()


def worth_of(
    tx: Tx,
    seals: Seals,
    request: ConfirmationRequest,
    now: datetime,
    policy: Policy,
    *,
    person: str,
    given: Given,
    evidence: Evidence,
) -> Assurance | StepUpNeededError | LockedError:
    """Return what a person's approval of a locked request is worth, or why it is refused, with what was given.

    Where it would not count anyhow, nothing is looked at; where it stands already, nothing is needed: an answer that
    was lost can be asked for again.
    """
    if given == NOTHING_GIVEN and request.assurance is Assurance.L1:
        return Assurance.L1
    if not may_count(tx, request, now, policy, person=person, evidence=evidence):
        return Assurance.L1
    standing = standing_worth(tx, request, now, policy, person=person, evidence=evidence)
    if standing is not None and standing.suffices_for(request.assurance):
        return standing
    return prove(tx, seals, request, person=person, given=given, evidence=evidence)


def prove(
    tx: Tx, seals: Seals, request: ConfirmationRequest, *, person: str, given: Given, evidence: Evidence
) -> Assurance | StepUpNeededError | LockedError:
    """Look at what came with an approval of a locked request that would count; a right code is spent by it."""
    lacking = _lacking(tx, request, person, given)
    if lacking is not None:
        tx.append(refused_click(evidence, why="step_up", person=person), request_id=request.id)
        return lacking
    if given.typed is not None:
        mistyped = look_at_typed(tx, request, person, given.typed, evidence=evidence)
        if mistyped is not None:
            return _refused(tx, request, mistyped, "typed", f"`typed` is not {_TYPED}")
    if given.totp is not None:
        tried = look_at_totp(tx, seals, person, given.totp, evidence=evidence, request_id=request.id)
        if tried is not None:
            return _refused(tx, request, tried, "totp", _why(tried))
    elif given.passkey is not None:
        who, covers = email_key(person), covered_by(request)
        why = use_answer(tx, given.passkey, aim=Aim.APPROVE, person=who, covers=covers)
        if why is not None:
            tx.append(refused_click(evidence, why=why, person=person), request_id=request.id)
            return _refused(tx, request, Tried(), "passkey", "your passkey did not sign this approval, now and once")
    if given.typed is None:
        return Assurance.L1
    return Assurance.L2 if given.totp is None and given.passkey is None else Assurance.L3


def prove_factor(tx: Tx, seals: Seals, *, person: str, totp: str | None) -> StepUpNeededError | LockedError | None:
    """Look at a code of a second factor for what is no request's; None: it was right, and is spent."""
    evidence, level = Evidence(channel=API), Assurance.L3.value
    if totp is None or not has_totp(tx, person):
        tx.append(refused_click(evidence, why="step_up", person=person))
        why = _NO_FACTOR if totp is not None else f"send {_CODE}"
        missing = [] if totp is not None else ["totp"]
        return StepUpNeededError(f"this takes a second factor: {why}", assurance=level, missing=missing)
    tried = look_at_totp(tx, seals, person, totp, evidence=evidence, request_id=None)
    if tried is None:
        return None
    if tried.until is not None:
        return locked(tx, tried.until)
    left = "" if tried.left == MOST_WRONG else f" (tries left: {tried.left})"
    return StepUpNeededError(f"{_why(tried)}; nothing was done{left}", assurance=level, wrong="totp", left=tried.left)


def prove_act(
    tx: Tx, seals: Seals, *, person: str, given: Given, covers: tuple[str, ...]
) -> StepUpNeededError | LockedError | None:
    """Look at the second factor for an act of somebody in the console: an app's code, or what a passkey signed for it.

    None: it was right, and is spent.
    """
    if given.passkey is None:
        return prove_factor(tx, seals, person=person, totp=given.totp)
    why = use_answer(tx, given.passkey, aim=Aim.ACT, person=email_key(person), covers=covers)
    if why is None:
        return None
    tx.append(refused_click(Evidence(channel=CONSOLE), why=why, person=person))
    return StepUpNeededError("your passkey did not sign this, now and once", wrong="passkey")


def _lacking(tx: Tx, request: ConfirmationRequest, person: str, given: Given) -> StepUpNeededError | None:
    """Say what is missing, before anything is looked at: a code is not spent in vain."""
    each = request.assurance.of_each
    wants_factor = each is Assurance.L3
    factor = given.totp or given.passkey
    wanted = {
        "typed": (each > Assurance.L1, given.typed, f"`typed` ({_TYPED})"),
        "totp": (wants_factor, factor, _CODE),
    }
    missing = [name for name, (is_wanted, sent, _) in wanted.items() if is_wanted and sent is None]
    without = not has_totp(tx, person) if given.totp is not None else wants_factor and not has_factor(tx, person)
    if not missing and not without:
        return None
    named = " and ".join(told for is_wanted, _, told in wanted.values() if is_wanted)
    told = [f"send {named}"] if missing else []
    if without:
        told.append(_NO_FACTOR)
    level = request.assurance.value
    return StepUpNeededError(f"this takes {level}: {'; '.join(told)}", assurance=level, missing=missing)


def _refused(
    tx: Tx, request: ConfirmationRequest, tried: Mistyped | Tried, name: str, why: str
) -> StepUpNeededError | LockedError:
    if tried.until is not None:
        return locked(tx, tried.until)
    left = "" if tried.left == MOST_WRONG else f" (tries left: {tried.left})"
    sentence = f"{why}; nothing was decided{left}"
    return StepUpNeededError(sentence, assurance=request.assurance.value, wrong=name, left=tried.left)


def _why(tried: Tried) -> str:
    if tried.used:
        return "this code was used already: wait for the next one that your app shows"
    if tried.unreadable:
        return "your second factor cannot be read any more: ask an administrator for an invitation"
    return "`totp` is not the code that your app should show now"
