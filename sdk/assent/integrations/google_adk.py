"""Google ADK: every tool call of every agent under a runner goes through the gate.

    runner = Runner(app=App(name="orders", root_agent=agent, plugins=[Approvals(gateway)]), session_service=sessions)

The session is the gateway's, else the ADK session's id. With `suspend=True` nobody waits: a call that people have to be
asked about ends the run with ADK's own request for a confirmation. `decided` finds, in any process that has the
session, what the run goes on with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from assent.client.call import ToolCall
from assent.client.messages import RefusalCode
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import NOT_RUN, Refused
from assent.gate.permission import Permission
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground import Gates, all_decided, notes, withdraw

if TYPE_CHECKING:
    from google.adk.sessions import Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway

CONFIRMATION = "adk_request_confirmation"
"""The function that ADK calls for a confirmation; what answers it is what a run goes on with."""

_DECLINED = "it was declined where the agent runs"


class Approvals(BasePlugin):
    """Give it last among the plugins, and no agent a `before_tool_callback` that answers calls by itself.

    `deadline` is in seconds, for each call.
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
        super().__init__(name="assent")
        self._gate = Gates(gateway, abandoned=abandoned).asynchronous
        self._suspend = suspend
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
        if self._suspend and (answer := await self._suspended(call, tool_context)) is not None:
            return answer
        found = await self._gate.obtain(call, deadline=self._deadline)
        if isinstance(found, Refused):
            return {"error": found.message}
        if not isinstance(found, Permission):
            return _as_response(found.result)
        tool_args.clear()
        tool_args.update(found.arguments)
        self._permitted[_named(tool_context)] = found
        return None

    async def _suspended(self, call: ToolCall, context: ToolContext) -> dict[str, Any] | None:
        """What stands in the result's place where the run ends here; None where the call is to be asked about now."""
        confirmation = context.tool_confirmation
        if confirmation is not None and confirmation.confirmed:
            return None
        found = await self._gate.open_call(call, deadline=self._deadline)
        if isinstance(found, Refused):
            return {"error": found.message}
        if not isinstance(found, SuspendedCall):
            return _as_response(found.result)
        if found.request_id is None:
            return None
        if confirmation is not None:  # declined where the agent runs: whatever people say there, it does not run
            await withdraw(self._gate.gateway, found.request_id, _DECLINED)
            return {"error": Refused(code=RefusalCode.CALL_REFUSED, reason=_DECLINED).message}
        payload = {"request_id": found.request_id, "assent": found.as_json()}
        context.request_confirmation(hint=f"People are asked about {call.tool}.", payload=payload)
        context.actions.skip_summarization = True  # the pause is nothing for the model to read
        return {"error": f"{call.tool} waits for people to decide about it"}

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Report that it ran, and tell the model what people changed."""
        permission = self._permitted.pop(_named(tool_context), None)
        if permission is None:
            return None
        if (why := await _asks_first(tool, tool_args, tool_context)) is not None:
            await self._gate.settle(permission, OutcomeStatus.FAILED, error=NOT_RUN + why)
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


async def decided(gateway: AsyncGateway, session: Session) -> types.Content | None:
    """What a suspended session goes on with (`new_message`), once people have decided all of its calls; None before.

    It lets each of them come to the gate, which knows whether it was approved; of what was denied the model is told.
    """
    ours = _open_confirmations(session)
    if not ours or not await all_decided(gateway, ours.values()):
        return None
    answers = [types.FunctionResponse(id=each, name=CONFIRMATION, response={"confirmed": True}) for each in ours]
    return types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers])


def _open_confirmations(session: Session) -> dict[str, str]:
    """The requests behind the session's confirmations that led to nothing yet, by the confirmation's id.

    One that was answered stays among them until its call has a result: whoever went on with it may have been killed.
    """
    asked, answered = dict[str, tuple[str | None, str]](), set[str | None]()
    for event in session.events:
        for call in event.get_function_calls():
            args = call.args or {} if call.name == CONFIRMATION else {}
            payload = (args.get("toolConfirmation") or {}).get("payload")
            if call.id is not None and isinstance(payload, dict) and "assent" in payload:
                asked[call.id] = (args["originalFunctionCall"].get("id"), payload["request_id"])
        for response in event.get_function_responses():
            if response.id in asked:
                answered.add(asked[response.id][0])
            elif response.id in answered:  # what stood in its place before was no result
                asked = {each: told for each, told in asked.items() if told[0] != response.id}
    return {each: request_id for each, (_, request_id) in asked.items()}


async def _asks_first(tool: BaseTool, tool_args: dict[str, Any], context: ToolContext) -> str | None:
    """Why a tool that was permitted did not run all the same: it has a condition of its own; None if it ran."""
    actions = context.actions
    if context.function_call_id in {*actions.requested_tool_confirmations, *actions.requested_auth_configs}:
        return f"{tool.name} asked for a confirmation or a sign-in first"
    answer = context.tool_confirmation
    declined = answer is not None and not answer.confirmed
    if declined and await tool.check_require_confirmation(tool_args, context):
        return f"{tool.name} was {_DECLINED.removeprefix('it was ')}"
    return None


def _named(context: ToolContext) -> tuple[str, str | None]:
    return context.invocation_id, context.function_call_id


def _as_response(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {"result": result}
