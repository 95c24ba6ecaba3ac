"""Microsoft Agent Framework: every function call of an agent goes through the gate.

    agent = Agent(client=client, tools=[pay], middleware=[Approvals(gateway)])

The session is the gateway's, else the agent session's id. With `suspend=True` nobody waits: the run ends with the
framework's own approval request for each call that people have to be asked about. `decided` makes of them, in any
process that has the session, what the run goes on with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_framework import Content, FunctionMiddleware, Message, MiddlewareFailure, MiddlewareTermination
from agent_framework.exceptions import UserInputRequiredException

from assent.gate.outcomes import Ran
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.suspending import all_decided, as_metadata, is_ours
from assent.integrations.ground.telling import notes, told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import Unpack

    from agent_framework import FunctionInvocationContext

    from assent.client.gateway import AsyncGateway
    from assent.integrations.ground.adapter import AnyGateway, How

_CONTROL_FLOW = (MiddlewareTermination, MiddlewareFailure, UserInputRequiredException)


class Approvals(FunctionMiddleware):
    """Give it last: what stands behind it in the list runs after people have approved.

    How it asks (`suspend`, `sub_agent`, `deadline`, `abandoned`): see `How`.
    """

    def __init__(self, gateway: AnyGateway, **how: Unpack[How]) -> None:
        self._adapter = Adapter(gateway, control_flow=_CONTROL_FLOW, **how)

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Ask, wait, run once, report."""
        ran = False

        async def execute(**approved: Any) -> Any:
            nonlocal ran
            context.arguments = approved
            await call_next()
            ran = True
            return _plain(context.result)

        session = None if context.session is None else context.session.session_id
        tool, asked = context.function.name, _mapping(context.arguments)
        call = self._adapter.call(tool, asked, call_id=context.metadata.get("call_id"), session=session)
        if self._adapter.suspends and "approval_response" not in context.metadata:
            opened = await self._adapter.open(call)
            if isinstance(opened, SuspendedCall):
                context.result = _request(context, asked, opened)
                raise MiddlewareTermination("people are asked")
            if opened is not None:
                context.result = told(opened)
                return
        # what the framework's approval was about; what people then changed of it, the gateway has their word for
        context.metadata.setdefault("original_arguments_for_messages", asked)
        found = await self._adapter.run(call, execute)
        if not (ran and isinstance(found, Ran)):
            context.result = told(found)
        elif notes(found):
            text = Content.from_text(notes(found))
            before = context.result
            context.result = [*before, text] if isinstance(before, list) else told(found)


async def decided(gateway: AsyncGateway, requests: Iterable[Content]) -> Message | None:
    """What a run goes on with, once people have decided all of a result's `user_input_requests`; None before that.

    It lets each of them come to the gate, which knows whether it was approved; of what was denied the model is told.
    Requests that are of tools themselves (`approval_mode`) it does not answer.
    """
    ours = [each for each in requests if is_ours(each.additional_properties)]
    if not ours or not await all_decided(gateway, [each.additional_properties for each in ours]):
        return None
    return Message(role="user", contents=[each.to_function_approval_response(True) for each in ours])


def _request(context: FunctionInvocationContext, asked: dict[str, Any], suspended: SuspendedCall) -> Content:
    call_id = context.metadata["call_id"]
    occurrence = context.metadata.get("function_call_occurrence_id")
    call = Content("function_call", id=occurrence, call_id=call_id, name=context.function.name, arguments=asked)
    return Content.from_function_approval_request(
        id=occurrence or call_id, function_call=call, additional_properties=as_metadata(suspended)
    )


def _mapping(arguments: Any) -> dict[str, Any]:
    """The arguments as JSON: a tool's model of them is what validated them."""
    return arguments.model_dump(mode="json") if hasattr(arguments, "model_dump") else dict(arguments)


def _plain(result: Any) -> Any:
    """What is kept of a result: the text of its contents."""
    if isinstance(result, list) and all(isinstance(each, Content) and each.type == "text" for each in result):
        return "\n".join(each.text or "" for each in result)
    return result
