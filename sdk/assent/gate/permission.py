"""Leave to run a call once: how it is obtained from the gateway, and how its run is reported.

`take` and `settle` are the two halves around a tool; guarded functions, `resume` and the approval gate use the same
ones. Whatever is not a permission raises `NotApprovedError`, whose text is written for the model.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, assert_never
from weakref import WeakKeyDictionary

from assent.client.errors import AssentError, CallRefusedError, ClaimRefusedError, GatewayError
from assent.client.log import warn
from assent.client.messages import RefusalCode
from assent.client.models import Allowed, Denied, OutcomeStatus, Pending, Request, State, Taken
from assent.client.unapproved import NotApprovedError
from assent.gate.aftermath import after_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from assent.client.call import ToolCall
    from assent.client.gateway import AsyncGateway
    from assent.client.models import Claimed, Elsewhere, Json

R = TypeVar("R")
_grant: ContextVar[str | None] = ContextVar("assent_grant", default=None)
_changes: ContextVar[str | None] = ContextVar("assent_changes", default=None)
_LONGEST_RESULT = 64 * 1024
LAST_REPORT = 5.0  # seconds for the report of a run that was cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Leave to run a tool once, with these arguments; `claimed` is None when a rule allowed it.

    `changes` is what the model is to be told where people changed the call before they approved it.
    """

    arguments: Json
    claimed: Claimed | None
    changes: str | None = None

    @property
    def grant_id(self) -> str | None:
        """The tool's idempotency key."""
        return self.claimed.grant_id if self.claimed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """An executor ran the call, and it succeeded: nothing is to run here."""

    request: Request

    @property
    def result(self) -> Any:
        """What the tool returned, as the executor reported it."""
        return self.request.result


def current_grant() -> str | None:
    """Inside a guarded function: the grant's id, the payment's idempotency key; None when nobody had to be asked."""
    return _grant.get()


def current_changes() -> str | None:
    """Inside a guarded function: what people changed of the call, in words for the model; None if it is as it was."""
    return _changes.get()


@contextmanager
def granted(grant_id: str | None, changes: str | None = None) -> Generator[None]:
    """Make a grant the current one; None when nobody had to be asked."""
    tokens = _grant.set(grant_id), _changes.set(changes)
    try:
        yield
    finally:
        _grant.reset(tokens[0])
        _changes.reset(tokens[1])


_FINAL_CODES = {
    State.DENIED: RefusalCode.DENIED,
    State.EXPIRED: RefusalCode.EXPIRED,
    State.CANCELLED: RefusalCode.CANCELLED,
    State.UNDELIVERABLE: RefusalCode.UNDELIVERABLE,
    State.LAPSED: RefusalCode.LAPSED,
    State.EXECUTING: RefusalCode.ALREADY_CLAIMED,
    State.SUCCEEDED: RefusalCode.ALREADY_CLAIMED,
    State.FAILED: RefusalCode.ALREADY_CLAIMED,
    State.UNKNOWN: RefusalCode.ALREADY_CLAIMED,
    State.PENDING_ELSEWHERE: RefusalCode.PENDING_ELSEWHERE,
}
_CLAIM_CODES = {
    "grant_lapsed": RefusalCode.LAPSED,
    "digest_mismatch": RefusalCode.DIGEST_MISMATCH,
    "already_claimed": RefusalCode.ALREADY_CLAIMED,
    "paused": RefusalCode.PAUSED,
}


def _refused(error: GatewayError, tool: str, request: Request | None = None) -> NotApprovedError:
    """What a fault of the gateway means for the call. The operator's log is told where it was met; the model is not."""
    warn("a call of %s is not approved: %s", tool, error)
    reason = error.detail if error.refusal_code is not RefusalCode.GATEWAY_AWAY else None
    if reason is None and error.refusal_code is RefusalCode.CALL_REFUSED:
        reason = str(error)
    return NotApprovedError(error.refusal_code, reason=reason, request=request)


async def decided(gateway: AsyncGateway, request: Request) -> Request:
    """Wait for the decision: the approved request, or `NotApprovedError` for every other end."""
    try:
        request = await gateway.wait(request)
    except GatewayError as error:
        raise _refused(error, request.tool, request) from error
    if request.state is not State.APPROVED:
        raise _ended(request)
    return request


def _ended(request: Request) -> NotApprovedError:
    """What a request that ended without an approval of ours means for the call."""
    code = _FINAL_CODES.get(request.state, RefusalCode.CALL_REFUSED)
    return NotApprovedError(code, reason=request.settled_reason, request=request)


async def take(gateway: AsyncGateway, request: Request) -> Permission:
    """Take the approval of an approved request. Raises `NotApprovedError` when it cannot be had."""
    try:
        claimed = await gateway.claim(request)
    except GatewayError as error:
        raise _not_had(error, request) from error
    return Permission(arguments=claimed.arguments, claimed=claimed, changes=request.changes)


async def take_when_decided(gateway: AsyncGateway, request: Request) -> tuple[Request, Permission]:
    """Wait for the decision and take the approval at once; with the request as it is then. Raises NotApprovedError."""
    try:
        found = await gateway.take_when_decided(request)
    except GatewayError as error:
        raise _not_had(error, error.request if isinstance(error.request, Request) else request) from error
    if not isinstance(found, Taken):
        raise _ended(found)
    return found.request, Permission(arguments=found.claimed.arguments, claimed=found.claimed, changes=found.changes)


async def _said_of(gateway: AsyncGateway, error: GatewayError, tool: str) -> NotApprovedError:
    """What a fault of the one call means: of the call itself, or of the approval that stands for it."""
    request = error.request if isinstance(error.request, Request) else None
    if request is None and error.request_id is not None:
        with suppress(GatewayError):  # else nothing is known of it but what was said first
            request = await gateway.get(error.request_id)
    return _refused(error, tool) if request is None else _not_had(error, request)


def _not_had(error: GatewayError, request: Request) -> NotApprovedError:
    """What it means for the call that its approval cannot be taken, or not be waited for."""
    if not isinstance(error, ClaimRefusedError):
        return _refused(error, request.tool, request)
    code = _CLAIM_CODES.get(error.code, RefusalCode.CALL_REFUSED)
    return NotApprovedError(code, reason=error.detail if code is RefusalCode.PAUSED else None, request=request)


async def executed(gateway: AsyncGateway, request: Request) -> Executed:
    """Wait for what an executor makes of a request that only one may run. Raises `NotApprovedError` if it did not run.

    Also when it failed, or when nobody can say whether it ran: no answer is never taken for "it did not".
    """
    try:
        request = await gateway.wait_for_outcome(request)
    except GatewayError as error:
        warn("the outcome of request %s, which an executor runs, is not known: %s", request.id, error)
        raise NotApprovedError(RefusalCode.OUTCOME_UNKNOWN, request=request) from error
    match request.state:
        case State.SUCCEEDED:
            return Executed(request=request)
        case State.FAILED:
            raise NotApprovedError(RefusalCode.EXECUTOR_FAILED, reason=request.error, request=request)
        case State.UNKNOWN:
            raise NotApprovedError(RefusalCode.OUTCOME_UNKNOWN, request=request)
        case State.PENDING_ELSEWHERE:  # the reason that stands there is of the people who approved it here
            raise NotApprovedError(RefusalCode.PENDING_ELSEWHERE, request=request)
        case state:
            code = _FINAL_CODES.get(state, RefusalCode.CALL_REFUSED)
            raise NotApprovedError(code, reason=request.settled_reason, request=request)


async def obtain(gateway: AsyncGateway, call: ToolCall) -> Permission | Executed:
    """Check the call and, when people have to be asked, wait and take. Raises `NotApprovedError`.

    What only an executor may run is waited for instead, to its end.
    """
    try:
        verdict = await gateway.take(call, idempotency_key=call.call_id)
    except GatewayError as error:
        raise await _said_of(gateway, error, call.tool) from error
    match verdict:
        case Allowed():
            return Permission(
                arguments=call.arguments if verdict.arguments is None else verdict.arguments, claimed=None
            )
        case Taken():
            return Permission(arguments=verdict.claimed.arguments, claimed=verdict.claimed, changes=verdict.changes)
        case Denied(hook=str(hook), reason=reason):
            raise NotApprovedError(RefusalCode.BLOCKED, rule=hook, reason=reason)
        case Denied(rule=rule, reason=reason):
            raise NotApprovedError(RefusalCode.DENIED_BY_RULE, rule=rule, reason=reason)
        case Pending(request=request) if request.enforced:
            return await executed(gateway, request)
        case Pending(request=request):
            raise _ended(request)
        case _:
            assert_never(verdict)


async def settle(
    gateway: AsyncGateway,
    permission: Permission,
    status: OutcomeStatus,
    *,
    result: Any = None,
    error: str | None = None,
    elsewhere: Elsewhere | None = None,
) -> None:
    """Report the outcome. A fault is logged, never raised: the tool has run; the lease then marks it unknown."""
    if permission.claimed is None:
        return
    claimed = permission.claimed
    report = partial(gateway.report, claimed.request_id, claimed.claim_id)
    try:
        try:
            if elsewhere is not None:
                await report(status, elsewhere=elsewhere)
            else:
                await report(status, error=error, result=_presentable(result))
        except CallRefusedError:  # the value was not to the gateway's taste; the outcome matters more
            plain = OutcomeStatus.UNKNOWN if elsewhere is not None else status
            await report(plain, error=error)
    except AssentError as fault:  # also a gateway object that was closed meanwhile
        warn("outcome of request %s could not be reported: %s", claimed.request_id, fault)


def _presentable(result: Any) -> Any:
    """The result when it is JSON of a bearable size, else None: the value is a courtesy."""
    import json

    try:
        size = len(json.dumps(result, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        return None
    return result if size <= _LONGEST_RESULT else None


async def carry_out(gateway: AsyncGateway, permission: Permission, tool: Callable[..., Awaitable[R]]) -> R:
    """Run an asynchronous tool under the permission and report how it went; its exception passes through.

    An exception is a failure, except one that may have come behind the deed (`assent.gate.aftermath`).
    """
    try:
        with granted(permission.grant_id, permission.changes):
            result = await tool(**permission.arguments)
    except Exception as error:
        status, elsewhere = after_error(error)
        await settle(gateway, permission, status, error=describe(error), elsewhere=elsewhere)
        raise
    except BaseException as error:  # cancelled in the middle: nobody knows how far it came
        import anyio

        with anyio.move_on_after(LAST_REPORT, shield=True):
            await settle(gateway, permission, OutcomeStatus.UNKNOWN, error=describe(error))
        raise
    await settle(gateway, permission, OutcomeStatus.SUCCEEDED, result=result)
    return result


def describe(error: BaseException) -> str:
    """The kind of an error and its text, cut to a bearable length."""
    return f"{type(error).__name__}: {error}"[:500]


_BARE: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()


def remember_bare(guarded: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Note what a guard guards, for `bare`."""
    _BARE[guarded] = function


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a guard guards; any other function as it is."""
    return _BARE.get(function, function)
