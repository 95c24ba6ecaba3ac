"""LangChain and LangGraph: every tool call of an agent goes through the gate.

    agent = create_agent(model, tools, middleware=[Approvals(gateway)], checkpointer=checkpointer)

The thread is the session, and the model's id the call's: an agent that was killed and goes on from its checkpointer
meets the requests that it had. With `suspend=True` nobody waits: a call that people have to be asked about interrupts
the graph, and is finished when the graph is resumed (whatever it is resumed with: it is the gateway that is asked).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from assent.gate.aftermath import UnknownOutcomeError
from assent.gate.outcomes import Ran, Refused
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground import Gates, as_text, is_waiting, notes, with_notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware import ToolCallRequest

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway
    from assent.gate.outcomes import Replayed

_NEVER_CALLED = "Error invoking tool "
"""How LangGraph begins what it says of arguments that its tool does not take."""


class Approvals(AgentMiddleware):
    """Give it last: what stands behind it in the list runs after people have approved.

    For `invoke` give it a `Gateway`, which serves `ainvoke` as well; `deadline` is in seconds, for each call.
    """

    def __init__(
        self,
        gateway: AsyncGateway | Gateway,
        *,
        suspend: bool = False,
        sub_agent: str | None = None,
        deadline: float | None = None,
        abandoned: Abandoned = "withdraw",
    ) -> None:
        super().__init__()
        self._gates = Gates(gateway, abandoned=abandoned, control_flow=(GraphBubbleUp,))
        self._suspend = suspend
        self._sub_agent = sub_agent
        self._deadline = deadline

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Ask, wait, run once, report."""
        if request.tool is None:  # the model made it up: the framework tells it so, and nothing runs
            return await handler(request)
        call, gate = _Call(request, self._sub_agent), self._gates.asynchronous

        async def execute(**arguments: Any) -> Any:
            return call.returned(await handler(call.request_with(arguments)))

        try:
            if not self._suspend:
                return call.answer(await gate.run(execute=execute, deadline=self._deadline, **call.said))
            found = await gate.open(deadline=self._deadline, **call.said)
            while isinstance(found, SuspendedCall):
                within = call.interrupted(found)
                after = await gate.finish(found, execute, deadline=within)
                found = found if is_waiting(after) else after
            return call.answer(found)
        except _SaidError as said:
            return said.message

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """The same, for `invoke`."""
        if request.tool is None:
            return handler(request)
        call, gate = _Call(request, self._sub_agent), self._gates.blocking

        def execute(**arguments: Any) -> Any:
            return call.returned(handler(call.request_with(arguments)))

        try:
            if not self._suspend:
                return call.answer(gate.run(execute=execute, deadline=self._deadline, **call.said))
            found = gate.open(deadline=self._deadline, **call.said)
            while isinstance(found, SuspendedCall):
                within = call.interrupted(found)
                after = gate.finish(found, execute, deadline=within)
                found = found if is_waiting(after) else after
            return call.answer(found)
        except _SaidError as said:
            return said.message


class _SaidError(Exception):
    """A tool's error that the framework has put into words for the model."""

    def __init__(self, message: ToolMessage) -> None:
        super().__init__(str(message.content))
        self.message = message


class _UnclearError(_SaidError, UnknownOutcomeError):
    """One that may have come behind the deed."""


class _Call:
    """One call of a tool: how it is asked about, and what the graph gets back."""

    def __init__(self, request: ToolCallRequest, sub_agent: str | None) -> None:
        self._request = request
        self._wanted = wanted = request.tool_call
        self._returned: Any = None
        config = request.runtime.config if request.runtime else {}
        session = (config.get("configurable") or {}).get("thread_id")
        self.said: dict[str, Any] = {
            "tool": wanted["name"],
            "args": wanted["args"],
            "call_id": wanted["id"],
            "session": None if session is None else str(session),
            "sub_agent": sub_agent,
        }

    def request_with(self, arguments: dict[str, Any]) -> ToolCallRequest:
        """The request to run, with the arguments that people approved."""
        return self._request.override(tool_call={**self._wanted, "args": arguments})

    def returned(self, result: Any) -> Any:
        """Keep what the tool node returned; what the gateway keeps of it is its content."""
        if not isinstance(result, ToolMessage):
            self._returned = result
            return result
        if result.status == "error":
            raise (_SaidError if str(result.content).startswith(_NEVER_CALLED) else _UnclearError)(result)
        self._returned = result
        return result.content

    def interrupted(self, suspended: SuspendedCall) -> float | None:
        """Interrupt the graph, if people have to decide first; how long to wait for them when it is resumed."""
        if not suspended.waits:
            return None
        interrupt(
            {
                "type": "assent_approval",
                "request_id": suspended.request_id,
                "tool": self._wanted["name"],
                "tool_call_id": self._wanted["id"],
                "suspended": suspended.as_json(),
            }
        )
        return 0

    def answer(self, found: Ran | Replayed | Refused) -> Any:
        """What the graph gets."""
        if isinstance(found, Refused):
            return self._message(found.message, status="error")
        if not isinstance(found, Ran):
            return self._message(as_text(found.result))
        if self._returned is None:  # an executor ran it
            return self._message(with_notes(as_text(found.result), found))
        if not isinstance(self._returned, ToolMessage) or not notes(found):
            return self._returned
        content = self._returned.content
        added = with_notes(content, found) if isinstance(content, str) else [*content, notes(found)]
        return self._returned.model_copy(update={"content": added})

    def _message(self, content: str, **more: Any) -> ToolMessage:
        return ToolMessage(content=content, name=self._wanted["name"], tool_call_id=self._wanted["id"], **more)
