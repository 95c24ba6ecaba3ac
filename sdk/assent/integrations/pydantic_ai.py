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
from assent.integrations.ground import Gates, all_decided, notes, with_notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic_ai import DeferredToolRequests, RunContext, ToolDefinition
    from pydantic_ai.messages import ToolCallPart

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway
    from assent.gate.outcomes import Replayed

_CONTROL_FLOW = (ModelRetry, ToolRetryError, CallDeferred, ApprovalRequired, SkipToolExecution)


class Approvals(AbstractCapability[Any]):
    """Give it to the agent's `capabilities`; `deadline` is in seconds, for each call."""

    def __init__(
        self,
        gateway: AsyncGateway | Gateway,
        *,
        suspend: bool = False,
        sub_agent: str | None = None,
        deadline: float | None = None,
        abandoned: Abandoned = "withdraw",
    ) -> None:
        self._gate = Gates(gateway, abandoned=abandoned, control_flow=_CONTROL_FLOW).asynchronous
        self._suspend = suspend
        self._sub_agent = sub_agent
        self._deadline = deadline

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

        said: dict[str, Any] = {
            "call_id": call.tool_call_id,
            "session": None if self._gate.gateway.session else ctx.conversation_id,
            "sub_agent": self._sub_agent,
            "deadline": self._deadline,
        }
        if self._suspend and not ctx.tool_call_approved:
            suspended = await self._gate.open(call.tool_name, asked, **said)
            if not isinstance(suspended, SuspendedCall):
                return _told(suspended, returned)
            if suspended.waits:
                raise ApprovalRequired({"assent": suspended.as_json(), "request_id": suspended.request_id})
        return _told(await self._gate.run(call.tool_name, asked, execute, **said), returned)


async def decided(gateway: AsyncGateway, requests: DeferredToolRequests) -> DeferredToolResults | None:
    """What a run goes on with (`deferred_tool_results`), once people have decided all of its calls; None before that.

    It lets each of them come to the gate, which knows whether it was approved; of what was denied the model is told.
    """
    waiting = [metadata["request_id"] for metadata in requests.metadata.values() if "assent" in metadata]
    if not await all_decided(gateway, waiting):
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
