"""Pydantic AI: every tool call of an agent goes through the gate.

    agent = Agent(model, tools=[pay], capabilities=[Approvals(gateway)])

The session is the gateway's, else the conversation's id. With `suspend=True` (and `DeferredToolRequests` among the
output types) nobody waits: the run ends with the calls that people have to be asked about, and goes on with what
`decided` makes of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import DeferredToolResults, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution, ToolRetryError
from pydantic_core import to_jsonable_python

from assent.gate.outcomes import Ran, Refused
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.suspending import all_decided, as_metadata, is_ours
from assent.integrations.ground.telling import notes, with_notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Unpack

    from pydantic_ai import DeferredToolRequests, RunContext, ToolDefinition
    from pydantic_ai.messages import ToolCallPart

    from assent.client.gateway import AsyncGateway
    from assent.gate.outcomes import Replayed
    from assent.integrations.ground.adapter import AnyGateway, How

_CONTROL_FLOW = (ModelRetry, ToolRetryError, CallDeferred, ApprovalRequired, SkipToolExecution)


class Approvals(AbstractCapability[Any]):
    """Give it to the agent's `capabilities`.

    How it asks (`suspend`, `sub_agent`, `deadline`, `abandoned`): see `How`.
    """

    def __init__(self, gateway: AnyGateway, **how: Unpack[How]) -> None:
        self._adapter = Adapter(gateway, control_flow=_CONTROL_FLOW, **how)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Ask, wait, run once, report."""
        asked, returned = call.args_as_dict(), list[Any]()

        async def execute(**approved: Any) -> Any:
            result = await handler(args if approved == asked else _validated(ctx, call, approved))
            returned.append(result)
            value = result.return_value if isinstance(result, ToolReturn) else result
            return to_jsonable_python(value, serialize_unknown=True)

        wanted = self._adapter.call(call.tool_name, asked, call_id=call.tool_call_id, session=ctx.conversation_id)
        if self._adapter.suspends and not ctx.tool_call_approved:
            opened = await self._adapter.open(wanted)
            if isinstance(opened, SuspendedCall):
                raise ApprovalRequired(as_metadata(opened))
            if opened is not None:
                return _told(opened, returned)
        return _told(await self._adapter.run(wanted, execute), returned)


async def decided(gateway: AsyncGateway, requests: DeferredToolRequests) -> DeferredToolResults | None:
    """What a run goes on with (`deferred_tool_results`), once people have decided all of its calls; None before that.

    It lets each of them come to the gate, which knows whether it was approved; of what was denied the model is told.
    """
    if not await all_decided(gateway, filter(is_ours, requests.metadata.values())):
        return None
    return DeferredToolResults(approvals={call.tool_call_id: True for call in requests.approvals})


def _validated(ctx: RunContext[Any], call: ToolCallPart, approved: dict[str, Any]) -> dict[str, Any]:
    """What people changed, as the tool takes it."""
    tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
    if not tools or call.tool_name not in tools:
        raise ModelRetry("people changed the arguments, and here they cannot be checked: call the tool again")
    return tools[call.tool_name].args_validator.validate_python(approved, context=ctx.validation_context)


def _told(found: Ran | Replayed | Refused, returned: list[Any]) -> Any:
    if isinstance(found, Refused):
        return found.message
    if not isinstance(found, Ran):
        return found.result
    result = returned[0] if returned else found.result  # else an executor ran it
    if not notes(found):
        return result
    if isinstance(result, str):
        return with_notes(result, found)
    if not isinstance(result, ToolReturn):
        return ToolReturn(return_value=result, content=notes(found))
    before = [result.content] if isinstance(result.content, str) else list(result.content or ())
    return replace(result, content=[*before, notes(found)])
