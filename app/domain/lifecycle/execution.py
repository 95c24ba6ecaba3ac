"""What follows an approval: the grant is claimed once or lapses, the execution ends, or nobody knows how it ended.

Pure, like `lifecycle.py`, and with its `Step`: a sweep that expires requests can never touch what is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.lifecycle.effect import RefreshCards, Wake
from app.domain.lifecycle.lifecycle import SYSTEM, Refusal, Step, told
from app.domain.request.decision import Verdict
from app.domain.request.request import ConfirmationRequest, Execution, ExecutionStatus, Grant, GrantStatus, Status
from app.domain.trail.audit import Kind, Record

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from app.domain.request.elsewhere import Elsewhere


UNREPORTED = "no outcome was reported in time"
"""Stands where the error of an execution stands of which nothing was heard."""


def claim(request: ConfirmationRequest, *, execution_id: str, claim_id: str, by: str, now: datetime) -> Step:
    """Spend the grant and start the execution: the only way to either.

    The same `claim_id` again is not refused: the caller lost our answer, and is given the same one (no effects).
    """
    grant = request.grant
    if request.execution is not None:
        began = request.execution
        same = (began.claim_id, began.claimed_by or by, began.status) == (claim_id, by, ExecutionStatus.STARTED)
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
        claimed_by=by,
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
            actor=by,
            facts={"grant": grant.id, "execution": execution_id, "claim": claim_id, "digest": request.digest},
        ),
        at=now,
    )


def lapse(request: ConfirmationRequest, *, now: datetime) -> Step:
    """End a grant that nobody claimed in its time."""
    grant = request.grant
    if grant is None or grant.status is not GrantStatus.ISSUED or now < grant.not_after:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    return Step(
        request=replace(request, version=request.version + 1, grant=replace(grant, status=GrantStatus.LAPSED)),
        effects=(RefreshCards(), *told(request), Wake()),
        record=Record(kind=Kind.LAPSED, actor=SYSTEM, facts={"grant": grant.id}),
    )


def revoke(request: ConfirmationRequest, *, why: str, lost: Collection[str], now: datetime, by: str = SYSTEM) -> Step:
    """Take back a grant that was not spent: those who approved may no longer approve, or somebody stopped it.

    `why` is the sentence that the request keeps, `lost` the people whose approval counts no longer.
    """
    grant = request.grant
    if request.execution is not None or grant is None or grant.status is not GrantStatus.ISSUED:
        return Step(request=request, refusal=Refusal.NOT_APPROVED)
    if now >= grant.not_after:
        return replace(lapse(request, now=now), refusal=Refusal.LAPSED)
    return Step(
        request=replace(
            request,
            version=request.version + 1,
            grant=replace(grant, status=GrantStatus.REVOKED),
            revoked_why=why,
        ),
        effects=(RefreshCards(), *told(request), Wake()),
        record=Record(
            kind=Kind.REVOKED,
            actor=by,
            facts={"grant": grant.id, "why": why, "lost": sorted(lost), "digest": request.digest},
        ),
        refusal=Refusal.REVOKED,
    )


def may_take_back(request: ConfirmationRequest, person: str, *, now: datetime) -> bool:
    """Say whether a person approved this, and nobody has claimed it yet: then they can still stop it."""
    grant = request.grant
    unspent = request.execution is None and grant is not None and grant.status is GrantStatus.ISSUED
    approved = any(each.person == person and each.verdict is Verdict.APPROVE for each in request.decisions)
    return unspent and approved and grant is not None and now < grant.not_after


def take_back(request: ConfirmationRequest, person: str, *, now: datetime) -> Step:
    """Revoke an approval that nobody has claimed, because one of those who gave it takes theirs back."""
    if not may_take_back(request, person, now=now):
        return Step(request=request, refusal=Refusal.SETTLED)
    return replace(revoke(request, why=f"{person} took it back", lost=(person,), now=now, by=person), refusal=None)


def report(
    request: ConfirmationRequest,
    *,
    claim_id: str,
    status: ExecutionStatus,
    result: str | None,
    error: str | None,
    by: str,
    now: datetime,
    elsewhere: Elsewhere | None = None,
) -> Step:
    """Record what the tool did. Repeating the same outcome changes nothing; another one is refused.

    What is unknown, or waits `elsewhere`, may be settled later as succeeded or failed; it is never run again.
    """
    execution = request.execution
    if execution is None:
        return Step(request=request, refusal=Refusal.NOT_STARTED)
    if execution.claim_id != claim_id:
        return Step(request=request, refusal=Refusal.CLAIMED)
    if execution.status is status:
        same = _says(execution, result, error, elsewhere) or status is ExecutionStatus.UNKNOWN
        return Step(request=request, refusal=Refusal.REPEATED if same else Refusal.OUTCOME_CONFLICT)
    if not _may_become(execution, status, elsewhere):
        return Step(request=request, refusal=Refusal.OUTCOME_CONFLICT)
    kind = _OUTCOME_KIND[status] if execution.status is ExecutionStatus.STARTED else _settled_kind(status)
    return _executed(request, _ended(execution, status, elsewhere, result=result, error=error, now=now), kind, by)


def reconcile(
    request: ConfirmationRequest,
    *,
    status: ExecutionStatus,
    result: str | None,
    error: str | None,
    note: str,
    by: str,
    now: datetime,
    elsewhere: Elsewhere | None = None,
) -> Step:
    """Settle an uncertain outcome by evidence, which `note` names. The same again changes nothing; another is refused.

    The evidence may as well be that the service asks its own people: then it waits `elsewhere`.
    """
    execution = request.execution
    if execution is None:
        return Step(request=request, refusal=Refusal.NOT_STARTED)
    if execution.status is status and _says(execution, result, error, elsewhere):
        return Step(request=request, refusal=Refusal.REPEATED)
    if execution.status is ExecutionStatus.STARTED or not _may_become(execution, status, elsewhere):
        return Step(request=request, refusal=Refusal.OUTCOME_CONFLICT)
    settled = _ended(execution, status, elsewhere, result=result, error=error, now=now)
    return _executed(request, settled, _settled_kind(status), by, note=note)


def lose(request: ConfirmationRequest, *, now: datetime) -> Step:
    """Say that nobody knows what became of an execution whose lease ran out."""
    execution = request.execution
    if execution is None or execution.status is not ExecutionStatus.STARTED or now < execution.lease_until:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    unknown = replace(execution, status=ExecutionStatus.UNKNOWN, settled_at=now, error=UNREPORTED)
    return _executed(request, unknown, Kind.UNKNOWN, SYSTEM)


def _executed(
    request: ConfirmationRequest, execution: Execution, kind: Kind, by: str, *, note: str | None = None
) -> Step:
    facts = {
        **({} if note is None else {"note": note}),
        "grant": request.grant.id if request.grant else None,
        "execution": execution.id,
        "status": execution.status.value,  # not its result or error: a tool's text may hold anything, for ever
    }
    if execution.elsewhere is not None and kind is Kind.PENDING_ELSEWHERE:
        facts |= {"elsewhere": execution.elsewhere.id, "link": execution.elsewhere.link}
    return Step(
        request=replace(request, version=request.version + 1, execution=execution),
        effects=(RefreshCards(), *told(request), Wake()),
        record=Record(kind=kind, actor=by, facts=facts),
        at=execution.settled_at,
    )


def _says(execution: Execution, result: str | None, error: str | None, elsewhere: Elsewhere | None) -> bool:
    """Whether an execution says this already; where it once waited is not said again with what came of it."""
    return (execution.result, execution.error) == (result, error) and elsewhere in {None, execution.elsewhere}


def _may_become(execution: Execution, status: ExecutionStatus, elsewhere: Elsewhere | None) -> bool:
    """Whether this outcome may follow. What waits elsewhere has a place, and nothing else has one."""
    placed = (elsewhere is not None) == (status is ExecutionStatus.PENDING_ELSEWHERE)
    return placed and status in _FOLLOWS.get(execution.status, ())


def _ended(
    execution: Execution,
    status: ExecutionStatus,
    elsewhere: Elsewhere | None,
    *,
    result: str | None,
    error: str | None,
    now: datetime,
) -> Execution:
    place = elsewhere or execution.elsewhere
    return replace(execution, status=status, settled_at=now, result=result, error=error, elsewhere=place)


def _settled_kind(status: ExecutionStatus) -> Kind:
    """Return the event of an outcome that was uncertain before."""
    return Kind.RECONCILED if status in _CERTAIN else _OUTCOME_KIND[status]


_CERTAIN = frozenset({ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED})
_FOLLOWS = {
    ExecutionStatus.STARTED: _CERTAIN | {ExecutionStatus.UNKNOWN, ExecutionStatus.PENDING_ELSEWHERE},
    ExecutionStatus.UNKNOWN: _CERTAIN | {ExecutionStatus.PENDING_ELSEWHERE},
    ExecutionStatus.PENDING_ELSEWHERE: _CERTAIN,  # not unknown: what is known of it stays
}
_OUTCOME_KIND = {
    ExecutionStatus.SUCCEEDED: Kind.SUCCEEDED,
    ExecutionStatus.FAILED: Kind.FAILED,
    ExecutionStatus.UNKNOWN: Kind.UNKNOWN,
    ExecutionStatus.PENDING_ELSEWHERE: Kind.PENDING_ELSEWHERE,
}


def issue(request: ConfirmationRequest, *, grant_id: str, not_after: datetime) -> ConfirmationRequest:
    """Attach the grant that an approval yields (the `IssueGrant` effect); same version: it is part of the approval."""
    return replace(request, grant=Grant(id=grant_id, status=GrantStatus.ISSUED, not_after=not_after))
