"""`@guarded`: a function that runs only as far as the gateway lets it.

    gateway = AsyncGateway(url, key, session="order-4711")

    @guarded(gateway, tool="oa__purchase_pay")
    async def pay(payee: str, amount: int, currency: str) -> str:
        return await bank.transfer(payee, amount, currency, idempotency_key=current_grant())

A call is checked first. Allowed: it runs. Enforced (only an executor may run the tool): nothing runs here; the outcome
is waited for, and its result returned. To be asked: it waits for people, takes the approval (good for one run),
runs with the arguments that the gateway *stored*, and reports the outcome. Ran it before (the same `call_id` of the
same session): its result comes back. Everything else raises `NotApprovedError`, whose text is written for the model,
or comes back as `Refused`, as you like.
"""

from __future__ import annotations

import inspect
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from assent.client.call import ToolCall
from assent.client.gateway import AsyncGateway
from assent.client.pace import seconds
from assent.gate.arguments import binder, is_asynchronous
from assent.gate.blocking import BlockingGate
from assent.gate.gate import Gate
from assent.gate.outcomes import Refused
from assent.gate.permission import remember_bare

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from typing import Literal

    from assent.client.models import Json
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway
    from assent.gate.outcomes import Ran, Replayed

P = ParamSpec("P")
R = TypeVar("R")


def guarded(
    gateway: AsyncGateway | Gateway,
    *,
    tool: str,
    session: str | None = None,
    sub_agent: str | None = None,
    claim: str | None = None,
    evidence: list[Json] | Callable[..., list[Json]] | None = None,
    call_id: str | None = None,
    requester: str | None = None,
    requester_token: str | None = None,
    leave_out: Collection[str] = (),
    deadline: float | None = None,
    control_flow: tuple[type[BaseException], ...] = (),
    abandoned: Abandoned = "withdraw",
    refusals: Literal["raise", "return"] = "raise",
) -> _Guard:
    """Guard a function as `tool`. `session` files its calls (default: the gateway's), `claim` speaks to the approver.

    `evidence` is shown to the people who decide (`evidence_link`, `evidence_file`): the same for every call, or made by
    a function of the arguments that they see (`evidence(**arguments)`).

    `call_id` is for a guard that is made for one call, by the id that the model gave it: with a session the call then
    has one request (the gateway remembers it for a day). Asked again after a crash, it gets that request, also when it
    was denied, has expired or has run meanwhile; nobody is asked twice. `deadline`, `control_flow` and `abandoned` are
    the gate's (`assent.gate.gate`). `requester` and its token are of a guard that is made for one person; where they
    change, give the gateway the function that returns the token. `refusals="return"` returns a `Refused` in the place
    of a result: `str()` of it is what the model is told.

    The function's parameters, defaults included, are what people see and approve; they must be JSON. `self`, a
    framework's context (`RunContext` and the like) and what `leave_out` names are none of them. Raises `TypeError` at
    decoration for a generator, and for a function with unnamed arguments or of the other colour than the gateway.
    """
    if refusals not in {"raise", "return"}:
        raise ValueError(f'refusals: give "raise" or "return", not {refusals!r}')
    if not isinstance(tool, str) or not tool:  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not checked
        raise ValueError(f"tool: give the name under which the call is judged, not {tool!r}")
    asked = {"session": session, "sub_agent": sub_agent, "claim": claim, "call_id": call_id}
    asked |= {"requester": requester, "requester_token": requester_token}
    told = _Told(
        deadline=seconds(deadline, "deadline"),
        control_flow=control_flow,
        abandoned=abandoned,
        raises=refusals == "raise",
        evidence=evidence,
    )
    return _Guard(gateway, tool, asked, leave_out, told)


class _Told:
    """What a guard does besides asking."""

    def __init__(
        self,
        *,
        deadline: float | None,
        control_flow: tuple[type[BaseException], ...],
        abandoned: Abandoned,
        raises: bool,
        evidence: list[Json] | Callable[..., list[Json]] | None,
    ) -> None:
        nothing: list[Json] = []
        self._evidence = nothing if evidence is None else evidence
        self.deadline = deadline
        self.control_flow = control_flow
        self.abandoned: Abandoned = abandoned
        self._raises = raises

    def evidence_for(self, arguments: Json) -> list[Json]:
        """What a call with these arguments brings along."""
        return self._evidence(**arguments) if callable(self._evidence) else self._evidence

    def result_of(self, found: Ran | Replayed | Refused) -> Any:
        """What the function's caller gets."""
        if not isinstance(found, Refused):
            return found.result
        if self._raises:
            raise found.as_error()
        return found


class _Guard:
    """What `guarded` returns: wraps async functions for an `AsyncGateway`, and plain ones for a `Gateway`."""

    def __init__(
        self,
        gateway: AsyncGateway | Gateway,
        tool: str,
        asked: dict[str, str | None],
        leave_out: Collection[str],
        told: _Told,
    ) -> None:
        self._gateway = gateway
        self._tool = tool
        self._asked = asked
        self._leave_out = leave_out
        self._told = told

    def _call(self, arguments: Json) -> ToolCall:
        return ToolCall(self._tool, arguments, evidence=self._told.evidence_for(arguments), **self._asked)

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...
    def __call__(self, function: Callable[P, Any]) -> Callable[P, Any]:
        gateway, told, bind = self._gateway, self._told, binder(function, self._leave_out)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator runs when the gate is done with it, and was reported: return a list instead")
        if is_asynchronous(function) is not isinstance(gateway, AsyncGateway):
            raise TypeError("guard an asynchronous function with an AsyncGateway, and a synchronous one with a Gateway")
        if isinstance(gateway, AsyncGateway):
            gate = Gate(gateway, control_flow=told.control_flow, abandoned=told.abandoned)

            @wraps(function)
            async def guarded_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                bound = bind(*args, **kwargs)
                call = self._call(bound.arguments)
                found = await gate.run_call(call, partial(function, **bound.besides), deadline=told.deadline)
                return told.result_of(found)

            remember_bare(guarded_async, function)
            return cast("Callable[P, Any]", guarded_async)  # a coroutine function of the same parameters

        blocking = BlockingGate(gateway, control_flow=told.control_flow, abandoned=told.abandoned)

        @wraps(function)
        def guarded_sync(*args: P.args, **kwargs: P.kwargs) -> Any:
            bound = bind(*args, **kwargs)
            call = self._call(bound.arguments)
            found = blocking.run_call(call, partial(function, **bound.besides), deadline=told.deadline)
            return told.result_of(found)

        remember_bare(guarded_sync, function)
        return guarded_sync
