"""Record a person's verdict: the one place where a verdict is written, whichever way it came in.

A click on a card (`receive.py`), the API (`decide_api.py`) and the command line all end in `decide`. It is a unit of
work: the request is locked, the clock read, the electorate built from today's configuration, and the state machine
asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.assurance import Assurance
from app.domain.attention import reading_left
from app.domain.audit import Kind, Record
from app.domain.decision import Decision, Evidence, Verdict
from app.domain.errors import (
    AlreadySettledError,
    InvalidError,
    NotEligibleError,
    StepUpNeededError,
    TooSoonError,
)
from app.domain.lifecycle import Refusal, Vote, VoteWithdrawn, advance, refusal_of
from app.domain.present import outcome_sentence
from app.domain.quorum import Tally, count
from app.domain.request import Risk
from app.domain.step import Step
from app.storage.audit_chain import list_of_request
from app.usecases.carry_out import carry_out
from app.usecases.electorate import acts_for, voters_of, without_account

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.policy import Policy
    from app.domain.quorum import Electorate
    from app.domain.request import ConfirmationRequest
    from app.storage.transaction import Tx


_RECORDED = frozenset({
    Refusal.BARRED,
    Refusal.NOT_ELIGIBLE,
    Refusal.OVER_LIMIT,
    Refusal.STEP_UP,
    Refusal.TOO_SOON,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The request as it stands after a verdict, and why the verdict changed nothing, if it did not."""

    request: ConfirmationRequest
    tally: Tally
    refusal: Refusal | None
    verdict: Verdict | None = None  # None: a vote was withdrawn
    wait_seconds: int = 0  # after which an approval that came too soon will count


def decide(
    tx: Tx,
    request: ConfirmationRequest,
    now: datetime,
    policy: Policy,
    *,
    person: str,
    verdict: Verdict,
    reason: str | None,
    evidence: Evidence,
) -> Decided:
    """Write one person's verdict on a locked request. `person` was identified by whoever calls."""
    voters = _voters(tx, request, now, policy, speaking=person)
    decision = Decision(
        id=tx.ids.new("dec"),
        person=person,
        verdict=verdict,
        reason=reason or None,
        at=now,
        evidence=evidence,
        on_behalf_of=acts_for(person, request, voters),
    )
    step = advance(request, Vote(decision=decision, voters=voters), now=now)
    unread = step.refusal in {None, Refusal.STEP_UP}  # who has not read it yet need not prove anything either
    wait = _reading_left(tx, request, decision, policy) if unread else timedelta(0)
    if wait:
        step = Step(request=request, refusal=Refusal.TOO_SOON)
    after = carry_out(tx, request, step)
    if step.refusal in _RECORDED:
        tx.append(refused_click(evidence, why=str(step.refusal), person=person), request_id=request.id)
    tally = count(after.stages, after.decisions, voters)
    seconds = math.ceil(wait.total_seconds())
    return Decided(request=after, tally=tally, refusal=step.refusal, verdict=verdict, wait_seconds=seconds)


def may_count(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> bool:
    """Say whether a person's approval of a locked request would count now, were it worth enough.

    Only then is there any use in looking at what proves more, or in spending it.
    """
    if request.status.final or now >= request.expires_at:
        return False
    voters = _voters(tx, request, now, policy, speaking=person)
    best = _approval(request, now, voters, person=person, evidence=replace(evidence, assurance=Assurance.L3))
    return refusal_of(request, best, voters) is None and not _reading_left(tx, request, best, policy)


def standing_worth(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> Assurance | None:
    """Return what a person's approval that stands already is worth; the same again only repeats it. None: none does."""
    earlier = next((each for each in request.decisions if each.person == person), None)
    if earlier is None or earlier.verdict is not Verdict.APPROVE:
        return None
    voters = _voters(tx, request, now, policy, speaking=person)
    again = _approval(request, now, voters, person=person, evidence=evidence)
    return earlier.evidence.assurance if again.on_behalf_of == earlier.on_behalf_of else None


def _approval(
    request: ConfirmationRequest, now: datetime, voters: Electorate, *, person: str, evidence: Evidence
) -> Decision:
    return Decision(
        id="",
        person=person,
        verdict=Verdict.APPROVE,
        reason=None,
        at=now,
        evidence=evidence,
        on_behalf_of=acts_for(person, request, voters),
    )


def _reading_left(tx: Tx, request: ConfirmationRequest, decision: Decision, policy: Policy) -> timedelta:
    """Return how long an approval must still wait so that the card, or elsewhere the request, could be read."""
    if decision.verdict is not Verdict.APPROVE or request.risk is not Risk.HIGH:
        return timedelta(0)
    shown_at = decision.evidence.shown_at or request.created_at
    if request.edited_by not in {None, decision.person}:  # what somebody else made of it was not there before
        edits = (event.at for event in list_of_request(tx, request.id) if event.record.kind is Kind.EDITED)
        shown_at = max(shown_at, *edits)
    return reading_left(policy.attention, risk=request.risk, shown_at=shown_at, now=decision.at)


def _voters(tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, speaking: str) -> Electorate:
    """Return who may vote, where `speaking` has just been identified and the others are looked at anew."""
    gone = without_account(tx, request) - {speaking}
    return voters_of(request, policy, now=now, without=gone)


def withdraw_vote(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> Decided:
    """Take one person's vote on a locked request back. `person` was identified by whoever calls."""
    step = advance(request, VoteWithdrawn(person=person, evidence=evidence), now=now)
    after = carry_out(tx, request, step)
    voters = _voters(tx, after, now, policy, speaking=person)
    return Decided(request=after, tally=count(after.stages, after.decisions, voters), refusal=step.refusal)


def refused_click(evidence: Evidence, *, why: str, person: str | None) -> Record:
    """Say in the trail that somebody tried to decide who may not."""
    return Record(
        kind=Kind.CLICK_REFUSED,
        actor=person or f"account:{evidence.account_id}",
        facts={
            "why": why,
            "channel": evidence.channel,
            "account": evidence.account_id,
            "tenant": evidence.tenant,
            "app": evidence.app_id,
            "message": evidence.message_id,
        },
    )


def raise_refusal(decided: Decided, policy: Policy, person: str, verdict: Verdict | None) -> None:
    """Raise what an approver's program is told of a verdict that changed nothing, unless it had counted before."""
    match decided.refusal:
        case None | Refusal.REPEATED:
            return
        case Refusal.NOT_ELIGIBLE:
            raise NotEligibleError
        case Refusal.BARRED:
            raise NotEligibleError("you asked for this, or the agent is yours: someone else must decide")
        case Refusal.OVER_LIMIT:
            raise NotEligibleError("the amount is above what you may approve, or it is not known: you may still deny")
        case Refusal.STEP_UP:
            level = decided.request.assurance.value
            raise StepUpNeededError(f"approving this takes {level}: see `assurance`", assurance=level)
        case Refusal.TOO_SOON:
            wait = decided.wait_seconds
            raise TooSoonError(f"read it first: approving is possible in {wait} s", retry_after=wait)
        case Refusal.NO_VOTE:
            raise InvalidError("you have no vote on this request that could be withdrawn", path="verdict")
        case _:
            mine = any(d.person == person and d.verdict is verdict for d in decided.request.decisions)
            if mine:
                return  # a repeated answer of one whose vote settled it
            settlement = decided.request.settlement
            sentence = outcome_sentence(
                decided.request, policy.language, lambda email: name_of(policy, email), policy.zone
            )
            raise AlreadySettledError(
                sentence,
                state=decided.request.state.value,
                settled_by=settlement.by if settlement else None,
                settled_at=settlement.at.isoformat() if settlement else None,
            )


def name_of(policy: Policy, email: str) -> str:
    """Return how people call a person; whoever the file does not know is called by their id."""
    person = policy.directory.find(email)
    return person.name if person else email
