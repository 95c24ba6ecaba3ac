"""Our values as the wire shows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from app.api.wire.payment_members import payment_members, view_warnings
from app.domain.card.card_for import masked, message_for_model
from app.domain.card.editing import changed_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.request.quorum import Tally
    from app.domain.request.request import ConfirmationRequest, Execution
    from app.domain.text.canonical import JsonValue
    from app.domain.trail.audit import AuditEvent
    from app.usecases.reading.warned import Warned


def view_request(
    request: ConfirmationRequest, tally: Tally, warned: Iterable[Warned], *, whole: bool
) -> dict[str, object]:
    """Show a request. `whole`: with its sensitive arguments, for the agent that sent them and nobody else."""
    call = request.call
    settlement, grant = request.settlement, request.grant

    def shown(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return dict(arguments) if whole else masked(arguments, request.sensitive)

    return {
        "id": request.id,
        "state": request.state.value,
        "status": request.status.value,
        "version": request.version,
        "agent": call.agent,
        "session": call.session,
        "call_id": call.call_id,
        "requester": call.requester,
        "tool": call.tool,
        "title": request.title,
        "arguments": shown(call.arguments),
        "proposed": None if request.proposed is None else shown(request.proposed),
        "edited_by": request.edited_by,
        "changed": [] if request.proposed is None else changed_names(request.proposed, call.arguments),
        "digest": request.digest,
        "call_digest": request.call_digest,
        "code": request.code,
        "rule": request.rule_id,
        "reason": request.why,
        "policy_version": request.policy_version,
        "channels": list(request.channels),
        "created_at": request.created_at.isoformat(),
        "expires_at": request.expires_at.isoformat(),
        "stages": [
            {
                "of": list(stage.of),
                "need": stage.need,
                "have": have,
                "joined": stage.joined,
                "denials": stage.denials,
                "allow_requester": stage.allow_requester,
                "allow_owner": stage.allow_owner,
                "allow_editor": stage.allow_editor,
                "open_to": list(stage.open_to),
                "added_by": stage.added_by,
            }
            for stage, have in zip(request.stages, tally.have, strict=True)
        ],
        "decisions": [
            {
                "person": decision.person,
                "on_behalf_of": decision.on_behalf_of,
                "verdict": decision.verdict.value,
                "reason": decision.reason,
                "channel": decision.evidence.channel,
                "assurance": decision.evidence.assurance.value,
                "at": decision.at.isoformat(),
            }
            for decision in request.decisions
        ],
        "settled": settlement
        and {
            "at": settlement.at.isoformat(),
            "by": settlement.by,
            "reason": settlement.reason,
            "via": settlement.via,
        },
        "grant": grant and {"id": grant.id, "status": grant.status.value, "not_after": grant.not_after.isoformat()},
        "revoked_why": request.revoked_why,
        "execution": request.execution and _view_execution(request.execution, whole=whole),
        "predecessor": request.predecessor_id,
        "risk": request.risk.value,
        "assurance": request.assurance.value,
        **payment_members(request, whole=whole),
        "warnings": view_warnings(warned),
        "enforced": request.enforced,
        "allowed_by": request.allowed_by,
        "extensions": request.extensions,
        "questions": [
            {
                "id": question.id,
                "by": question.by,
                "text": question.text,
                "at": question.at.isoformat(),
                "answer": question.answer,
                "answered_by": question.answered_by,
                "answered_at": question.answered_at and question.answered_at.isoformat(),
            }
            for question in request.questions
        ],
        "handovers": [
            {"by": over.by, "to": over.to, "at": over.at.isoformat(), "note": over.note} for over in request.handovers
        ],
        "message": message_for_model(request),
    }


def _view_execution(execution: Execution, *, whole: bool) -> dict[str, object]:
    return {
        "id": execution.id,
        "claim_id": execution.claim_id,
        "status": execution.status.value,
        "started_at": execution.started_at.isoformat(),
        "lease_until": execution.lease_until.isoformat(),
        "ended_at": execution.settled_at.isoformat() if execution.settled_at else None,
        "result": json.loads(execution.result) if execution.result and whole else None,
        "error": execution.error,
    }


def view_event(event: AuditEvent) -> dict[str, object]:
    """Show a link of the trail, with everything that its hash covers."""
    return {
        "org": event.org,
        "seq": event.seq,
        "id": event.id,
        "at": event.at.isoformat(),
        "kind": event.record.kind.value,
        "actor": event.record.actor,
        "request_id": event.request_id,
        "request_version": event.request_version,
        "facts": dict(event.record.facts),
        "prev_hash": event.prev_hash,
        "hash": event.hash,
    }
