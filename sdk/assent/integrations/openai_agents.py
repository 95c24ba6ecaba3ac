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
from assent.gate.outcomes import Ran, Refused
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.suspending import is_decided
from assent.integrations.ground.telling import notes, told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

    from agents import FunctionTool, RunContextWrapper, RunState
    from agents.tool_context import ToolContext

    from assent.client.gateway import AsyncGateway
    from assent.integrations.ground.adapter import AnyGateway, How

_PART_FOR_WAITING = 0.8
"""Of a tool's own timeout, which runs while people are asked: the answer has to come before it."""


def gated(gateway: AnyGateway, tools: Iterable[FunctionTool], **how: Unpack[How]) -> list[FunctionTool]:
    """Copies of function tools that run only as far as the gateway lets them; `how` they ask: see `How`.

    A tool's error is reported to the gateway, and then told to the model (or raised) as the tool itself would.
    """
    return [_gated(gateway, tool, how) for tool in tools]


def _gated(gateway: AnyGateway, tool: FunctionTool, how: How) -> FunctionTool:
    outer, inner = copy.copy(tool), copy.copy(tool)
    set_function_tool_failure_error_function(inner, None)  # what it raises is to be seen here
    within = [how.get("deadline"), tool.timeout_seconds and tool.timeout_seconds * _PART_FOR_WAITING]
    shortest = min((each for each in within if each is not None), default=None)
    adapter = Adapter(gateway, **{**how, "deadline": shortest})

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
            call = adapter.call(tool.name, arguments, call_id=context.tool_call_id)
            found = await adapter.run(call, execute)
        except Exception as error:
            answer = await maybe_invoke_function_tool_failure_error_function(
                function_tool=tool, context=context, error=error
            )
            if answer is None:
                raise
            return answer
        if isinstance(found, Ran) and returned and not notes(found):
            return returned[0]
        return told(found)

    async def has_to_wait(_: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        return isinstance(await adapter.open(adapter.call(tool.name, arguments, call_id=call_id)), SuspendedCall)

    outer.on_invoke_tool = invoke
    if adapter.suspends:
        outer.needs_approval = has_to_wait
    return outer


async def approve_decided(state: RunState[Any, Any], gateway: AsyncGateway, *, sub_agent: str | None = None) -> int:
    """Let go on, of a state's interruptions, those that people have decided; how many of them still wait.

    Each then comes to the gate, which knows whether it was approved; of what was denied the model is told. Of a state
    that is resumed twice, each call runs once.
    """
    adapter, waiting = Adapter(gateway, sub_agent=sub_agent), 0
    for item in state.get_interruptions():
        call = adapter.call(item.tool_name or "", _parsed(item.arguments or "") or {}, call_id=item.call_id)
        opened = await adapter.open(call)
        if isinstance(opened, SuspendedCall) and not await is_decided(gateway, str(opened.request_id)):
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
