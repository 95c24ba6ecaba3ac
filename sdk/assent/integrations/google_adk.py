"""Google ADK: every tool call of every agent under a runner goes through the gate.

    runner = Runner(app=App(name="orders", root_agent=agent, plugins=[Approvals(gateway)]), session_service=sessions)

The session is the gateway's, else the ADK session's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.plugins.base_plugin import BasePlugin

from assent.client.call import ToolCall
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import Refused
from assent.gate.permission import Permission
from assent.integrations.ground import Gates, notes

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway


class Approvals(BasePlugin):
    """Give it last among the plugins, and no agent a `before_tool_callback` that answers calls by itself.

    `deadline` is in seconds, for each call.
    """

    def __init__(
        self,
        gateway: AsyncGateway | Gateway,
        *,
        sub_agent: str | None = None,
        deadline: float | None = None,
        abandoned: Abandoned = "withdraw",
    ) -> None:
        super().__init__(name="assent")
        self._gate = Gates(gateway, abandoned=abandoned).asynchronous
        self._sub_agent = sub_agent
        self._deadline = deadline
        self._permitted: dict[tuple[str, str | None], Permission] = {}

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Ask, and wait; None lets the tool run, with the arguments that people approved."""
        session = None if self._gate.gateway.session else tool_context.session.id
        call = ToolCall(
            tool.name,
            dict(tool_args),
            call_id=tool_context.function_call_id,
            session=session,
            sub_agent=self._sub_agent,
        )
        found = await self._gate.obtain(call, deadline=self._deadline)
        if isinstance(found, Refused):
            return {"error": found.message}
        if not isinstance(found, Permission):
            return _as_response(found.result)
        tool_args.clear()
        tool_args.update(found.arguments)
        self._permitted[_named(tool_context)] = found
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Report that it ran, and tell the model what people changed."""
        permission = self._permitted.pop(_named(tool_context), None)
        if permission is None:
            return None
        await self._gate.settle(permission, OutcomeStatus.SUCCEEDED, result=result)
        note = notes(permission.ran(result))
        return {**_as_response(result), "note": note} if note else None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """Report that it failed, or that nobody knows; the error is the framework's."""
        permission = self._permitted.pop(_named(tool_context), None)
        if permission is not None:
            status, said, elsewhere = self._gate.outcome_of(error)
            await self._gate.settle(permission, status, error=said, elsewhere=elsewhere)


def _named(context: ToolContext) -> tuple[str, str | None]:
    return context.invocation_id, context.function_call_id


def _as_response(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {"result": result}
