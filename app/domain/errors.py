"""Everything that can go wrong in the gateway's own terms.

    AssentError
    ├── NotFoundError                 unknown id, or another org's
    ├── UnauthenticatedError          no key, or one that does not verify
    ├── ForbiddenError                known, but not entitled
    │   ├── WrongScopeError           this kind of key may not do this
    │   │   └── ExecutorOnlyError     only an executor may claim this tool's calls
    │   └── NotEligibleError          this person may not decide this request
    ├── ConflictError                 the state says no
    │   ├── AlreadySettledError       the request is final
    │   ├── NotApprovedError          nothing to claim
    │   ├── AlreadyClaimedError       the grant is spent
    │   ├── GrantLapsedError          the grant's own short life is over
    │   ├── ReadOnlyError             what would write may not run now
    │   ├── PausedError               people have stopped it; nothing of it runs now
    │   ├── DigestMismatchError       what is presented is not what was approved
    │   ├── AlreadyAnsweredError      the question has its answer
    │   ├── OutdatedError             today's rules would not let run what this would approve
    │   ├── TooOftenError             this was done for one request as often as it can be
    │   ├── TooSoonError              this was done a moment ago
    │   ├── NotStartedError           an outcome for what was never claimed
    │   └── OutcomeConflictError      another outcome was reported already
    ├── InvalidError                  malformed, with the path of the fault
    │   ├── BadJsonError              hostile or broken JSON
    │   ├── BadArgumentsError         against the tool's schema
    │   ├── UnknownToolError          the file forbids tools that it does not name
    │   └── IdempotencyMismatchError  one key, two different calls
    ├── TooLargeError                 a body over the limit
    ├── TooSlowError                  a body that does not arrive
    ├── TooManyError                  over a quota; try later
    └── UnavailableError              the store is away or we are stopping; try later
        └── LackingSecretError        the secret that it takes is not given here

The docstring of a class is the title that callers read; `code` is stable and is what programs look at. HTTP knows these
errors (`app/api/wire/problems.py`); they do not know HTTP.
"""

from __future__ import annotations

from typing import Self


class AssentError(Exception):
    """Something went wrong."""

    code = "error"

    def __init__(self, detail: str = "", **more: object) -> None:
        """Keep a sentence for people, and facts for programs (`more`, JSON-able)."""
        super().__init__(detail or self.title())
        self.detail = detail or self.title()
        self.more = more

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]


class NotFoundError(AssentError):
    """There is no such thing here."""

    code = "not_found"


class UnauthenticatedError(AssentError):
    """The caller could not be verified."""

    code = "unauthenticated"


class ForbiddenError(AssentError):
    """The caller is known but not entitled to this."""

    code = "forbidden"


class WrongScopeError(ForbiddenError):
    """This kind of key may not do this."""

    code = "wrong_scope"


class ExecutorOnlyError(WrongScopeError):
    """Only an executor may claim the calls of this tool."""

    code = "executor_only"


class NotEligibleError(ForbiddenError):
    """This person may not decide this request."""

    code = "not_eligible"


class StepUpNeededError(ForbiddenError):
    """Approving this takes more than was given: what was shown typed again, or a second factor."""

    code = "step_up_needed"


class LockedError(ForbiddenError):
    """Too many wrong codes: for a while no further one is looked at."""

    code = "locked"


class ConflictError(AssentError):
    """The present state does not allow this."""

    code = "conflict"


class AlreadySettledError(ConflictError):
    """The request is already settled."""

    code = "already_settled"


class NotApprovedError(ConflictError):
    """The request is not approved."""

    code = "not_approved"


class UnsealedError(ConflictError):
    """What is stored of this request is not what the gateway wrote: it is refused, and the operator is told."""

    code = "unsealed"


class AlreadyClaimedError(ConflictError):
    """The approval was already claimed; it works once."""

    code = "already_claimed"


class GrantLapsedError(ConflictError):
    """The approval was not claimed in time and has lapsed."""

    code = "grant_lapsed"


class ReadOnlyError(ConflictError):
    """Read-only is switched on: what writes may not run now."""

    code = "read_only"


class PausedError(ConflictError):
    """People have paused this: nothing of it may run until they lift it."""

    code = "paused"


class DigestMismatchError(ConflictError):
    """What was presented is not what was approved."""

    code = "digest_mismatch"


class AlreadyAnsweredError(ConflictError):
    """There is no open question, or somebody has answered it already."""

    code = "already_answered"


class OutdatedError(ConflictError):
    """The rules have changed since this was asked, and today's would not let it run; a denial still counts."""

    code = "outdated"


class TooOftenError(ConflictError):
    """This cannot be done any more for this request."""

    code = "too_often"


class TooSoonError(ConflictError):
    """This was done a moment ago; try again in a few minutes."""

    code = "too_soon"


class NotStartedError(ConflictError):
    """Nothing was claimed, so there is no outcome to report."""

    code = "not_started"


class OutcomeConflictError(ConflictError):
    """Another outcome was already recorded."""

    code = "outcome_conflict"


class InvalidError(AssentError):
    """The input is malformed."""

    code = "invalid"


class BadJsonError(InvalidError):
    """The body is not acceptable JSON."""

    code = "bad_json"


class BadArgumentsError(InvalidError):
    """The arguments do not fit the tool's schema."""

    code = "bad_arguments"


class UnknownToolError(InvalidError):
    """The configuration forbids tools that it does not name."""

    code = "unknown_tool"


class IdempotencyMismatchError(InvalidError):
    """This idempotency key was used for another call."""

    code = "idempotency_mismatch"


class TooLargeError(AssentError):
    """The body is larger than is accepted here."""

    code = "too_large"


class TooSlowError(AssentError):
    """The body did not arrive in time."""

    code = "too_slow"


class TooManyError(AssentError):
    """Too many calls; try again later."""

    code = "too_many"


class UnavailableError(AssentError):
    """The gateway cannot do this right now; try again shortly."""

    code = "unavailable"


class LackingSecretError(UnavailableError):
    """This gateway lacks the secret that this was sealed with; nothing was done."""

    code = "lacking_secret"

    @classmethod
    def of_request(cls, key_id: str) -> Self:
        """Say it of a request, for whoever votes, claims or reports."""
        detail = (
            f"the request is sealed with a secret (id {key_id}) that this gateway does not have: nothing was done. "
            "Your operator puts it back behind the new one (`assent doctor`); try again then"
        )
        return cls(detail, retry_after=30, secret_id=key_id)

    @classmethod
    def of_keys(cls) -> Self:
        """Say it to whoever comes with a key that opens nothing here: of which keys it is true stays unsaid."""
        detail = (
            "this key opens nothing here, and it may be that it cannot be checked: this gateway lacks a secret that "
            "keys of this database are kept under. Nothing was done; try again once your operator has put it back"
        )
        return cls(detail, retry_after=30)
