"""How a request moves: a pure function from a value and an event to the next value. What follows is `execution.py`.

Each function returns a `Step`: the next request, what must happen because of it (`effects`), what the trail says
(`record`), or why nothing changed (`refusal`). A use case carries the step out in one transaction. Nothing here knows a
clock: `now` is the database's clock, read after the row was locked.

Order inside `advance`: already final? past the deadline? then the event. So a late click can only ever expire a
request.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.lifecycle.consultations import Consulting, consulted
from app.domain.lifecycle.effect import IssueGrant, PostCards, RefreshCards, TellApprovers, TellEnd, Wake
from app.domain.lifecycle.step import Refusal, Step, no_place
from app.domain.money.payment import bound_facts
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.quorum import Electorate, counted, denied, met, worth_enough
from app.domain.request.request import (
    ConfirmationRequest,
    Settlement,
    Status,
)
from app.domain.trail.audit import Kind, Record

if TYPE_CHECKING:
    from datetime import datetime

SYSTEM = "system"
_MILLISECOND = timedelta(milliseconds=1)


class Vote(Struct, frozen=True, kw_only=True):
    """One person's verdict, with who may vote at this instant."""

    decision: Decision
    voters: Electorate


class VoteWithdrawn(Struct, frozen=True, kw_only=True):
    """One person takes their vote back. They need not be entitled any longer: it only ever counts less."""

    person: str
    evidence: Evidence


class Withdrawn(Struct, frozen=True, kw_only=True):
    """The agent, or an administrator, no longer wants the answer."""

    by: str
    reason: str | None


class DeadlinePassed(Struct, frozen=True, kw_only=True):
    """Somebody noticed the time: the sweep, a click, a waiter."""


class NobodyReachable(Struct, frozen=True, kw_only=True):
    """No card could be brought to anyone."""

    why: str


Event = Vote | VoteWithdrawn | Withdrawn | DeadlinePassed | NobodyReachable | Consulting


def opened(request: ConfirmationRequest, *, sub_agent: str | None = None) -> Step:
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
            "stages": [stage.facts() for stage in request.stages],
            "channels": list(request.channels),
            "expires_at": request.expires_at.isoformat(),
            **({"assurance": request.assurance.value} if request.assurance is not Assurance.L1 else {}),
            **({"payment": bound_facts(request.payments)} if request.payments else {}),
            **({"cautions": [each.kind.value for each in request.cautions]} if request.cautions else {}),
            **({"cc": list(request.cc)} if request.cc else {}),
            **({"evidence": [each.facts() for each in request.call.evidence]} if request.call.evidence else {}),
            **({"predecessor": request.predecessor_id} if request.predecessor_id else {}),
            **({"sub_agent": sub_agent} if sub_agent else {}),
            **({"requester_proof": request.call.proof.facts()} if request.call.proof else {}),
        },
    )
    return Step(request=request, effects=(PostCards(),), record=record)


def permitted(request: ConfirmationRequest, *, reason: str, now: datetime) -> Step:
    """Settle a request about which nobody is asked: a rule allows it, or people did beforehand (`allowed_by`)."""
    by = request.allowed_by
    if by is None or request.stages or request.status.final or now >= request.expires_at:
        return Step(request=request, refusal=Refusal.NOT_APPROVED)
    until = now + request.claim_within
    facts: dict[str, object] = {"allowed_by": by, "reason": reason, "digest": request.digest}
    facts["claim_until"] = until.isoformat()
    step = _settle(request, Status.APPROVED, Kind.APPROVED, by=by, reason=reason, via=None, at=now, facts=facts)
    return replace(step, effects=(IssueGrant(not_after=until), *step.effects))


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
        case VoteWithdrawn():
            return _take_back(request, event)
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
            return consulted(request, event, now=now)


def _vote(request: ConfirmationRequest, event: Vote, now: datetime) -> Step:
    decision, voters = event.decision, event.voters
    refusal = refusal_of(request, decision, voters)
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    earlier = next((d for d in request.decisions if d.person == decision.person), None)
    same = earlier is not None and (earlier.verdict, earlier.on_behalf_of) == (decision.verdict, decision.on_behalf_of)
    if earlier is not None and same and worth_enough((earlier,), request.assurance):
        return _repeated(request, earlier, voters, now)
    decisions = (*(d for d in request.decisions if d.person != decision.person), decision)
    voted = replace(request, decisions=decisions)
    if decision.verdict is Verdict.DENY and denied(request.stages, decisions, voters):
        return _deny(voted, decision, now)
    if decision.verdict is Verdict.APPROVE and met(request.stages, decisions, voters, request.assurance):
        return _approve(voted, decision, voters, now)
    return Step(
        request=replace(voted, version=request.version + 1),
        effects=(RefreshCards(), Wake()),
        record=Record(
            kind=Kind.VOTE, actor=decision.person, facts=_vote_facts(request, decision) | _alone(decision, voters)
        ),
        at=decision.at,
    )


def refusal_of(request: ConfirmationRequest, decision: Decision, voters: Electorate) -> Refusal | None:
    """Say why a person's verdict would not count on this request, or None if it would."""
    own = email_key(decision.person) in request.barred and decision.person not in voters.alone
    barred = own or voters.is_barred(decision.person)
    if barred or not voters.places_of(decision.person, decision.on_behalf_of):
        return no_place(request, decision.person, barred=barred)
    if decision.verdict is Verdict.APPROVE and not voters.may_approve(decision.person, decision.on_behalf_of):
        return Refusal.OVER_LIMIT
    if decision.verdict is Verdict.APPROVE and not decision.evidence.assurance.suffices_for(request.assurance):
        return Refusal.STEP_UP
    return None


def _repeated(request: ConfirmationRequest, earlier: Decision, voters: Electorate, now: datetime) -> Step:
    """The same verdict again changes nothing, unless enough had said so before while somebody's place was missing."""
    if earlier.verdict is Verdict.APPROVE and met(request.stages, request.decisions, voters, request.assurance):
        return _approve(request, earlier, voters, now)
    if earlier.verdict is Verdict.DENY and denied(request.stages, request.decisions, voters):
        return _deny(request, earlier, now)
    return Step(request=request, refusal=Refusal.REPEATED)


def _take_back(request: ConfirmationRequest, event: VoteWithdrawn) -> Step:
    earlier = next((d for d in request.decisions if d.person == event.person), None)
    if earlier is None:
        return Step(request=request, refusal=Refusal.NO_VOTE)
    facts = _vote_facts(request, replace(earlier, reason=None, evidence=event.evidence))
    facts |= {"verdict": "withdraw", "withdrew": earlier.verdict.value}
    return Step(
        request=replace(
            request,
            version=request.version + 1,
            decisions=tuple(d for d in request.decisions if d.person != event.person),
        ),
        effects=(RefreshCards(), Wake()),
        record=Record(kind=Kind.VOTE, actor=event.person, facts=facts),
    )


def _deny(request: ConfirmationRequest, decision: Decision, now: datetime) -> Step:
    return _settle(
        request,
        Status.DENIED,
        Kind.DENIED,
        by=decision.person,
        reason=decision.reason,
        via=decision.evidence.channel,
        at=now,
        facts=_vote_facts(request, decision),
    )


def _approve(request: ConfirmationRequest, decision: Decision, voters: Electorate, now: datetime) -> Step:
    until = now + request.claim_within
    step = _settle(
        request,
        Status.APPROVED,
        Kind.APPROVED,
        by=decision.person,
        reason=decision.reason,
        via=decision.evidence.channel,
        at=now,
        facts={**_vote_facts(request, decision), **_alone(decision, voters), "claim_until": until.isoformat()},
    )
    # Above what a click can give, each is told where the approval did not come from.
    told = () if request.assurance.on_cards else tuple(sorted(counted(request.decisions, voters)))
    notices = (TellApprovers(people=told),) if told else ()
    return replace(step, effects=(IssueGrant(not_after=until), *step.effects, *notices))


def _alone(decision: Decision, voters: Electorate) -> dict[str, object]:
    return {"alone": True} if decision.person in voters.alone else {}


def _vote_facts(request: ConfirmationRequest, decision: Decision) -> dict[str, object]:
    evidence = decision.evidence
    acted = {"on_behalf_of": decision.on_behalf_of} if decision.on_behalf_of else {}
    given = [over.by for over in request.handovers if over.to == decision.person]
    if given:
        acted["handed_over_by"] = given[-1]
    seen = {"shown_for_ms": (decision.at - evidence.shown_at) // _MILLISECOND} if evidence.shown_at else {}
    return {
        **acted,
        "verdict": decision.verdict.value,
        "digest": request.digest,
        "reason": decision.reason,
        "channel": evidence.channel,
        "account": evidence.account_id,
        "tenant": evidence.tenant,
        "app": evidence.app_id,
        "message": evidence.message_id,
        "card_revision": evidence.card_revision,
        "assurance": evidence.assurance.value,
        **seen,
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
    settled = replace(
        request,
        status=status,
        version=request.version + 1,
        settlement=Settlement(at=at, by=by, reason=reason, via=via),
    )
    # An approval is no end yet. And what an agent takes back itself brings nobody a message: it could ask and take back
    # all day, in anybody's name.
    ended = status is not Status.APPROVED and by != f"agent:{request.call.agent}"
    return Step(
        request=settled,
        effects=(RefreshCards(), *told(settled, ended=ended), Wake()),
        record=Record(kind=kind, actor=by, facts=facts if facts is not None else {"reason": reason}),
        at=at,
    )


def told(request: ConfirmationRequest, *, ended: bool = True) -> tuple[TellEnd, ...]:
    """Return that those who are to hear of an end are told; nothing where there is nobody, or no end."""
    return (TellEnd(),) if ended and request.hearers else ()
