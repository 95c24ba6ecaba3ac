"""Claude Agent SDK: every tool call of a query goes through the gate, in each permission mode.

    options = ClaudeAgentOptions(hooks=hooks(gateway), ...)

The hooks are the gate: `can_use_tool` is not asked about what is allowed otherwise. The session is the gateway's, else
Claude's own; a sub-agent's calls name it by its type.

With `hooks(gateway, suspend=True)` nobody waits: a call that people have to be asked about ends the query, and its
`ResultMessage` has it as `deferred_tool_use`. Later, in any process that has Claude's transcripts:

    async for message in carry_on(options, session_id): ...
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from claude_agent_sdk import HookMatcher, ResultMessage, query

from assent.client.errors import GatewayError
from assent.client.messages import allowed, approved
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import ABANDONED, said_by_tool
from assent.gate.permission import Permission
from assent.gate.suspended import SuspendedCall
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.begun import Begun
from assent.integrations.ground.suspending import is_decided, withdraw
from assent.integrations.ground.telling import in_words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from claude_agent_sdk import ClaudeAgentOptions, Message

    from assent.client.call import ToolCall
    from assent.gate.abandoned import Abandoned
    from assent.integrations.ground.adapter import AnyGateway, How

_DAY = 86400.0
_TO_ANSWER = 15.0
_BEGINS_WITHIN = 30.0
_GO_ON = "Go on. Whether the last call ran is not known, if it has no result: do not repeat it, and tell the user."
_ONE_A_TURN = "another call of this turn waits for people, and one can wait at a time"
_CALL_AGAIN = f"Not run: {_ONE_A_TURN}. Call it again when that one is through."


def hooks(
    gateway: AnyGateway,
    *,
    suspend: bool = False,
    timeout: float = _DAY,
    sub_agent: str | None = None,
    abandoned: Abandoned = "withdraw",
) -> dict[Any, list[HookMatcher]]:
    """What to give `ClaudeAgentOptions`; `timeout` is the hooks' own, in seconds: the answer is there before it."""
    how: How = {"suspend": suspend, "sub_agent": sub_agent, "abandoned": abandoned}
    gates = _Hooks(Adapter(gateway, deadline=max(timeout - _TO_ANSWER, timeout / 2), **how))
    return {
        "PreToolUse": [HookMatcher(hooks=[gates.before], timeout=timeout, on_failure="block")],
        "PostToolUse": [HookMatcher(hooks=[gates.after])],
        "PostToolUseFailure": [HookMatcher(hooks=[gates.failed])],
    }


async def carry_on(
    options: ClaudeAgentOptions, session_id: str, *, begins_within: float = _BEGINS_WITHIN
) -> AsyncIterator[Message]:
    """Go on with a query that ended with a suspended call: what `query` yields. Undecided, it is suspended again.

    Give it the options of the first query. The suspended call comes to the gate under the id that it had. Where nothing
    comes of it within so many seconds, whoever carried it on before was killed with it: the model is told to go on.
    """
    begun, over = anyio.Event(), anyio.Event()

    async def begins(*_: Any) -> Any:
        begun.set()
        return {}

    async def nothing_new() -> AsyncIterator[dict[str, Any]]:
        with anyio.move_on_after(begins_within):
            await begun.wait()
        if not begun.is_set():
            yield {"type": "user", "message": {"role": "user", "content": _GO_ON}, "parent_tool_use_id": None}
        await over.wait()  # a prompt that ends takes the tools of this process along

    hooks = {name: [*each] for name, each in (options.hooks or {}).items()}
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), HookMatcher(hooks=[begins])]
    async for message in query(prompt=nothing_new(), options=replace(options, resume=session_id, hooks=hooks)):
        begun.set()
        if isinstance(message, ResultMessage):
            over.set()
        yield message


class _Hooks:
    """The three hooks of one query, and the permissions between them."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._begun = Begun(adapter.gate)
        self._suspended = dict[str, tuple[str | None, str]]()  # by Claude's session: the call, and its request
        self._one_by_one = anyio.Lock()

    async def before(self, event: Any, tool_use_id: str | None, _: Any) -> Any:
        """Ask, and wait; what the tool is allowed with are the arguments that people approved."""
        named = {"call_id": tool_use_id, "session": event["session_id"]}
        call = self._adapter.call(event["tool_name"], event["tool_input"], **named)
        call = replace(call, sub_agent=event.get("agent_type") or call.sub_agent, cwd=event.get("cwd"))
        if self._adapter.suspends and (answer := await self._suspends(call, event["session_id"])) is not None:
            return answer
        found = await self._adapter.obtain(call)
        if not isinstance(found, Permission):
            return _decided("deny", in_words(found))
        self._begun.begin(event["tool_use_id"], found)
        asked = found.request
        why = approved(request_id=asked.id, short_code=asked.code) if asked else allowed(rule=None, reason=None)
        return _decided(
            "allow", why, **({} if found.arguments == call.arguments else {"updatedInput": found.arguments})
        )

    async def _suspends(self, call: ToolCall, session: str) -> dict[str, Any] | None:
        """The answer that ends the query, or to a call beside it; None where the call is to be asked about now.

        Of several calls that are deferred in one turn Claude Code keeps the last, and drops the others unsaid.
        """
        async with self._one_by_one:
            found = await self._adapter.open(call)
            if not isinstance(found, SuspendedCall):
                return None if found is None else _decided("deny", found.message)
            request_id = str(found.request_id)
            if await self._is_decided(request_id):
                return None
            beside, its_request = self._suspended.get(session, (call.call_id, ""))
            if beside != call.call_id and not await self._is_decided(its_request):
                await withdraw(self._adapter.gate.gateway, request_id, ABANDONED + _ONE_A_TURN)
                return _decided("deny", _CALL_AGAIN)
            self._suspended[session] = call.call_id, request_id
            return _decided("defer", f"people are asked: request {request_id}")

    async def _is_decided(self, request_id: str) -> bool:
        try:
            return await is_decided(self._adapter.gate.gateway, request_id)
        except GatewayError:  # nobody knows: it is looked at again when the query is carried on
            return False

    async def after(self, event: Any, *_: Any) -> Any:
        """Report that it ran, and tell the model what people changed."""
        note = await self._begun.ran(event["tool_use_id"], event["tool_response"])
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": note}} if note else {}

    async def failed(self, event: Any, *_: Any) -> Any:
        """Report that it failed; of what was interrupted nobody knows how far it came."""
        status = OutcomeStatus.UNKNOWN if event.get("is_interrupt") else OutcomeStatus.FAILED
        await self._begun.failed(event["tool_use_id"], said_by_tool(str(event["error"])), status=status)
        return {}


def _decided(decision: str, reason: str, **more: Any) -> dict[str, Any]:
    told = {"permissionDecision": decision, "permissionDecisionReason": reason, **more}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **told}}
