"""`@guarded`: a function that runs only as far as the gateway lets it.

    gateway = AsyncGateway(url, key, session="order-4711")

    @guarded(gateway, tool="oa__purchase_pay")
    async def pay(payee: str, amount: int, currency: str) -> str:
        return await bank.transfer(payee, amount, currency, idempotency_key=current_grant())

A call is checked first. Allowed: it runs. Enforced (only an executor may run the tool): nothing runs here; the outcome
is waited for, and its result returned. To be asked: it waits for people, takes the approval (good for one run),
runs with the arguments that the gateway *stored*, and reports the outcome. Everything else raises `NotApprovedError`,
whose text is written for the model. `take` and `settle` are the two halves around the tool; `assent.resumption` uses
the same ones.
"""

from __future__ import annotations

import inspect
import json
import logging
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, assert_never, cast, overload
from weakref import WeakKeyDictionary

import anyio

from assent.client.errors import AssentError, CallRefusedError, ClaimRefusedError, GatewayError
from assent.client.gateway import AsyncGateway
from assent.client.messages import RefusalCode
from assent.client.models import Allowed, Denied, OutcomeStatus, Pending, State
from assent.client.unapproved import NotApprovedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from assent.client.models import Claimed, Json, Request
    from assent.sync_client import Gateway

P = ParamSpec("P")
R = TypeVar("R")
_grant: ContextVar[str | None] = ContextVar("assent_grant", default=None)
_changes: ContextVar[str | None] = ContextVar("assent_changes", default=None)
_log = logging.getLogger("assent")
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
}
_CLAIM_CODES = {
    "grant_lapsed": RefusalCode.LAPSED,
    "digest_mismatch": RefusalCode.DIGEST_MISMATCH,
    "already_claimed": RefusalCode.ALREADY_CLAIMED,
    "paused": RefusalCode.PAUSED,
}


def _refused(error: GatewayError, tool: str, request: Request | None = None) -> NotApprovedError:
    """What a fault of the gateway means for the call. The operator's log is told where it was met; the model is not."""
    _log.warning("a call of %s is not approved: %s", tool, error)
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
        code = _FINAL_CODES.get(request.state, RefusalCode.CALL_REFUSED)
        raise NotApprovedError(code, reason=request.settled_reason, request=request)
    return request


async def take(gateway: AsyncGateway, request: Request) -> Permission:
    """Take the approval of an approved request. Raises `NotApprovedError` when it cannot be had."""
    try:
        claimed = await gateway.claim(request)
    except ClaimRefusedError as error:
        code = _CLAIM_CODES.get(error.code, RefusalCode.CALL_REFUSED)
        reason = error.detail if code is RefusalCode.PAUSED else None
        raise NotApprovedError(code, reason=reason, request=request) from error
    except GatewayError as error:
        raise _refused(error, request.tool, request) from error
    return Permission(arguments=claimed.arguments, claimed=claimed, changes=request.changes)


async def executed(gateway: AsyncGateway, request: Request) -> Executed:
    """Wait for what an executor makes of a request that only one may run. Raises `NotApprovedError` if it did not run.

    Also when it failed, or when nobody can say whether it ran: no answer is never taken for "it did not".
    """
    try:
        request = await gateway.wait_for_outcome(request)
    except GatewayError as error:
        _log.warning("the outcome of request %s, which an executor runs, is not known: %s", request.id, error)
        raise NotApprovedError(RefusalCode.OUTCOME_UNKNOWN, request=request) from error
    match request.state:
        case State.SUCCEEDED:
            return Executed(request=request)
        case State.FAILED:
            raise NotApprovedError(RefusalCode.EXECUTOR_FAILED, reason=request.error, request=request)
        case State.UNKNOWN:
            raise NotApprovedError(RefusalCode.OUTCOME_UNKNOWN, request=request)
        case state:
            code = _FINAL_CODES.get(state, RefusalCode.CALL_REFUSED)
            raise NotApprovedError(code, reason=request.settled_reason, request=request)


async def obtain(
    gateway: AsyncGateway,
    tool: str,
    arguments: Json,
    *,
    session: str | None,
    claim: str | None,
    call_id: str | None = None,
) -> Permission | Executed:
    """Check the call and, when people have to be asked, wait and take. Raises `NotApprovedError`.

    What only an executor may run is waited for instead, to its end.
    """
    try:
        verdict = await gateway.check(
            tool, arguments, session=session, claim=claim, call_id=call_id, idempotency_key=call_id
        )
    except GatewayError as error:
        raise _refused(error, tool) from error
    match verdict:
        case Allowed():
            return Permission(arguments=arguments if verdict.arguments is None else verdict.arguments, claimed=None)
        case Denied(hook=str(hook), reason=reason):
            raise NotApprovedError(RefusalCode.BLOCKED, rule=hook, reason=reason)
        case Denied(rule=rule, reason=reason):
            raise NotApprovedError(RefusalCode.DENIED_BY_RULE, rule=rule, reason=reason)
        case Pending(request=request) if request.enforced:
            return await executed(gateway, request)
        case Pending(request=request):
            return await take(gateway, await decided(gateway, request))
        case _:
            assert_never(verdict)


async def settle(
    gateway: AsyncGateway,
    permission: Permission,
    status: OutcomeStatus,
    *,
    result: Any = None,
    error: str | None = None,
) -> None:
    """Report the outcome. A fault is logged, never raised: the tool has run; the lease then marks it unknown."""
    if permission.claimed is None:
        return
    claimed = permission.claimed
    report = partial(gateway.report, claimed.request_id, claimed.claim_id, status, error=error)
    try:
        try:
            await report(result=_presentable(result))
        except CallRefusedError:  # the value was not to the gateway's taste; the outcome matters more
            await report(result=None)
    except AssentError as fault:  # also a gateway object that was closed meanwhile
        _log.warning("outcome of request %s could not be reported: %s", claimed.request_id, fault)


def _presentable(result: Any) -> Any:
    """The result when it is JSON of a bearable size, else None: the value is a courtesy."""
    try:
        size = len(json.dumps(result, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        return None
    return result if size <= _LONGEST_RESULT else None


async def carry_out(gateway: AsyncGateway, permission: Permission, tool: Callable[..., Awaitable[R]]) -> R:
    """Run an asynchronous tool under the permission and report how it went; its exception passes through."""
    try:
        with granted(permission.grant_id, permission.changes):
            result = await tool(**permission.arguments)
    except Exception as error:
        await settle(gateway, permission, OutcomeStatus.FAILED, error=describe(error))
        raise
    except BaseException as error:  # cancelled in the middle: nobody knows how far it came
        with anyio.move_on_after(LAST_REPORT, shield=True):
            await settle(gateway, permission, OutcomeStatus.UNKNOWN, error=describe(error))
        raise
    await settle(gateway, permission, OutcomeStatus.SUCCEEDED, result=result)
    return result


def _carry_out_sync(gateway: Gateway, permission: Permission, tool: Callable[..., R]) -> R:
    def report(status: OutcomeStatus, **outcome: Any) -> None:
        gateway.run(partial(settle, gateway.asynchronous, permission, status, **outcome))

    try:
        with granted(permission.grant_id, permission.changes):
            result = tool(**permission.arguments)
    except Exception as error:
        report(OutcomeStatus.FAILED, error=describe(error))
        raise
    except BaseException as error:
        report(OutcomeStatus.UNKNOWN, error=describe(error))
        raise
    report(OutcomeStatus.SUCCEEDED, result=result)
    return result


def describe(error: BaseException) -> str:
    """The kind of an error and its text, cut to a bearable length."""
    return f"{type(error).__name__}: {error}"[:500]


def _named_arguments(function: Callable[..., Any]) -> Callable[..., Json]:
    """How a call's arguments become the object that people approve. Refuses what has no names."""
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise TypeError(f"a guarded function needs a name for every argument; '{parameter}' has none")

    def bind(*args: Any, **kwargs: Any) -> Json:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    return bind


class _Guard:
    """What `guarded` returns: wraps async functions for an `AsyncGateway`, and plain ones for a `Gateway`."""

    def __init__(self, gateway: AsyncGateway | Gateway, *, tool: str, **asked: str | None) -> None:
        self._gateway = gateway
        self._tool = tool
        self._asked = asked

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...
    def __call__(self, function: Callable[P, Any]) -> Callable[P, Any]:
        gateway, tool, asked, bind = self._gateway, self._tool, self._asked, _named_arguments(function)
        if inspect.iscoroutinefunction(function) is not isinstance(gateway, AsyncGateway):
            raise TypeError("guard an asynchronous function with an AsyncGateway, and a synchronous one with a Gateway")
        if isinstance(gateway, AsyncGateway):

            @wraps(function)
            async def guarded_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                permission = await obtain(gateway, tool, bind(*args, **kwargs), **asked)
                if isinstance(permission, Executed):
                    return permission.result
                return await carry_out(gateway, permission, function)

            _BARE[guarded_async] = function
            return cast("Callable[P, Any]", guarded_async)  # a coroutine function of the same parameters

        @wraps(function)
        def guarded_sync(*args: P.args, **kwargs: P.kwargs) -> Any:
            permission = gateway.run(partial(obtain, gateway.asynchronous, tool, bind(*args, **kwargs), **asked))
            if isinstance(permission, Executed):
                return permission.result
            return _carry_out_sync(gateway, permission, function)

        _BARE[guarded_sync] = function
        return guarded_sync


_BARE: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a guard guards; any other function as it is."""
    return _BARE.get(function, function)


def guarded(
    gateway: AsyncGateway | Gateway,
    *,
    tool: str,
    session: str | None = None,
    claim: str | None = None,
    call_id: str | None = None,
) -> _Guard:
    """Guard a function as `tool`. `session` files its calls (default: the gateway's), `claim` speaks to the approver.

    `call_id` is for a guard that is made for one call, by the id that the model gave it (unique among this agent's):
    the call then has one request (the gateway remembers the id for a day). Asked again after a crash, it gets that
    request, also when it was denied, has expired or has run meanwhile; nobody is asked twice.

    The function's parameters, defaults included, are what people see and approve; they must be JSON. Raises
    `TypeError` at decoration for a function with unnamed arguments or of the other colour than the gateway.
    """
    return _Guard(gateway, tool=tool, session=session, claim=claim, call_id=call_id)
