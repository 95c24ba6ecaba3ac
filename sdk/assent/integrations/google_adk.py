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

from assent.client.messages import RefusalCode
from assent.gate.outcomes import NOT_RUN, Refused, Replayed
from assent.gate.permission import Executed, Permission
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.begun import Begun
from assent.integrations.ground.suspending import all_decided, as_metadata, is_ours, withdraw

if TYPE_CHECKING:
    from typing import Unpack

    from google.adk.sessions import Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from assent.client.call import ToolCall
    from assent.client.gateway import AsyncGateway
    from assent.integrations.ground.adapter import AnyGateway, How

CONFIRMATION = "adk_request_confirmation"
"""The function that ADK calls for a confirmation; what answers it is what a run goes on with."""

_DECLINED = "declined where the agent runs"


class Approvals(BasePlugin):
    """Give it last among the plugins, and no agent a `before_tool_callback` that answers calls by itself.

    How it asks (`suspend`, `sub_agent`, `deadline`, `abandoned`): see `How`.
    """

    def __init__(self, gateway: AnyGateway, **how: Unpack[How]) -> None:
        super().__init__(name="assent")
        self._adapter = Adapter(gateway, **how)
        self._begun = Begun(self._adapter.gate)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Ask, and wait; None lets the tool run, with the arguments that people approved."""
        named = {"call_id": tool_context.function_call_id, "session": tool_context.session.id}
        call = self._adapter.call(tool.name, dict(tool_args), **named)
        if self._adapter.suspends and (answer := await self._suspended(call, tool_context)) is not None:
            return answer
        found = await self._adapter.obtain(call)
        if not isinstance(found, Permission):
            return _as_response(found)
        tool_args.clear()
        tool_args.update(found.arguments)
        self._begun.begin(_named(tool_context), found)
        return None

    async def _suspended(self, call: ToolCall, context: ToolContext) -> dict[str, Any] | None:
        """What stands in the result's place where the run ends here; None where the call is to be asked about now."""
        confirmation = context.tool_confirmation
        if confirmation is not None and confirmation.confirmed:
            return None
        found = await self._adapter.open(call)
        if not isinstance(found, SuspendedCall):
            return None if found is None else _as_response(found)
        if confirmation is not None:  # declined where the agent runs: whatever people say there, it does not run
            why = f"it was {_DECLINED}"
            await withdraw(self._adapter.gate.gateway, str(found.request_id), why)
            return _as_response(Refused(code=RefusalCode.CALL_REFUSED, reason=why))
        context.request_confirmation(hint=f"People are asked about {call.tool}.", payload=as_metadata(found))
        context.actions.skip_summarization = True  # the pause is nothing for the model to read
        return {"error": f"{call.tool} waits for people to decide about it"}

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Report that it ran, and tell the model what people changed."""
        name = _named(tool_context)
        if name in self._begun and (why := await _asks_first(tool, tool_args, tool_context)) is not None:
            await self._begun.failed(name, NOT_RUN + why)
            return None
        note = await self._begun.ran(name, result)
        return {**_as_object(result), "note": note} if note else None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """Report that it failed, or that nobody knows; the error is the framework's."""
        await self._begun.raised(_named(tool_context), error)


async def decided(gateway: AsyncGateway, session: Session) -> types.Content | None:
    """What a suspended session goes on with (`new_message`), once people have decided all of its calls; None before.

    It lets each of them come to the gate, which knows whether it was approved; of what was denied the model is told.
    """
    ours = _open_confirmations(session)
    if not ours or not await all_decided(gateway, ours.values()):
        return None
    answers = [types.FunctionResponse(id=each, name=CONFIRMATION, response={"confirmed": True}) for each in ours]
    return types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers])


def _open_confirmations(session: Session) -> dict[str, dict[str, Any]]:
    """What we kept with the session's confirmations that led to nothing yet, by the confirmation's id.

    One that was answered stays among them until its call has a result: whoever went on with it may have been killed.
    """
    asked, answered = dict[str, tuple[str | None, dict[str, Any]]](), set[str | None]()
    for event in session.events:
        for call in event.get_function_calls():
            args = call.args or {} if call.name == CONFIRMATION else {}
            payload = (args.get("toolConfirmation") or {}).get("payload")
            if call.id is not None and is_ours(payload):
                asked[call.id] = (args["originalFunctionCall"].get("id"), payload)
        for response in event.get_function_responses():
            if response.id in asked:
                answered.add(asked[response.id][0])
            elif response.id in answered:  # what stood in its place before was no result
                asked = {each: told for each, told in asked.items() if told[0] != response.id}
    return {each: kept for each, (_, kept) in asked.items()}


async def _asks_first(tool: BaseTool, tool_args: dict[str, Any], context: ToolContext) -> str | None:
    """Why a tool that was permitted did not run all the same: it has a condition of its own; None if it ran."""
    actions = context.actions
    if context.function_call_id in {*actions.requested_tool_confirmations, *actions.requested_auth_configs}:
        return f"{tool.name} asked for a confirmation or a sign-in first"
    answer = context.tool_confirmation
    declined = answer is not None and not answer.confirmed
    if declined and await tool.check_require_confirmation(tool_args, context):
        return f"{tool.name} was {_DECLINED}"
    return None


def _named(context: ToolContext) -> tuple[str, str | None]:
    return context.invocation_id, context.function_call_id


def _as_object(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {"result": result}


def _as_response(found: Executed | Replayed | Refused) -> dict[str, Any]:
    return {"error": found.message} if isinstance(found, Refused) else _as_object(found.result)
