"""`resume`: what an agent calls when it starts, so that nothing approved is lost and nothing runs twice.

    async with AsyncGateway(url, key, session="order-4711") as gateway:
        for past in await resume(gateway, tools={"oa__purchase_pay": pay}):
            print(past.request.tool, past.outcome)

| the request is | then |
|---|---|
| enforced (only an executor runs its tool) | its outcome is waited for; nothing is claimed here |
| pending | it is waited for, then as below |
| approved, not claimed | it is claimed and its tool runs with the stored arguments |
| executing, claimed by an earlier process | it is reported unknown, and never run again |
| executing, claimed by this process (by any gateway of it) or an executor | it is left alone: it may be running |
| unknown, or pending elsewhere | it is left alone: a person or the tool's own records settle it |

Give every agent its own session: of two live processes that share one, each would take the other's executions for a
dead predecessor's. A guarded function in `tools` is run bare: what is carried on here was asked about before. And it is
not known to the program that goes on: what that calls anew is a new call, and asked about again, unless its guard has
a `call_id` (which makes `resume` needless for it) or the program looks here first whether its work is done.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from assent.client.errors import GatewayError
from assent.client.models import EXECUTORS, OutcomeStatus, Request, State
from assent.gate.arguments import is_asynchronous
from assent.gate.gate import Gate
from assent.gate.outcomes import Ran, Refused, Replayed
from assent.gate.permission import Executed, Permission, bare, describe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import anyio

    from assent.client.gateway import AsyncGateway


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The tool ran and raised; reported as failed, or as unknown where the error may have come behind the deed."""

    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """An earlier process had claimed it and died: reported unknown, not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """Nothing was done, and why."""

    why: str


Outcome: TypeAlias = Ran | Replayed | Failed | Refused | Lost | LeftAlone


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """One open request of an earlier run and what became of it now.

    `request` is as it was last seen: where people changed the call, with the arguments that ran, and `changes`.
    """

    request: Request
    outcome: Outcome


async def resume(
    gateway: AsyncGateway, tools: Mapping[str, Callable[..., Any]], *, session: str | None = None
) -> list[Resumed]:
    """Carry on with every open request of this agent (or of `session`) until all are through; oldest first.

    Waits run side by side, tools one at a time. A tool's own error and a refusal are outcomes, not exceptions; raises
    `GatewayError` when the open requests cannot even be listed.
    """
    import anyio

    requests = await gateway.list_open(session=session)
    gate, resumed = Gate(gateway), dict[str, Resumed]()
    turn = anyio.Lock() if len(requests) > 1 else None

    async def carry_on(request: Request) -> None:
        resumed[request.id] = await _carry_on(gate, request, tools.get(request.tool), turn)

    async with anyio.create_task_group() as group:
        for request in requests:
            group.start_soon(carry_on, request)
    return [resumed[request.id] for request in requests]


async def _carry_on(gate: Gate, request: Request, tool: Callable[..., Any] | None, turn: anyio.Lock | None) -> Resumed:
    if request.enforced and request.state not in {State.UNKNOWN, State.PENDING_ELSEWHERE}:
        return await _taken_up(gate, request, _never)
    if request.state is State.EXECUTING:
        return Resumed(request=request, outcome=await _report_lost(gate.gateway, request))
    if request.state not in {State.PENDING, State.APPROVED}:
        return Resumed(request=request, outcome=LeftAlone(why=f"the request is {request.state}"))
    if tool is None:
        why = f"no function was given for the tool {request.tool}"
        return Resumed(request=request, outcome=LeftAlone(why=why))
    if turn is None:  # the only one: its tool can start as soon as people have decided
        return await _taken_up(gate, request, _awaitable(tool))
    found = await gate.decided(request)
    if not isinstance(found, Request):
        return _resumed(found, request)
    async with turn:  # claim only when the tool can start: a grant lapses soon
        return await _taken_up(gate, found, _awaitable(tool))


async def _taken_up(gate: Gate, request: Request, tool: Callable[..., Awaitable[Any]]) -> Resumed:
    found = await gate.take_up(request)
    if isinstance(found, Executed):
        return Resumed(request=found.request, outcome=found.ran())
    if not isinstance(found, Permission):
        return _resumed(found, request)
    try:
        outcome = found.ran(await gate.carry_out(found, tool))
    except Exception as error:  # noqa: BLE001 - the tool's own, already reported; one tool must not stop the others
        return Resumed(request=found.request or request, outcome=Failed(error=error))
    return Resumed(request=found.request or request, outcome=outcome)


def _resumed(found: Replayed | Refused, request: Request) -> Resumed:
    return Resumed(request=found.request or request, outcome=found)


async def _never(**_: Any) -> None:
    raise RuntimeError("what only an executor runs was permitted here")


async def _report_lost(gateway: AsyncGateway, request: Request) -> Outcome:
    execution = request.execution
    if execution is None or execution.claim_id in gateway.claims_made:
        return LeftAlone(why="it was claimed in this process, or in the one that it was forked off, and may be running")
    if execution.claim_id.startswith(EXECUTORS):
        return LeftAlone(why="an executor runs it, and settles it")
    try:
        await gateway.report_briefly(
            request.id,
            execution.claim_id,
            OutcomeStatus.UNKNOWN,
            error="the agent ended after it had claimed this call; it is not known whether it ran",
        )
    except GatewayError as error:
        return LeftAlone(why=f"it could not be reported as unknown: {describe(error)}")
    return Lost()


def _awaitable(tool: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """An asynchronous tool as it is; a synchronous one on a worker thread, so that the waits of the others go on."""
    function = bare(tool)
    if is_asynchronous(function):
        return function

    async def on_a_thread(**arguments: Any) -> Any:
        import anyio.to_thread

        result = await anyio.to_thread.run_sync(partial(function, **arguments))
        return await result if inspect.isawaitable(result) else result  # of an object, say, whose call is asynchronous

    return on_a_thread
