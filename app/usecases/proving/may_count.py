"""Whether an approval would count, before anything is asked of the person for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.lifecycle.lifecycle import refusal_of
from app.domain.people.assurance import Assurance
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.request import Risk
from app.domain.rules.attention import reading_left
from app.domain.trail.audit import Kind
from app.storage.trail.audit_chain import list_of_request
from app.usecases.voters.electorate import acts_for, voters_of, without_account

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.engine.transaction import Tx


def may_count(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> bool:
    """Say whether a person's approval of a locked request would count now, were it worth enough.

    Only then is there any use in looking at what proves more, or in spending it.
    """
    if request.status.final or now >= request.expires_at:
        return False
    voters = voters_when(tx, request, now, policy, speaking=person)
    best = approval_by(request, now, voters, person=person, evidence=replace(evidence, assurance=Assurance.L3))
    return refusal_of(request, best, voters) is None and not reading_still_left(tx, request, best, policy)


def standing_worth(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> Assurance | None:
    """Return what a person's approval that stands already is worth; the same again only repeats it. None: none does."""
    earlier = next((each for each in request.decisions if each.person == person), None)
    if earlier is None or earlier.verdict is not Verdict.APPROVE:
        return None
    voters = voters_when(tx, request, now, policy, speaking=person)
    again = approval_by(request, now, voters, person=person, evidence=evidence)
    return earlier.evidence.assurance if again.on_behalf_of == earlier.on_behalf_of else None


def approval_by(
    request: ConfirmationRequest, now: datetime, voters: Electorate, *, person: str, evidence: Evidence
) -> Decision:
    """Return the approval that this would be."""
    return Decision(
        id="",
        person=person,
        verdict=Verdict.APPROVE,
        reason=None,
        at=now,
        evidence=evidence,
        on_behalf_of=acts_for(person, request, voters),
    )


def reading_still_left(tx: Tx, request: ConfirmationRequest, decision: Decision, policy: Policy) -> timedelta:
    """Return how long an approval must still wait so that the card, or elsewhere the request, could be read."""
    if decision.verdict is not Verdict.APPROVE or request.risk is not Risk.HIGH:
        return timedelta(0)
    shown_at = decision.evidence.shown_at or request.created_at
    if request.edited_by not in {None, decision.person}:  # what somebody else made of it was not there before
        edits = (event.at for event in list_of_request(tx, request.id) if event.record.kind is Kind.EDITED)
        shown_at = max(shown_at, *edits)
    return reading_left(policy.attention, risk=request.risk, shown_at=shown_at, now=decision.at)


def voters_when(tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, speaking: str) -> Electorate:
    """Return who may vote, where `speaking` has just been identified and the others are looked at anew."""
    gone = without_account(tx, request) - {speaking}
    return voters_of(request, policy, now=now, without=gone)
