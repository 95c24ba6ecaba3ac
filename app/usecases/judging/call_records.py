"""What the trail is told of a judged call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.text.canonical import canonical
from app.domain.text.masking import masked
from app.domain.trail.audit import Kind, Record

if TYPE_CHECKING:
    from app.domain.rules.policy import Ruling
    from app.usecases.judging.judge_call import Judged


def ruled(judged: Judged, ruling: Ruling, *, allowed: bool) -> Record:
    """Tell that a call was allowed or refused at once, by which rule or hook."""
    return Record(
        kind=Kind.ALLOWED if allowed else Kind.REFUSED,
        actor=f"agent:{judged.call.agent}",
        facts=facts_of(judged, ruling),
    )


def facts_of(judged: Judged, ruling: Ruling) -> dict[str, object]:
    """Name a judged call and what judged it."""
    call = judged.call
    facts: dict[str, object] = {
        "tool": call.tool,
        "session": call.session,
        "call_id": call.call_id,
        "requester": call.requester,
        "call_digest": judged.call_digest,
        "rule": ruling.rule_id if judged.hook is None else None,
        "reason": ruling.reason,
        "policy_version": ruling.policy_version,
        "arguments": canonical(masked(call.arguments, judged.tool.sensitive)).decode(),  # for `policy replay`
        "hidden": list(judged.tool.sensitive),
    }
    if call.proof is not None:
        facts["requester_proof"] = call.proof.facts()
    if judged.unproven is not None:
        facts["unproven"] = judged.unproven
    if judged.hook is not None:
        facts |= {"hook": judged.hook, "fault": judged.fault}
    return facts
