"""Claude Agent SDK: every tool call of a query goes through the gate, in each permission mode.

    options = ClaudeAgentOptions(hooks=hooks(gateway), ...)

The hooks are the gate: `can_use_tool` is not asked about what is allowed otherwise. The session is the gateway's, else
Claude's own; a sub-agent's calls name it by its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk import HookMatcher

from assent.client.call import ToolCall
from assent.client.messages import allowed, approved, run_by_executor
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import as_text, said_by_tool
from assent.gate.permission import Executed, Permission
from assent.integrations.ground import Gates, notes

if TYPE_CHECKING:
    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway
    from assent.gate.gate import Gate
    from assent.gate.outcomes import Refused, Replayed

_DAY = 86400.0
_TO_ANSWER = 15.0


def hooks(
    gateway: AsyncGateway | Gateway,
    *,
    timeout: float = _DAY,
    sub_agent: str | None = None,
    abandoned: Abandoned = "withdraw",
) -> dict[Any, list[HookMatcher]]:
    """What to give `ClaudeAgentOptions`; `timeout` is the hooks' own, in seconds: the answer is there before it."""
    gate = Gates(gateway, abandoned=abandoned).asynchronous
    gates = _Hooks(gate, sub_agent, deadline=max(timeout - _TO_ANSWER, timeout / 2))
    return {
        "PreToolUse": [HookMatcher(hooks=[gates.before], timeout=timeout, on_failure="block")],
        "PostToolUse": [HookMatcher(hooks=[gates.after])],
        "PostToolUseFailure": [HookMatcher(hooks=[gates.failed])],
    }


class _Hooks:
    """The three hooks of one query, and the permissions between them."""

    def __init__(self, gate: Gate, sub_agent: str | None, *, deadline: float) -> None:
        self._gate = gate
        self._sub_agent = sub_agent
        self._deadline = deadline
        self._permitted: dict[str, Permission] = {}

    async def before(self, event: Any, tool_use_id: str | None, _: Any) -> Any:
        """Ask, and wait; what the tool is allowed with are the arguments that people approved."""
        call = ToolCall(
            event["tool_name"],
            event["tool_input"],
            call_id=tool_use_id,
            session=None if self._gate.gateway.session else event["session_id"],
            sub_agent=event.get("agent_type") or self._sub_agent,
            cwd=event.get("cwd"),
        )
        found = await self._gate.obtain(call, deadline=self._deadline)
        if not isinstance(found, Permission):
            return _decided("deny", permissionDecisionReason=_in_words(found))
        self._permitted[event["tool_use_id"]] = found
        request = found.request
        reason = (
            approved(request_id=request.id, short_code=request.code) if request else allowed(rule=None, reason=None)
        )
        changed = {} if found.arguments == call.arguments else {"updatedInput": found.arguments}
        return _decided("allow", permissionDecisionReason=reason, **changed)

    async def after(self, event: Any, *_: Any) -> Any:
        """Report that it ran, and tell the model what people changed."""
        permission = self._permitted.pop(event["tool_use_id"], None)
        if permission is None:
            return {}
        result = event["tool_response"]
        await self._gate.settle(permission, OutcomeStatus.SUCCEEDED, result=result)
        note = notes(permission.ran(result))
        told = {"hookEventName": "PostToolUse", "additionalContext": note}
        return {"hookSpecificOutput": told} if note else {}

    async def failed(self, event: Any, *_: Any) -> Any:
        """Report that it failed; of what was interrupted nobody knows how far it came."""
        permission = self._permitted.pop(event["tool_use_id"], None)
        if permission is not None:
            status = OutcomeStatus.UNKNOWN if event.get("is_interrupt") else OutcomeStatus.FAILED
            await self._gate.settle(permission, status, error=said_by_tool(str(event["error"])))
        return {}


def _decided(decision: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}}


def _in_words(found: Executed | Replayed | Refused) -> str:
    if isinstance(found, Executed):
        request = found.request
        return run_by_executor(as_text(found.result), request_id=request.id, short_code=request.code)
    return found.message
