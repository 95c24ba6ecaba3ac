"""Record a person's verdict: the one place where a verdict is written, whichever way it came in.

A click on a card (`receive.py`), the API (`decide_api.py`) and the command line all end in `decide`. It is a unit of
work: the request is locked, the clock read, the electorate built from today's configuration, and the state machine
asked.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import outcome_sentence
from app.domain.errors import (
    AlreadySettledError,
    InvalidError,
    NotEligibleError,
    OutdatedError,
    StepUpNeededError,
    TooSoonError,
)
from app.domain.lifecycle.execution import take_back
from app.domain.lifecycle.lifecycle import Refusal, Vote, VoteWithdrawn, advance
from app.domain.lifecycle.step import Step
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.quorum import Tally, count
from app.domain.request.redact import scrubbed_for
from app.domain.request.request import Status
from app.domain.rules.name_of import name_of
from app.usecases.executing.still_allowed import why_never_claimed
from app.usecases.proving.may_count import reading_still_left, voters_when
from app.usecases.voters.electorate import acts_for
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.transaction import Tx

LEFT_TO_OTHERS = {
    Refusal.BARRED: "you asked for this, or the agent is yours: someone else must decide",
    Refusal.EDITED: "you changed this call: somebody else must decide it as it is now",
}
"""What somebody's program is told who would be among those that decide, were it not their own."""

_RECORDED = frozenset({
    Refusal.BARRED,
    Refusal.EDITED,
    Refusal.NOT_ELIGIBLE,
    Refusal.OUTDATED,
    Refusal.OVER_LIMIT,
    Refusal.STEP_UP,
    Refusal.TOO_SOON,
})  # fmt: skip


class Decided(Struct, frozen=True, kw_only=True):
    """The request as it stands after a verdict, and why the verdict changed nothing, if it did not."""

    request: ConfirmationRequest
    voters: Electorate
    refusal: Refusal | None
    verdict: Verdict | None = None  # None: a vote was withdrawn
    wait_seconds: int = 0  # after which an approval that came too soon will count
    outdated: str = ""  # why today's rules would not let run what would have been approved

    @property
    def tally(self) -> Tally:
        """How far its stages have come."""
        return count(self.request.stages, self.request.decisions, self.voters)


def decide(
    tx: Tx,
    request: ConfirmationRequest,
    now: datetime,
    loaded: LoadedPolicy,
    *,
    person: str,
    verdict: Verdict,
    reason: str | None,
    evidence: Evidence,
) -> Decided:
    """Write one person's verdict on a locked request. `person` was identified by whoever calls.

    What no claim would hand out, since the file has changed, is not approved: nobody is told that it was.
    """
    policy = loaded.policy
    voters = voters_when(tx, request, now, policy, speaking=person)
    decision = Decision(
        id=tx.ids.new("dec"),
        person=person,
        verdict=verdict,
        reason=scrubbed_for(reason, request) if reason else None,  # it stands in the trail
        at=now,
        evidence=evidence,
        on_behalf_of=acts_for(person, request, voters),
    )
    step = advance(request, Vote(decision=decision, voters=voters), now=now)
    unread = step.refusal in {None, Refusal.STEP_UP}  # who has not read it yet need not prove anything either
    wait = reading_still_left(tx, request, decision, policy) if unread else timedelta(0)
    if wait:
        step = Step(request=request, refusal=Refusal.TOO_SOON)
    outdated = why_outdated(tx, request, decision, voters, loaded, now=now)
    if outdated is not None and step.refusal is None:
        step = Step(request=request, refusal=Refusal.OUTDATED)
    after = carry_out(tx, request, step)
    if step.refusal in _RECORDED:
        tx.append(refused_click(evidence, why=str(step.refusal), person=person), request_id=request.id)
    seconds = math.ceil(wait.total_seconds())
    return Decided(
        request=after,
        voters=voters,
        refusal=step.refusal,
        verdict=verdict,
        wait_seconds=seconds,
        outdated=outdated or "",
    )


def why_outdated(
    tx: Tx,
    request: ConfirmationRequest,
    decision: Decision,
    voters: Electorate,
    loaded: LoadedPolicy,
    *,
    now: datetime,
) -> str | None:
    """Say why no claim would hand out what this vote would approve, since the file has changed; None: nothing is wrong.

    Whoever would give it is told so, instead of that it is approved.
    """
    if loaded.policy.version == request.policy_version:
        return None
    after = advance(request, Vote(decision=decision, voters=voters), now=now).request
    if request.status is not Status.PENDING or after.status is not Status.APPROVED:
        return None
    return why_never_claimed(tx, after, loaded, now=now)


def withdraw_vote(
    tx: Tx, request: ConfirmationRequest, now: datetime, policy: Policy, *, person: str, evidence: Evidence
) -> Decided:
    """Take one person's vote on a locked request back. `person` was identified by whoever calls.

    While it waits, the vote is gone; once it is approved, and until it is claimed, the approval is revoked.
    """
    if request.status is Status.APPROVED:
        step = take_back(request, person, now=now)
    else:
        step = advance(request, VoteWithdrawn(person=person, evidence=evidence), now=now)
    after = carry_out(tx, request, step)
    voters = voters_when(tx, after, now, policy, speaking=person)
    return Decided(request=after, voters=voters, refusal=step.refusal)


def raise_refusal(decided: Decided, policy: Policy, person: str, verdict: Verdict | None) -> None:
    """Raise what an approver's program is told of a verdict that changed nothing, unless it had counted before."""
    match decided.refusal:
        case None | Refusal.REPEATED:
            return
        case Refusal.NOT_ELIGIBLE:
            raise NotEligibleError
        case Refusal.BARRED | Refusal.EDITED as why:
            raise NotEligibleError(LEFT_TO_OTHERS[why])
        case Refusal.OVER_LIMIT:
            raise NotEligibleError("the amount is above what you may approve, or it is not known: you may still deny")
        case Refusal.OUTDATED:
            raise OutdatedError(f"not approved: {decided.outdated}")
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
