"""Microsoft Agent Framework: every function call of an agent goes through the gate.

    agent = Agent(client=client, tools=[pay], middleware=[Approvals(gateway)])

The session is the gateway's, else the agent session's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_framework import Content, FunctionMiddleware, MiddlewareFailure, MiddlewareTermination
from agent_framework.exceptions import UserInputRequiredException

from assent.gate.outcomes import Ran
from assent.integrations.ground import Gates, notes, told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agent_framework import FunctionInvocationContext

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway

_CONTROL_FLOW = (MiddlewareTermination, MiddlewareFailure, UserInputRequiredException)


class Approvals(FunctionMiddleware):
    """Give it last: what stands behind it in the list runs after people have approved.

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
        self._gate = Gates(gateway, abandoned=abandoned, control_flow=_CONTROL_FLOW).asynchronous
        self._sub_agent = sub_agent
        self._deadline = deadline

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Ask, wait, run once, report."""
        ran = False

        async def execute(**approved: Any) -> Any:
            nonlocal ran
            context.arguments = approved
            await call_next()
            ran = True
            return _plain(context.result)

        named = self._gate.gateway.session or context.session is None
        found = await self._gate.run(
            context.function.name,
            _mapping(context.arguments),
            execute,
            call_id=context.metadata.get("call_id"),
            session=None if named else context.session.session_id,
            sub_agent=self._sub_agent,
            deadline=self._deadline,
        )
        if not (ran and isinstance(found, Ran)):
            context.result = told(found)
        elif notes(found):
            text = Content.from_text(notes(found))
            before = context.result
            context.result = [*before, text] if isinstance(before, list) else told(found)


def _mapping(arguments: Any) -> dict[str, Any]:
    """The arguments as JSON: a tool's model of them is what validated them."""
    return arguments.model_dump(mode="json") if hasattr(arguments, "model_dump") else dict(arguments)


def _plain(result: Any) -> Any:
    """What is kept of a result: the text of its contents."""
    if isinstance(result, list) and all(isinstance(each, Content) and each.type == "text" for each in result):
        return "\n".join(each.text or "" for each in result)
    return result
