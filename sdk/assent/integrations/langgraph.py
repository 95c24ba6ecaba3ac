"""LangChain and LangGraph: every tool call of an agent goes through the gate.

    agent = create_agent(model, tools, middleware=[Approvals(gateway)], checkpointer=checkpointer)

The thread is the session, and the model's id the call's: an agent that goes on from its checkpointer meets the requests
that it had. With `suspend=True` a call that people have to be asked about interrupts the graph, until it is resumed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from assent.gate.aftermath import UnknownOutcomeError
from assent.gate.outcomes import Ran, Refused, Replayed
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.colours import OnThisThread, as_coroutine, at_once
from assent.integrations.ground.suspending import is_waiting
from assent.integrations.ground.telling import notes, told, with_notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Unpack

    from langchain.agents.middleware import ToolCallRequest

    from assent.client.call import ToolCall
    from assent.integrations.ground.adapter import AnyGateway, How
    from assent.integrations.ground.colours import AnyGate

    Handler = Callable[[ToolCallRequest], Awaitable[Any]]

_NEVER_CALLED = "Error invoking tool "  # how LangGraph begins what it says of arguments that its tool does not take


class Approvals(AgentMiddleware):
    """Give it last: what stands behind it runs after people have approved. For `invoke` it needs a `Gateway`.

    How it asks (`suspend`, `sub_agent`, `deadline`, `abandoned`): see `How`.
    """

    def __init__(self, gateway: AnyGateway, **how: Unpack[How]) -> None:
        super().__init__()
        self._adapter = Adapter(gateway, control_flow=(GraphBubbleUp,), **how)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Any:
        """Ask, wait, run once, report."""
        return await self._through(self._adapter.gate, request, handler)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """The same, for `invoke`."""
        return at_once(self._through(OnThisThread(self._adapter), request, as_coroutine(handler)))

    async def _through(self, gate: AnyGate, request: ToolCallRequest, handler: Handler) -> Any:
        if request.tool is None:  # the model made it up: the framework tells it so, and nothing runs
            return await handler(request)
        call, within, returned = self._call(request), self._adapter.deadline, list[Any]()

        async def execute(**approved: Any) -> Any:
            result = await handler(request.override(tool_call={**request.tool_call, "args": approved}))
            if isinstance(result, ToolMessage) and result.status == "error":
                raise (_SaidError if str(result.content).startswith(_NEVER_CALLED) else _UnclearError)(result)
            returned.append(result)
            return result.content if isinstance(result, ToolMessage) else result

        try:
            if not self._adapter.suspends:
                return _answer(call, await gate.run_call(call, execute, deadline=within), returned)
            found = await gate.open_call(call, deadline=within)
            while isinstance(found, SuspendedCall):
                _interrupt_for(found)
                after = await gate.finish(found, execute, deadline=0 if found.waits else None)
                found = found if is_waiting(after) else after
            return _answer(call, found, returned)
        except _SaidError as said:
            return said.message

    def _call(self, request: ToolCallRequest) -> ToolCall:
        wanted, config = request.tool_call, request.runtime.config if request.runtime else {}
        call = self._adapter.call(wanted["name"], wanted["args"], call_id=wanted["id"])
        thread = (config.get("configurable") or {}).get("thread_id")
        return call if thread is None else replace(call, session=str(thread))


class _SaidError(Exception):
    """A tool's error that the framework has put into words for the model."""

    def __init__(self, message: ToolMessage) -> None:
        super().__init__(str(message.content))
        self.message = message


class _UnclearError(_SaidError, UnknownOutcomeError):
    """One that may have come behind the deed."""


def _interrupt_for(suspended: SuspendedCall) -> None:
    """Interrupt the graph, if people have to decide first; when it is resumed, this returns."""
    if suspended.waits:
        asked = {"tool": suspended.call.tool, "tool_call_id": suspended.call.call_id, "suspended": suspended.as_json()}
        interrupt({"type": "assent_approval", "request_id": suspended.request_id, **asked})


def _answer(call: ToolCall, found: Ran | Replayed | Refused, returned: list[Any]) -> Any:
    """What the graph gets: what its own tool node returned, where that ran now."""
    if not isinstance(found, Ran) or not returned:
        status = "error" if isinstance(found, Refused) else "success"
        return ToolMessage(content=told(found), name=call.tool, tool_call_id=call.call_id, status=status)
    (result,) = returned
    if not isinstance(result, ToolMessage) or not notes(found):
        return result
    content = result.content
    added = with_notes(content, found) if isinstance(content, str) else [*content, notes(found)]
    return result.model_copy(update={"content": added})
