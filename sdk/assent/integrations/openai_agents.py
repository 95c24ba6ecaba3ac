"""OpenAI Agents: each tool goes through the gate.

    agent = Agent("clerk", tools=gated(gateway, [pay, look]))

The session is the gateway's. With `suspend=True` nobody waits: the run is interrupted by the calls that people have to
be asked about. Keep `result.to_state()`, and go on with it when `approve_decided` has found what they decided.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from agents.tool import (
    maybe_invoke_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)

from assent.client.messages import RefusalCode
from assent.client.models import State
from assent.gate.outcomes import Ran, Refused
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground import Gates, as_text, notes, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents import FunctionTool, RunContextWrapper, RunState
    from agents.tool_context import ToolContext

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway
    from assent.gate.gate import Gate

_PART_FOR_WAITING = 0.8
"""Of a tool's own timeout, which runs while people are asked: the answer has to come before it."""


def gated(
    gateway: AsyncGateway | Gateway,
    tools: Iterable[FunctionTool],
    *,
    suspend: bool = False,
    sub_agent: str | None = None,
    deadline: float | None = None,
    abandoned: Abandoned = "withdraw",
) -> list[FunctionTool]:
    """Copies of function tools that run only as far as the gateway lets them; `deadline` is in seconds, for each call.

    A tool's error is reported to the gateway, and then told to the model (or raised) as the tool itself would.
    """
    gate = Gates(gateway, abandoned=abandoned).asynchronous
    return [_gated(gate, tool, suspend=suspend, sub_agent=sub_agent, deadline=deadline) for tool in tools]


def _gated(
    gate: Gate, tool: FunctionTool, *, suspend: bool, sub_agent: str | None, deadline: float | None
) -> FunctionTool:
    outer, inner = copy.copy(tool), copy.copy(tool)
    set_function_tool_failure_error_function(inner, None)  # what it raises is to be seen here
    if tool.timeout_seconds is not None:
        within = tool.timeout_seconds * _PART_FOR_WAITING
        deadline = within if deadline is None else min(deadline, within)
    said: dict[str, Any] = {"sub_agent": sub_agent, "deadline": deadline}

    async def invoke(context: ToolContext[Any], text: str) -> Any:
        arguments, returned = _parsed(text), list[Any]()

        async def execute(**approved: Any) -> Any:
            returned.append(
                await inner.on_invoke_tool(context, json.dumps(approved))
            )  # never the text that was not read
            return returned[0]

        if arguments is None:
            return Refused(code=RefusalCode.BAD_ARGUMENTS, reason="they are no JSON object").message
        try:
            found = await gate.run(tool.name, arguments, execute, call_id=context.tool_call_id, **said)
        except Exception as error:
            answer = await maybe_invoke_function_tool_failure_error_function(
                function_tool=tool, context=context, error=error
            )
            if answer is None:
                raise
            return answer
        if isinstance(found, Ran) and returned and not notes(found):
            return returned[0]
        return told(found) if isinstance(found, Refused | Ran) else as_text(found.result)

    async def has_to_wait(_: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        found = await gate.open(tool.name, arguments, call_id=call_id, **said)
        return isinstance(found, SuspendedCall) and found.waits

    outer.on_invoke_tool = invoke
    if suspend:
        outer.needs_approval = has_to_wait
    return outer


async def approve_decided(state: RunState[Any, Any], gateway: AsyncGateway, *, sub_agent: str | None = None) -> int:
    """Let go on, of a state's interruptions, those that people have decided; how many of them still wait.

    Each then comes to the gate, which knows whether it was approved; of what was denied the model is told. Of a state
    that is resumed twice, each call runs once.
    """
    gate, waiting = Gates(gateway).asynchronous, 0
    for item in state.get_interruptions():
        arguments = _parsed(item.arguments or "")
        found = await gate.open(item.tool_name or "", arguments or {}, call_id=item.call_id, sub_agent=sub_agent)
        request_id = found.request_id if isinstance(found, SuspendedCall) else None
        if request_id is not None and (await gateway.get(request_id)).state is State.PENDING:
            waiting += 1
        else:
            state.approve(item)
    return waiting


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None
