"""Rows held against the trail: what the events say must stand is what stands, or which event says otherwise."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from app.domain.call.tool_call import binding_digest
from app.domain.errors import AssentError
from app.domain.lifecycle.replayed import VOTE_OF, Fault, Replayed
from app.domain.money.payment import bound_facts
from app.domain.text.canonical import plain_canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.domain.request.decision import Decision
    from app.domain.request.request import ConfirmationRequest


def request_faults(
    request: ConfirmationRequest,
    replayed: Replayed,
    *,
    end: int,
    destroyed: bool = False,
) -> list[Fault]:
    """Return everything in which a request's rows differ from its events. `end` is the number of the last event.

    `destroyed`: what the call carried is gone for good, and is not held against what was said of it.
    """
    if not replayed.said:
        return [
            Fault(end, f"after event {end}: the request {request.id} stands in the database, and no event asked it")
        ]
    last = max(said.seq for said in replayed.said.values())
    stands = _stands(request, replayed)
    if destroyed:
        stands |= {"digest": request.digest, **{name: replayed.value(name) for name in ("payment", "cautions")}}
    whose = f"the row of {request.id}"
    return [*replayed.faults, *differences(stands, replayed, whose, must=(VOTE_OF,), end=last)]


def differences(
    stands: Mapping[str, object], replayed: Replayed, whose: str, *, must: Collection[str], end: int
) -> list[Fault]:
    """Compare by name. What stands under a name that begins with one of `must` has to be said by an event."""
    known: dict[str, object] = json.loads(plain_canonical(stands))
    found = [
        Fault(
            said.seq, f"event {said.seq} says {name} {_short(said.value)}, and {whose} says {_short(known.get(name))}"
        )
        for name, said in replayed.said.items()
        if known.get(name) != said.value
    ]
    unsaid = [name for name in known if name.startswith(tuple(must)) and name not in replayed.said]
    return [*found, *(Fault(end, f"after event {end}: {whose} has a {name}, and no event says so") for name in unsaid)]


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 120


def _stands(request: ConfirmationRequest, replayed: Replayed) -> dict[str, object]:
    """Say of a request what its events say, under the same names."""
    call, settlement = request.call, request.settlement
    return {
        "agent": call.agent,
        "tool": call.tool,
        "session": call.session,
        "call_id": call.call_id,
        "requester": call.requester,
        "requester_proof": call.proof.facts() if call.proof else None,
        "owner": call.owner,
        "digest": _digest(request, replayed),
        "call_digest": request.call_digest,
        "code": request.code,
        "rule": request.rule_id,
        "policy_version": request.policy_version,
        "why": request.why,
        "stages": [stage.facts() for stage in request.stages],
        "channels": list(request.channels),
        "expires_at": request.expires_at.isoformat(),
        "assurance": request.assurance.value,
        "payment": bound_facts(request.payments) if request.payments else None,
        "cautions": [each.kind.value for each in request.cautions],
        "predecessor": request.predecessor_id,
        "bound_until": replayed.value("bound_until"),  # what the digest was made with
        "edition": replayed.value("edition"),
        "version": request.version,
        "status": request.status.value,
        "settled_at": settlement.at.isoformat() if settlement else None,
        "settled_by": settlement.by if settlement else None,
        "settled_reason": settlement.reason if settlement else None,
        "allowed_by": request.allowed_by,
        **_follows(request),
        **{VOTE_OF + each.person: _vote(each) for each in request.decisions},
    }


def _follows(request: ConfirmationRequest) -> dict[str, object]:
    grant, execution = request.grant, request.execution
    ended = execution.settled_at if execution else None
    elsewhere = execution.elsewhere if execution else None
    return {
        "grant": grant.status.value if grant else None,
        "grant_id": grant.id if grant else None,
        "claim_until": grant.not_after.isoformat() if grant else None,
        "revoked_why": request.revoked_why,
        "execution": execution.status.value if execution else None,
        "execution_id": execution.id if execution else None,
        "claim": execution.claim_id if execution else None,
        "started_at": execution.started_at.isoformat() if execution else None,
        "ended_at": ended.isoformat() if ended else None,
        "elsewhere_id": elsewhere.id if elsewhere else None,
        "elsewhere_link": elsewhere.link if elsewhere else None,
    }


def _vote(decision: Decision) -> dict[str, object]:
    evidence = decision.evidence
    return {
        "verdict": decision.verdict.value,
        "reason": decision.reason,
        "channel": evidence.channel,
        "account": evidence.account_id,
        "tenant": evidence.tenant,
        "app": evidence.app_id,
        "message": evidence.message_id,
        "card_revision": evidence.card_revision,
        "assurance": evidence.assurance.value,
        "on_behalf_of": decision.on_behalf_of,
        "at": decision.at.isoformat(),
    }


def _digest(request: ConfirmationRequest, replayed: Replayed) -> str:
    """Make the digest anew of what the row says would run; the row's own, if that is not what it says."""
    if request.digest != replayed.value("digest"):
        return request.digest
    try:
        return binding_digest(
            request.call,
            request_id=request.id,
            nonce=f"{request.nonce}{replayed.value('edition')}",
            policy_version=request.policy_version,
            expires_at=datetime.fromisoformat(replayed.value("bound_until")),
            payments=request.payments,
        )
    except (AssentError, TypeError, ValueError):
        return "that cannot be made: its arguments are no JSON"
