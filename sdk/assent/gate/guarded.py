"""`@guarded`: a function that runs only as far as the gateway lets it.

    gateway = AsyncGateway(url, key, session="order-4711")

    @guarded(gateway, tool="oa__purchase_pay")
    async def pay(payee: str, amount: int, currency: str) -> str:
        return await bank.transfer(payee, amount, currency, idempotency_key=current_grant())

A call is checked first. Allowed: it runs. Enforced (only an executor may run the tool): nothing runs here; the outcome
is waited for, and its result returned. To be asked: it waits for people, takes the approval (good for one run),
runs with the arguments that the gateway *stored*, and reports the outcome. Everything else raises `NotApprovedError`,
whose text is written for the model.
"""

from __future__ import annotations

import inspect
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from assent.client.call import ToolCall
from assent.client.gateway import AsyncGateway
from assent.client.models import OutcomeStatus
from assent.gate.aftermath import after_error
from assent.gate.permission import Executed, Permission, carry_out, describe, granted, obtain, remember_bare, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from assent.client.models import Json
    from assent.gate.blocking import Gateway

P = ParamSpec("P")
R = TypeVar("R")


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
                permission = await obtain(gateway, ToolCall(tool, bind(*args, **kwargs), **asked))
                if isinstance(permission, Executed):
                    return permission.result
                return await carry_out(gateway, permission, function)

            remember_bare(guarded_async, function)
            return cast("Callable[P, Any]", guarded_async)  # a coroutine function of the same parameters

        @wraps(function)
        def guarded_sync(*args: P.args, **kwargs: P.kwargs) -> Any:
            permission = gateway.run(
                partial(obtain, gateway.asynchronous, ToolCall(tool, bind(*args, **kwargs), **asked))
            )
            if isinstance(permission, Executed):
                return permission.result
            return _carry_out_sync(gateway, permission, function)

        remember_bare(guarded_sync, function)
        return guarded_sync


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


def _carry_out_sync(gateway: Gateway, permission: Permission, tool: Callable[..., R]) -> R:
    def report(status: OutcomeStatus, **outcome: Any) -> None:
        gateway.run(partial(settle, gateway.asynchronous, permission, status, **outcome))

    try:
        with granted(permission.grant_id, permission.changes):
            result = tool(**permission.arguments)
    except BaseException as error:
        status, elsewhere = after_error(error)
        report(status, error=describe(error), elsewhere=elsewhere)
        raise
    report(OutcomeStatus.SUCCEEDED, result=result)
    return result
