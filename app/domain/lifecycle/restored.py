"""What becomes of a request when the database was restored from a backup: nothing that it says may be acted on.

The rows are of the past. What they call pending may have been decided since, what they call approved may have been
spent, what they call running may have ended. So a question is asked again, a permission is taken back, and an execution
becomes unknown until somebody has looked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.lifecycle.execution import report, revoke
from app.domain.lifecycle.lifecycle import SYSTEM, Refusal, Step, Withdrawn, advance
from app.domain.request.request import ExecutionStatus, GrantStatus, Status

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

RESTORED = "the database was restored from a backup, or by a standby: ask again"
"""What a request says that can no longer be trusted."""
_MAY_HAVE_ENDED = "the database was restored from a backup, or by a standby: it may have run, and ended, since then"
LOST = "what it carried was lost with the secret: ask again"
"""What a request says whose values nobody can read any more."""


def is_open(request: ConfirmationRequest) -> bool:
    """Say whether something could still come of it: an approval, a claim, an outcome that was never reported."""
    if request.execution is not None:
        return request.execution.status is ExecutionStatus.STARTED
    if request.grant is not None:
        return request.grant.status is GrantStatus.ISSUED
    return request.status is Status.PENDING


def fence(request: ConfirmationRequest, *, now: datetime, why: str = RESTORED) -> Step:
    """Close a request of before the restore; one that nothing can come of stays as it is (TOO_EARLY)."""
    if not is_open(request):
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    execution = request.execution
    if execution is not None:
        return report(
            request,
            claim_id=execution.claim_id,
            status=ExecutionStatus.UNKNOWN,
            result=None,
            error=_MAY_HAVE_ENDED if why == RESTORED else why,
            by=SYSTEM,
            now=now,
        )
    if request.grant is not None:
        return revoke(request, why=why, lost=(), now=now)
    step = advance(request, Withdrawn(by=SYSTEM, reason=why), now=now)
    settled = step.request.settlement
    return replace(step, request=replace(step.request, settlement=settled and replace(settled, via=None)))
