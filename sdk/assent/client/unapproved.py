"""The errors that carry the request that they are about: nobody has decided yet, or the call may not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.client.errors import AssentError
from assent.client.messages import RefusalCode, refusal

if TYPE_CHECKING:
    from assent.client.models import Request


class StillPendingError(AssentError):
    """Nobody has decided yet, and the time given to `wait` is up."""

    code = "still_pending"

    def __init__(self, request: Request) -> None:
        super().__init__(f"request {request.id} still waits for a decision (until {request.expires_at.isoformat()})")
        self.request = request


class NotApprovedError(AssentError):
    """The call was not approved. `str(error)` is written for the model; `code` (a `RefusalCode`) says why."""

    def __init__(
        self, code: RefusalCode, *, rule: str | None = None, reason: str | None = None, request: Request | None = None
    ) -> None:
        self.code: RefusalCode = code
        self.request = request
        self.reason = reason
        text = refusal(
            code,
            rule=rule,
            reason=reason,
            request_id=request.id if request else None,
            short_code=request.code if request else None,
        )
        super().__init__(text)
