"""Everything that `assent` raises, one small tree; a docstring is the default message, `code` is stable.

AssentError
├── NotApprovedError        the guarded call may not run (`code` says why); in `unapproved`, with the request
├── StillPendingError       `wait(within=…)` ran out before a decision; there as well
└── GatewayError            the gateway could not be asked, or refused to serve
    ├── GatewayAwayError      it did not answer, or not in time (`gateway_late`): no answer is no approval
    ├── KeyRefusedError       401
    ├── NotEntitledError      403
    ├── UnknownRequestError   404
    ├── CallRefusedError      400, 413, 422, every other 4xx, and what is no answer of Assent's (`foreign_answer`)
    ├── ClaimRefusedError     409: not_approved, already_claimed, grant_lapsed, digest_mismatch, …
    └── UnexpectedAnswerError an answer that this client does not understand
"""

from __future__ import annotations

from assent.client.messages import RefusalCode, code_of_fault

LATE = "gateway_late"
FOREIGN = "foreign_answer"


class AssentError(Exception):
    """Something about an approval went wrong."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").splitlines()[0])


class GatewayError(AssentError):
    """The gateway could not serve this call."""

    code: str = "gateway_error"
    refusal_code: RefusalCode = RefusalCode.CALL_REFUSED

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        status: int | None = None,
        detail: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.request_id = request_id
        """The request that stands for the call, where the gateway refused what came after it was asked about."""
        self.request: object = None
        """That request (an `assent.Request`), as far as it was read."""
        self.code = code or type(self).code
        self.status = status
        self.detail = detail
        """The gateway's own sentence, where it gave one."""
        if self.refusal_code is RefusalCode.CALL_REFUSED:
            self.refusal_code = code_of_fault(status, self.code)


class GatewayAwayError(GatewayError):
    """The gateway did not answer; no answer is no approval. Is it running, and is the URL right?

    `code` is `gateway_late` where the time was over that the caller gave: the gateway may be well, and may have asked.
    """

    code = "gateway_away"
    refusal_code = RefusalCode.GATEWAY_AWAY

    def __init__(self, message: str | None = None, *, code: str | None = None) -> None:
        super().__init__(message, code=code)
        if self.code == LATE:
            self.refusal_code = RefusalCode.ANSWER_LATE


class KeyRefusedError(GatewayError):
    """The gateway refused the agent's key. Make a new one with `assent keys create` and set it."""

    code = "key_refused"
    refusal_code = RefusalCode.KEY_REFUSED


class NotEntitledError(GatewayError):
    """This key may not do that. The key of an agent needs the scope `agent`, that of an executor `executor`."""

    code = "not_entitled"
    refusal_code = RefusalCode.KEY_REFUSED


class UnknownRequestError(GatewayError):
    """The gateway knows no such request (or it is another org's), or the URL is not a gateway's."""

    code = "unknown_request"


class CallRefusedError(GatewayError):
    """The gateway refused what was sent: see the message.

    `code` is `foreign_answer` where something else answered in its place: a proxy, or another program.
    """

    code = "call_refused"


class ClaimRefusedError(GatewayError):
    """What stands at the gateway does not allow this: see `code`.

    Of an approval that cannot be used it is not_approved, already_claimed, grant_lapsed, digest_mismatch or paused; of
    an outcome that is not taken, not_claimed.
    """

    code = "claim_refused"


class UnexpectedAnswerError(GatewayError):
    """The gateway's answer is not one that this client understands; their versions may be too far apart."""

    code = "unexpected_answer"
    refusal_code = RefusalCode.GATEWAY_AWAY
