"""A request as the wire shows it: its members, declared once, and how each of them is read.

OpenAPI is made from the declarations, and the type checker holds the views to them, member by member: one that is
missing, that is too much or of another type does not pass. The SDK's model is held to them by
`tests/sdk/client/test_wire_view.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic takes `typing`'s only from Python 3.12 on

from app.api.wire.payment_members import CautionView, PaymentMembers, PaymentView, WarningView, payment_members
from app.domain.card.card_for import masked, message_for_model
from app.domain.card.editing import changed_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.call.exhibit import Exhibit
    from app.domain.call.requester_proof import RequesterProof
    from app.domain.request.quorum import Tally
    from app.domain.request.request import ConfirmationRequest, Execution, Grant, Settlement
    from app.domain.text.canonical import JsonValue
    from app.usecases.reading.warned import Warned


class StageView(TypedDict):
    """How far one stage has come."""

    of: list[str]
    need: int
    have: int
    joined: bool
    denials: int
    allow_requester: bool
    allow_owner: bool
    allow_editor: bool
    allow_alone: bool
    open_to: list[str]
    added_by: str | None


class QuestionView(TypedDict):
    """What an approver wants to know; `answer` is null as long as there is none."""

    id: str
    by: str
    text: str
    at: str
    answer: str | None
    answered_by: str | None
    answered_at: str | None


class HandOverView(TypedDict):
    """`to` decides in the place of `by`."""

    by: str
    to: str
    at: str
    note: str | None


class DecisionView(TypedDict):
    """Who said what, and through which door."""

    person: str
    on_behalf_of: str | None
    alone: bool
    verdict: str
    reason: str | None
    channel: str
    assurance: str
    at: str


class SettlementView(TypedDict):
    """How a request became final: when, by whom, why, and through which door; null: the gateway's own doing."""

    at: str
    by: str
    reason: str | None
    via: str | None


class RequesterProofView(TypedDict):
    """Which issuer said who asked, under which subject; `actor` is for whom the token was exchanged."""

    issuer: str
    subject: str
    actor: str | None
    signed_at: str
    until: str


class GrantedView(TypedDict):
    """The single use of an approval."""

    id: str
    status: str
    not_after: str


class ElsewhereView(TypedDict):
    """Where a call waits, or waited, for the people of the service that carries it out: its id there, and a link."""

    id: str
    link: str | None


class ExecutionView(TypedDict):
    """What came of the grant. `result` is for the agent alone."""

    id: str
    claim_id: str
    status: str
    started_at: str
    lease_until: str
    ended_at: str | None
    result: Any
    error: str | None
    elsewhere: ElsewhereView | None


class EvidenceView(TypedDict):
    """A link or a file that the call brought along: the agent's claim. A file is at `…/evidence/{number}`."""

    number: int
    kind: str
    title: Annotated[str, Field(description="of a link, as the agent calls it; the name of a file")]
    url: str | None
    media_type: str | None
    size: Annotated[int | None, Field(description="bytes of a file")]
    sha256: Annotated[str, Field(description="of the link's address, or of the file's content")]


class RequestView(TypedDict):
    """A request as it stands. `message` is what the model should be told.

    Where people changed the call, `arguments` is what they approve, and what runs; `proposed` is what the agent wanted.
    `enforced`: an executor runs it, and the agent waits for its outcome. `allowed_by` (``rule:…``, ``standing:…``): no
    people were asked.
    """

    id: str
    state: str
    status: str
    version: int
    agent: str
    sub_agent: Annotated[str | None, Field(description="through whom the agent acts, as it says")]
    session: str | None
    call_id: str | None
    requester: Annotated[str | None, Field(description="on whose behalf, as the agent says, unless it was proved")]
    requester_proof: Annotated[
        RequesterProofView | None, Field(description="what proves who asked: then `requester` is a fact; null: a claim")
    ]
    tool: str
    title: str
    arguments: dict[str, Any]
    proposed: dict[str, Any] | None
    edited_by: str | None
    changed: Annotated[
        list[str], Field(description="the arguments that people changed, also where both are masked alike")
    ]
    digest: str
    call_digest: str
    code: str
    rule: str | None
    reason: str
    policy_version: str
    channels: list[str]
    created_at: str
    expires_at: str
    stages: list[StageView]
    decisions: list[DecisionView]
    settled: SettlementView | None
    grant: GrantedView | None
    revoked_why: str | None
    execution: ExecutionView | None
    predecessor: str | None
    risk: str
    assurance: Annotated[
        str, Field(description="what an approval takes: L1 a click, L2 typing, L3 a second factor, L4 two")
    ]
    payments: list[PaymentView]
    cautions: list[CautionView]
    warnings: Annotated[
        list[WarningView],
        Field(
            description="what cards and pages warn of, in the language of the file; for people's keys, not for agents'"
        ),
    ]
    enforced: bool
    allowed_by: str | None
    extensions: int
    questions: list[QuestionView]
    handovers: list[HandOverView]
    evidence: list[EvidenceView]
    host_event: NotRequired[
        Annotated[str | None, Field(description="what the agent's program sent to its hook; of one request alone")]
    ]
    message: str


class StandingView(TypedDict):
    """How a request stands: the answer to a change of it where `Prefer: return=minimal` was sent along."""

    id: str
    state: str
    status: str
    version: int
    digest: str


def _view_proof(proof: RequesterProof | None) -> RequesterProofView | None:
    if proof is None:
        return None
    return {
        "issuer": proof.issuer,
        "subject": proof.subject,
        "actor": proof.actor,
        "signed_at": proof.signed_at.isoformat(),
        "until": proof.until.isoformat(),
    }


def view_request(
    request: ConfirmationRequest, tally: Tally | None, warned: Iterable[Warned] = (), *, whole: bool
) -> RequestView:
    """Show a request. `whole`: with its sensitive arguments, for the agent that sent them and nobody else.

    `tally` is None where nobody has voted.
    """
    call = request.call
    pays = request.payments or request.cautions
    paid: PaymentMembers = payment_members(request, whole=whole) if pays else {"payments": [], "cautions": []}

    def shown(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return dict(arguments) if whole else masked(arguments, request.sensitive)

    return {
        "id": request.id,
        "state": request.state.value,
        "status": request.status.value,
        "version": request.version,
        "agent": call.agent,
        "sub_agent": call.sub_agent,
        "session": call.session,
        "call_id": call.call_id,
        "requester": call.requester,
        "requester_proof": _view_proof(call.proof),
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
        "stages": _view_stages(request, tally),
        "decisions": _view_decisions(request),
        "settled": request.settlement and _view_settlement(request.settlement),
        "grant": request.grant and _view_grant(request.grant),
        "revoked_why": request.revoked_why,
        "execution": request.execution and _view_execution(request.execution, whole=whole),
        "predecessor": request.predecessor_id,
        "risk": request.risk.value,
        "assurance": request.assurance.value,
        "payments": paid["payments"],
        "cautions": paid["cautions"],
        "warnings": [
            {"kind": each.kind, "field": each.path, "text": each.text, "values": dict(each.values)} for each in warned
        ],
        "enforced": request.enforced,
        "allowed_by": request.allowed_by,
        "extensions": request.extensions,
        "questions": _view_questions(request),
        "handovers": [
            {"by": over.by, "to": over.to, "at": over.at.isoformat(), "note": over.note} for over in request.handovers
        ],
        "evidence": [_view_exhibit(number, each) for number, each in enumerate(call.evidence, start=1)],
        "message": message_for_model(request),
    }


def _view_stages(request: ConfirmationRequest, tally: Tally | None) -> list[StageView]:
    return [
        {
            "of": list(stage.of),
            "need": stage.need,
            "have": have,
            "joined": stage.joined,
            "denials": stage.denials,
            "allow_requester": stage.allow_requester,
            "allow_owner": stage.allow_owner,
            "allow_editor": stage.allow_editor,
            "allow_alone": stage.allow_alone,
            "open_to": list(stage.open_to),
            "added_by": stage.added_by,
        }
        for stage, have in zip(request.stages, tally.have if tally else (0,) * len(request.stages), strict=True)
    ]


def _view_decisions(request: ConfirmationRequest) -> list[DecisionView]:
    return [
        {
            "person": decision.person,
            "on_behalf_of": decision.on_behalf_of,
            "alone": request.is_alone(decision.person),
            "verdict": decision.verdict.value,
            "reason": decision.reason,
            "channel": decision.evidence.channel,
            "assurance": decision.evidence.assurance.value,
            "at": decision.at.isoformat(),
        }
        for decision in request.decisions
    ]


def _view_questions(request: ConfirmationRequest) -> list[QuestionView]:
    return [
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
    ]


def _view_exhibit(number: int, exhibit: Exhibit) -> EvidenceView:
    return {
        "number": number,
        "kind": exhibit.kind.value,
        "title": exhibit.title,
        "url": exhibit.url,
        "media_type": exhibit.media_type,
        "size": exhibit.size,
        "sha256": exhibit.sha256,
    }


def _view_settlement(settlement: Settlement) -> SettlementView:
    return {
        "at": settlement.at.isoformat(),
        "by": settlement.by,
        "reason": settlement.reason,
        "via": settlement.via,
    }


def _view_grant(grant: Grant) -> GrantedView:
    return {"id": grant.id, "status": grant.status.value, "not_after": grant.not_after.isoformat()}


def _view_execution(execution: Execution, *, whole: bool) -> ExecutionView:
    return {
        "id": execution.id,
        "claim_id": execution.claim_id,
        "status": execution.status.value,
        "started_at": execution.started_at.isoformat(),
        "lease_until": execution.lease_until.isoformat(),
        "ended_at": execution.settled_at.isoformat() if execution.settled_at else None,
        "result": _read_result(execution.result) if execution.result and whole else None,
        "error": execution.error,
        "elsewhere": execution.elsewhere and {"id": execution.elsewhere.id, "link": execution.elsewhere.link},
    }


def _read_result(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no gateway wrote it: `assent audit verify` names its row
        return "(unreadable)"
