"""What people have just denied: refused at the gate where it is the very call, warned of where it only says the same.

An agent that asks again and again wears its approvers down. The same call (org, agent, tool, arguments) is not asked
about again for a while after a denial, whatever session it comes from. The agent is told why, as it was told the first
time; nobody gets a card. Somebody who may decide that request can lift the refusal (`lift.py`).

Two calls are near copies where they say the same in everything that the file wants to be seen (`pin`), whichever agent
makes them and in whichever session. Such a call is not refused, for it may be the mended one: people are asked, and
whoever decides should know that somebody said no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.card.card_for import instant_text
from app.domain.request.caution import Caution, CautionKind
from app.domain.request.redact import scrubbed_for
from app.domain.rules.attention import COOL_DOWN_RULE
from app.domain.rules.policy import Ask, Deny
from app.domain.text.visible import visible
from app.storage.refusals.denials import Sought, find_denied, look_back
from app.storage.requests.requests import find_request
from app.usecases.judging.call_records import ruled
from app.usecases.writing.clean import clean

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest, Settlement
    from app.domain.trail.audit import Record
    from app.storage.engine.transaction import Tx
    from app.storage.refusals.denials import Denials
    from app.usecases.judging.judge_call import Judged

_LONGEST = 120
NO_REASON = "–"


def denials_sought(judged: Judged) -> Sought:
    """Say what bears on a call that is to be asked about, of what was denied before."""
    attention = judged.policy.attention
    return Sought(
        org=judged.call.org,
        agent=judged.call.agent,
        call_digest=judged.call_digest,
        within=attention.cool_down or None,
        near_key=judged.near_key,
        near_within=attention.remember_denials or None,
    )


def near_copies(tx: Tx, judged: Judged, *, now: datetime, found: Denials | None = None) -> tuple[Caution, ...]:
    """Return the caution that a call like this was denied; nothing, without a look, where the file pins nothing.

    `found`: it was looked for already.
    """
    within, key = judged.policy.attention.remember_denials, judged.near_key
    if not within or key is None:
        return ()
    if found is None:
        found = look_back(tx, replace(denials_sought(judged), within=None), now=now)
    denied = find_request(tx, found.near) if found.near is not None else None
    if denied is None or denied.settlement is None:
        return ()
    at = denied.settlement.at.replace(second=0, microsecond=0)
    values = {"at": instant_text(at, judged.policy.zone), "request": denied.id, "reason": _reason(denied)}
    return (Caution(kind=CautionKind.NEAR_DENIED, values=values),)


def _reason(denied: ConfirmationRequest) -> str:
    """Return the reason of a denial for other people's cards: on one line, short, with no sensitive value in it."""
    said = denied.settlement.reason if denied.settlement else None
    if not said or not said.strip():
        return NO_REASON
    line = visible(" ".join(clean(scrubbed_for(said, denied)).split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def denied_before(tx: Tx, judged: Judged, ruling: Ask, found: Denials, *, of_digest: str) -> tuple[Deny, Record] | None:
    """Return the refusal of a call that was denied a short while ago, with what the trail is told of it; else None."""
    now = tx.now()
    request = find_denied(tx, found, of_digest)
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
