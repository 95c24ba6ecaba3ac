"""How a request, its grant and its execution move: pure functions from a value and an event to the next value.

Each function returns a `Step`: the next request, what must happen because of it (`effects`), what the trail says
(`record`), or why nothing changed (`refusal`). A use case carries the step out in one transaction. Nothing here knows a
clock: `now` is the database's clock, read after the row was locked.

Order inside `advance`: already final? past the deadline? then the event. So a late click can only ever expire a
request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from app.domain.audit import Kind, Record
from app.domain.decision import Decision, Verdict
from app.domain.effect import Effect, IssueGrant, PostCards, RefreshCards, Wake
from app.domain.quorum import Electorate, count
from app.domain.request import (
    ConfirmationRequest,
    Execution,
    ExecutionStatus,
    Grant,
    GrantStatus,
    Settlement,
    Status,
)

SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's verdict, with who may vote at this instant."""

    decision: Decision
    voters: Electorate


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """The agent, or an administrator, no longer wants the answer."""

    by: str
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlinePassed:
    """Somebody noticed the time: the sweep, a click, a waiter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NobodyReachable:
    """No card could be brought to anyone."""

    why: str


Event = Vote | Withdrawn | DeadlinePassed | NobodyReachable


class Refusal(StrEnum):
    """Why an event changed nothing."""

    SETTLED = "already_settled"
    NOT_ELIGIBLE = "not_eligible"
    BARRED = "barred"  # the requester or the agent's owner
    REPEATED = "repeated"  # this person said the same before
    CONTRADICTS = "already_decided"  # this person said otherwise before
    TOO_EARLY = "too_early"  # the deadline has not passed
    NOT_APPROVED = "not_approved"
    CLAIMED = "already_claimed"
    LAPSED = "grant_lapsed"
    NOT_STARTED = "not_started"
    OUTCOME_CONFLICT = "outcome_conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What follows from an event. With a `refusal` the request may still have changed: a late vote expires it."""

    request: ConfirmationRequest
    effects: tuple[Effect, ...] = ()
    record: Record | None = None
    refusal: Refusal | None = None


def opened(request: ConfirmationRequest) -> Step:
    """Begin: the cards go out, and the trail says who asked for what under which rule."""
    record = Record(
        kind=Kind.CREATED,
        actor=f"agent:{request.call.agent}",
        facts={
            "tool": request.call.tool,
            "session": request.call.session,
            "call_id": request.call.call_id,
            "requester": request.call.requester,
            "owner": request.call.owner,
            "digest": request.digest,
            "call_digest": request.call_digest,
            "code": request.code,
            "rule": request.rule_id,
            "policy_version": request.policy_version,
            "why": request.why,
            "stages": [{"of": list(stage.of), "need": stage.need} for stage in request.stages],
            "channels": list(request.channels),
            "expires_at": request.expires_at.isoformat(),
        },
    )
    return Step(request=request, effects=(PostCards(),), record=record)


def advance(request: ConfirmationRequest, event: Event, *, now: datetime) -> Step:
    """Apply one event to a request at the instant `now`."""
    if request.status.final:
        return Step(request=request, refusal=Refusal.SETTLED)
    if now >= request.expires_at:
        step = _settle(request, Status.EXPIRED, Kind.EXPIRED, by=SYSTEM, reason="no decision in time", via=None, at=now)
        return step if isinstance(event, DeadlinePassed) else replace(step, refusal=Refusal.SETTLED)
    match event:
        case Vote():
            return _vote(request, event, now)
        case Withdrawn():
            return _settle(
                request, Status.CANCELLED, Kind.CANCELLED, by=event.by, reason=event.reason, via="api", at=now
            )
        case DeadlinePassed():
            return Step(request=request, refusal=Refusal.TOO_EARLY)
        case NobodyReachable():
            return _settle(
                request, Status.UNDELIVERABLE, Kind.UNDELIVERABLE, by=SYSTEM, reason=event.why, via=None, at=now
            )
        case _:
            assert_never(event)


def _vote(request: ConfirmationRequest, event: Vote, now: datetime) -> Step:
    decision = event.decision
    if decision.person in request.barred or decision.person in event.voters.barred:
        return Step(request=request, refusal=Refusal.BARRED)
    if decision.person not in event.voters.entitled():
        return Step(request=request, refusal=Refusal.NOT_ELIGIBLE)
    earlier = next((d for d in request.decisions if d.person == decision.person), None)
    # A person who has approved may still deny (one denial ends it); whoever has denied is past a final state anyway.
    if earlier is not None and earlier.verdict is decision.verdict:
        return Step(request=request, refusal=Refusal.REPEATED)
    if earlier is not None and decision.verdict is Verdict.APPROVE:
        return Step(request=request, refusal=Refusal.CONTRADICTS)
    decisions = (*(d for d in request.decisions if d.person != decision.person), decision)
    voted = replace(request, decisions=decisions)
    via = decision.evidence.channel
    facts = _vote_facts(request, decision)
    if decision.verdict is Verdict.DENY:
        return _settle(
            voted, Status.DENIED, Kind.DENIED, by=decision.person, reason=decision.reason, via=via, at=now, facts=facts
        )
    tally = count(request.stages, decisions, event.voters)
    if not tally.met:
        return Step(
            request=replace(voted, version=request.version + 1),
            effects=(RefreshCards(), Wake()),
            record=Record(kind=Kind.VOTE, actor=decision.person, facts=facts),
        )
    step = _settle(
        voted, Status.APPROVED, Kind.APPROVED, by=decision.person, reason=decision.reason, via=via, at=now, facts=facts
    )
    return replace(step, effects=(IssueGrant(not_after=now + request.claim_within), *step.effects))


def _vote_facts(request: ConfirmationRequest, decision: Decision) -> dict[str, object]:
    evidence = decision.evidence
    return {
        "verdict": decision.verdict.value,
        "digest": request.digest,
        "reason": decision.reason,
        "channel": evidence.channel,
        "account": evidence.account_id,
        "tenant": evidence.tenant,
        "app": evidence.app_id,
        "message": evidence.message_id,
        "card_revision": evidence.card_revision,
        "assurance": evidence.assurance,
    }


def _settle(
    request: ConfirmationRequest,
    status: Status,
    kind: Kind,
    *,
    by: str,
    reason: str | None,
    via: str | None,
    at: datetime,
    facts: dict[str, object] | None = None,
) -> Step:
    return Step(
        request=replace(
            request,
            status=status,
            version=request.version + 1,
            settlement=Settlement(at=at, by=by, reason=reason, via=via),
        ),
        effects=(RefreshCards(), Wake()),
        record=Record(kind=kind, actor=by, facts=facts if facts is not None else {"reason": reason}),
    )


# --- the grant and the execution --------------------------------------------------------------------------------------


def claim(request: ConfirmationRequest, *, execution_id: str, claim_id: str, agent: str, now: datetime) -> Step:
    """Spend the grant and start the execution: the only way to either.

    The same `claim_id` again is not refused: the caller lost our answer, and is given the same one (no effects).
    """
    grant = request.grant
    if request.execution is not None:
        same = request.execution.claim_id == claim_id and request.execution.status is ExecutionStatus.STARTED
        return Step(request=request, refusal=None if same else Refusal.CLAIMED)
    if request.status is not Status.APPROVED or grant is None:
        return Step(request=request, refusal=Refusal.NOT_APPROVED)
    if grant.status is not GrantStatus.ISSUED:
        return Step(request=request, refusal=Refusal.LAPSED)
    if now >= grant.not_after:
        return replace(lapse(request, now=now), refusal=Refusal.LAPSED)
    execution = Execution(
        id=execution_id,
        claim_id=claim_id,
        status=ExecutionStatus.STARTED,
        started_at=now,
        lease_until=now + request.lease,
    )
    return Step(
        request=replace(
            request,
            version=request.version + 1,
            grant=replace(grant, status=GrantStatus.CONSUMED),
            execution=execution,
        ),
        effects=(Wake(),),
        record=Record(
            kind=Kind.CLAIMED,
            actor=f"agent:{agent}",
            facts={"grant": grant.id, "execution": execution_id, "claim": claim_id, "digest": request.digest},
        ),
    )


def lapse(request: ConfirmationRequest, *, now: datetime) -> Step:
    """End a grant that nobody claimed in its time."""
    grant = request.grant
    if grant is None or grant.status is not GrantStatus.ISSUED or now < grant.not_after:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    return Step(
        request=replace(request, version=request.version + 1, grant=replace(grant, status=GrantStatus.LAPSED)),
        effects=(RefreshCards(), Wake()),
        record=Record(kind=Kind.LAPSED, actor=SYSTEM, facts={"grant": grant.id}),
    )


def report(
    request: ConfirmationRequest,
    *,
    claim_id: str,
    status: ExecutionStatus,
    result: str | None,
    error: str | None,
    by: str,
    now: datetime,
) -> Step:
    """Record what the tool did. Repeating the same outcome changes nothing; another one is refused.

    An unknown outcome may be reconciled later to succeeded or failed, never run again.
    """
    execution = request.execution
    if execution is None or execution.claim_id != claim_id:
        return Step(request=request, refusal=Refusal.NOT_STARTED)
    if execution.status is status:
        same = (execution.result, execution.error) == (result, error) or status is ExecutionStatus.UNKNOWN
        return Step(request=request, refusal=Refusal.REPEATED if same else Refusal.OUTCOME_CONFLICT)
    if execution.status not in {ExecutionStatus.STARTED, ExecutionStatus.UNKNOWN} or status is ExecutionStatus.STARTED:
        return Step(request=request, refusal=Refusal.OUTCOME_CONFLICT)
    kind = Kind.RECONCILED if execution.status is ExecutionStatus.UNKNOWN else _OUTCOME_KIND[status]
    settled = replace(execution, status=status, settled_at=now, result=result, error=error)
    return _executed(request, settled, kind, by)


def lose(request: ConfirmationRequest, *, now: datetime) -> Step:
    """Say that nobody knows what became of an execution whose lease ran out."""
    execution = request.execution
    if execution is None or execution.status is not ExecutionStatus.STARTED or now < execution.lease_until:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    unknown = replace(
        execution, status=ExecutionStatus.UNKNOWN, settled_at=now, error="no outcome was reported in time"
    )
    return _executed(request, unknown, Kind.UNKNOWN, SYSTEM)


def _executed(request: ConfirmationRequest, execution: Execution, kind: Kind, by: str) -> Step:
    facts = {
        "grant": request.grant.id if request.grant else None,
        "execution": execution.id,
        "status": execution.status.value,
        "error": execution.error,
    }
    return Step(
        request=replace(request, version=request.version + 1, execution=execution),
        effects=(RefreshCards(), Wake()),
        record=Record(kind=kind, actor=by, facts=facts),
    )


_OUTCOME_KIND = {
    ExecutionStatus.SUCCEEDED: Kind.SUCCEEDED,
    ExecutionStatus.FAILED: Kind.FAILED,
    ExecutionStatus.UNKNOWN: Kind.UNKNOWN,
}


def issue(request: ConfirmationRequest, *, grant_id: str, not_after: datetime) -> ConfirmationRequest:
    """Attach the grant that an approval yields (the `IssueGrant` effect); same version: it is part of the approval."""
    return replace(request, grant=Grant(id=grant_id, status=GrantStatus.ISSUED, not_after=not_after))


def time_left(request: ConfirmationRequest, *, now: datetime) -> timedelta:
    """Return how long the request can still be decided; zero when it cannot."""
    return max(request.expires_at - now, timedelta(0)) if not request.status.final else timedelta(0)
