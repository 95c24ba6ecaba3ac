"""Refuse at the gate what people have just denied: an agent that asks again and again wears its approvers down.

The same call (org, agent, tool, arguments) is not asked about again for a while after a denial, whatever session it
comes from. The agent is told why, as it was told the first time; nobody gets a card. Somebody who may
decide that request can lift the refusal (`lift.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.rules.attention import COOL_DOWN_RULE
from app.domain.rules.policy import Ask, Deny
from app.domain.text.visible import visible
from app.storage.refusals.denials import find_denied
from app.usecases.judging.call_records import ruled

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import Settlement
    from app.domain.trail.audit import Record
    from app.storage.engine.transaction import Tx
    from app.usecases.judging.judge_call import Judged


def denied_before(tx: Tx, judged: Judged, ruling: Ask, *, of_digest: str) -> tuple[Deny, Record] | None:
    """Return the refusal of a call that was denied a short while ago, with what the trail is told of it; else None."""
    within = judged.policy.attention.cool_down
    if not within:
        return None
    now = tx.now()
    request = find_denied(tx, judged.call.agent, of_digest, since=now - within)
    if request is None or request.settlement is None:
        return None
    refusal = Deny(
        rule_id=COOL_DOWN_RULE,
        reason=_told(request.id, request.settlement, now),
        policy_version=ruling.policy_version,
        trace=ruling.trace,
        record=True,
    )
    record = ruled(replace(judged, hook=None, fault=False), refusal, allowed=False)
    asked_by = {"asked_by": judged.hook or ruling.rule_id}
    return refusal, replace(record, facts={**record.facts, **asked_by, "denied_request": request.id})


def _told(request_id: str, settlement: Settlement, now: datetime) -> str:
    """Say to the model what was decided, when, and that asking again is no way; names no approver.

    It is not told for how long: that would be an appointment for the next try.
    """
    minutes = int((now - settlement.at).total_seconds()) // 60
    ago = f"{minutes} min ago" if minutes else "less than a minute ago"
    reason = f", saying: {visible(settlement.reason).rstrip('.')}" if settlement.reason else ""
    return (
        f"A person denied this very call {ago} (request {request_id}){reason}. "
        "The denial stands, and nobody was asked about it again: only people can lift it."
    )
