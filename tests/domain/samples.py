"""Requests, people and votes to test with: small, whole, and the same every time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from app.domain.call.tool_call import ToolCall, binding_digest, call_digest
from app.domain.lifecycle.execution import issue
from app.domain.lifecycle.lifecycle import Vote
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.elsewhere import Elsewhere
from app.domain.request.quorum import Electorate, Stage, electorate
from app.domain.request.request import ConfirmationRequest, Execution, ExecutionStatus, GrantStatus, Settlement, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
FINANCE = frozenset({"ann@acme.example", "bob@acme.example", "cho@acme.example"})
OWNER = "olga@acme.example"
REQUESTER = "rex@acme.example"
ONE_OF_FINANCE = (Stage(of=("finance",), need=1),)


def a_call(**changes: Any) -> ToolCall:
    """Return a payment that an agent is about to make."""
    call = ToolCall(
        org="acme",
        agent="payer",
        session="s-1",
        call_id="toolu_1",
        tool="oa__purchase_pay",
        arguments={"payee": "Acme Ltd", "amount": 80000, "currency": "CNY", "bank_account": "6222-0001"},
        requester=REQUESTER,
        owner=OWNER,
        claim="The invoice is due today.",
    )
    return replace(call, **changes)


def a_request(
    request_id: str = "req_1", *, call: ToolCall | None = None, now: datetime = START, **changes: Any
) -> ConfirmationRequest:
    """Return a pending request, with its digests as the gateway would make them."""
    asked = call or a_call()
    expires_at = changes.pop("expires_at", now + timedelta(minutes=30))
    request = ConfirmationRequest(
        id=request_id,
        call=asked,
        call_digest=call_digest(asked),
        digest=binding_digest(asked, request_id=request_id, nonce="n_1", policy_version="p1", expires_at=expires_at),
        nonce="n_1",
        code="K7QM-3XWA",
        title="Pay Acme Ltd 80000 CNY",
        pinned=("payee", "amount", "currency"),
        sensitive=("bank_account",),
        rule_id="large",
        policy_version="p1",
        why="Payments over 50000 need finance. (args.amount = 80000)",
        stages=ONE_OF_FINANCE,
        channels=("api",),
        claim_within=timedelta(minutes=10),
        lease=timedelta(minutes=5),
        created_at=now,
        expires_at=expires_at,
    )
    return replace(request, **changes)


def a_decision(
    person: str, verdict: Verdict = Verdict.APPROVE, *, at: datetime = START, request_id: str = "req_1"
) -> Decision:
    """Return one person's verdict, given through the API."""
    reason = "not this one" if verdict is Verdict.DENY else None
    return Decision(
        id=f"dec_{request_id}_{person}_{verdict}",
        person=person,
        verdict=verdict,
        reason=reason,
        at=at,
        evidence=Evidence(channel="api"),
    )


def voters(
    stages: Sequence[Stage], members: Sequence[frozenset[str]] = (FINANCE,), barred: frozenset[str] = frozenset()
) -> Electorate:
    """Return who may vote."""
    return electorate(stages, members, barred)


def vote(
    request: ConfirmationRequest,
    person: str,
    verdict: Verdict = Verdict.APPROVE,
    *,
    members: Sequence[frozenset[str]] = (FINANCE,),
    at: datetime = START,
) -> Vote:
    """Return the event of a person's verdict on a request."""
    return Vote(
        decision=a_decision(person, verdict, at=at, request_id=request.id),
        voters=voters(request.stages, members, barred=request.barred),
    )


def settled(status: Status, *, at: datetime = START, by: str = "system") -> ConfirmationRequest:
    """Return a request that ended so."""
    return a_request(status=status, version=2, settlement=Settlement(at=at, by=by, reason=None, via=None))


def approved(*, at: datetime = START, grant: GrantStatus = GrantStatus.ISSUED) -> ConfirmationRequest:
    """Return an approved request with its grant."""
    request = settled(Status.APPROVED, at=at, by="ann@acme.example")
    issued = issue(request, grant_id="gra_1", not_after=at + request.claim_within)
    assert issued.grant is not None
    return replace(issued, grant=replace(issued.grant, status=grant), decisions=(a_decision("ann@acme.example"),))


def claimed(status: ExecutionStatus = ExecutionStatus.STARTED, *, at: datetime = START) -> ConfirmationRequest:
    """Return a request whose grant is spent."""
    request = approved(at=at, grant=GrantStatus.CONSUMED)
    execution = Execution(id="exe_1", claim_id="c-1", status=status, started_at=at, lease_until=at + request.lease)
    if status is not ExecutionStatus.STARTED:
        execution = replace(execution, settled_at=at)
    if status is ExecutionStatus.PENDING_ELSEWHERE:
        execution = replace(execution, elsewhere=Elsewhere(id="apr_1", link="https://bank.example/apr_1"))
    return replace(request, execution=execution)
