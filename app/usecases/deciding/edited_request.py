"""What becomes of a request whose arguments people change: the call judged anew, and whom it then needs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.tool import title_line
from app.domain.call.tool_call import binding_digest
from app.domain.card.editing import changed_names, only_lowered
from app.domain.money.payment import bound_facts
from app.domain.request.caution import CautionKind
from app.domain.request.quorum import stages_at
from app.domain.request.timetable import timetable
from app.domain.rules.policy import Ask, raised, why
from app.domain.text.canonical import canonical
from app.domain.text.masking import masked
from app.domain.text.visible import visible
from app.usecases.voters.wider import are_wider

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.domain.request.caution import Caution
    from app.domain.request.request import ConfirmationRequest
    from app.usecases.judging.judge_call import Judged


class EditedRequest(Struct, frozen=True, kw_only=True):
    """A request as it would stand with other arguments, and what the trail is told of them."""

    request: ConfirmationRequest
    facts: dict[str, object]


def as_edited(
    request: ConfirmationRequest,
    judged: Judged,
    *,
    by: str,
    seals: Seals,
    now: datetime,
    reason: str | None = None,
    cautions: Sequence[Caution] = (),
) -> EditedRequest:
    """Return the request with the arguments of `judged`, a digest and code of its own, and the people whom it needs.

    Those are whom the rules ask for the changed call, weighed with its `cautions`; where they would ask nobody, those
    who were asked so far. Whoever was added stays. What an approval takes never becomes less, unless nothing but
    amounts of the agent's own call was lowered and the rules ask for less.
    """
    call = replace(request.call, arguments=dict(judged.call.arguments))
    proposed = request.call.arguments if request.proposed is None else request.proposed
    lowered = only_lowered(proposed, call.arguments, judged.tool.money)
    asked = _asked(request, judged, now, cautions, lowered=lowered)
    # Its own even where it says again what it said before: what was shown of it then must not open it now.
    nonce = f"{request.nonce}.{request.version + 1}"
    digest = binding_digest(
        call,
        request_id=request.id,
        nonce=nonce,
        policy_version=judged.policy.version,
        expires_at=request.expires_at,
        payments=judged.payments,
    )
    after = replace(
        asked,
        call=call,
        digest=digest,
        code=seals.code(nonce=nonce, digest=digest),
        title=title_line(judged.tool, call.arguments, judged.policy.language.value),
        # What must be seen, and what must not, by the file that judged it; nothing of what held so far is given up.
        pinned=tuple(dict.fromkeys((*request.pinned, *judged.tool.pin))),
        sensitive=tuple(dict.fromkeys((*request.sensitive, *judged.tool.sensitive))),
        policy_version=judged.policy.version,
        proposed=proposed,
        edited_by=by,
        only_lowered=lowered,
        payments=judged.payments,
        cautions=(*cautions, *_kept(request, cautions)),
        near_key=judged.near_key,
    )
    hidden = sorted(after.sensitive)
    facts: dict[str, object] = {
        "changed": [visible(name) for name in changed_names(request.call.arguments, call.arguments)],
        "arguments": canonical(masked(call.arguments, hidden)).decode(),
        "hidden": hidden,
        "only_lowered": after.only_lowered,
        "reason": reason,
    }
    if after.assurance is not request.assurance:
        facts["assurance"] = after.assurance.value
    if after.payments:
        facts |= bound_facts(after.payments) | {"cautions": [caution.kind.value for caution in after.cautions]}
    return EditedRequest(request=after, facts=facts)


def _kept(request: ConfirmationRequest, cautions: Sequence[Caution]) -> tuple[Caution, ...]:
    """Return the warning of an earlier no, which other arguments do not take back."""
    if any(caution.kind is CautionKind.NEAR_DENIED for caution in cautions):
        return ()
    return tuple(caution for caution in request.cautions if caution.kind is CautionKind.NEAR_DENIED)


def _asked(
    request: ConfirmationRequest, judged: Judged, now: datetime, cautions: Sequence[Caution], *, lowered: bool
) -> ConfirmationRequest:
    """Return the request with the people whom the changed call needs, and all that is said about asking them."""
    own = tuple(stage for stage in request.stages if stage.added_by is None)
    added = tuple(replace(stage, joined=True) for stage in request.stages if stage.added_by is not None)
    ruling = raised(judged.ruling, cautions, judged.policy)
    if not isinstance(ruling, Ask):
        return replace(request, stages=(*own, *added))
    level = ruling.asking.assurance if lowered else max(ruling.asking.assurance, request.assurance)
    asking = dataclasses.replace(ruling.asking, assurance=level, stages=stages_at(ruling.asking.stages, level))
    same = ruling.rule_id == request.rule_id and judged.policy.version == request.policy_version
    widened = same and are_wider(own, asking.stages)  # by the ladder, which the very same rule has
    new = tuple(name for name in asking.channels if name not in request.channels)
    left = request.expires_at - now
    timers = timetable(now, left, remind=asking.remind, escalate=asking.escalate)
    return replace(
        request,
        stages=(*(own if widened else asking.stages), *added),
        channels=(*request.channels, *new),
        timers=request.timers if widened else timers,
        risk=asking.risk,
        assurance=level,
        fallback=asking.fallback,
        claim_within=asking.claim_within,
        lease=asking.lease,
        rule_id=ruling.rule_id,
        why=why(ruling),
    )
