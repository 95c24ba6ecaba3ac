"""The hook engine: code at the named moments of an agent's run, with or without the gateway.

    hooks = Hooks()
    hooks.add(CommandGuard())
    async with hooks.session(agent="builder") as session:
        result = await session.call_tool("bash", {"command": "rm -rf /"}, bash)

`moments` has the moments and what a verdict may do at each, `chain` how verdicts come together.
"""

from assent.hooks.contract.context import HookContext
from assent.hooks.contract.hook import (
    GENERAL,
    GUARD,
    LOGGING,
    REWRITING,
    ApprovalGateHook,
    Hook,
    OnError,
    PostToolUseFailureHook,
    PostToolUseHook,
    PreCompactHook,
    PreModelRequestHook,
    PreToolUseHook,
    SessionEndHook,
    SessionStartHook,
    StopHook,
    SubagentStopHook,
    UserPromptSubmitHook,
)
from assent.hooks.contract.matcher import NeverMatchesError
from assent.hooks.contract.model_request import ModelRequest
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.steps import Observed, Settled, Step, Suspended, WillCall
from assent.hooks.contract.verdicts import (
    HookResult,
    Routing,
    allow,
    ask,
    deny,
    go_on,
    modify,
    replace_result,
    rewrite,
    route,
    send,
)
from assent.hooks.engine.chain import HookFaultError, run_chain
from assent.hooks.engine.observer import Deed, HookEvent
from assent.hooks.engine.outcome import Asked, Decision, Outcome
from assent.hooks.engine.registry import HookRegistry, Registered

TYPE_CHECKING = False  # as in `assent`: type checkers know the name
if TYPE_CHECKING:
    from assent.hooks.session.facade import Hooks
    from assent.hooks.session.session import ModelRequestBlockedError, Prompt, PromptBlockedError, Session
    from assent.hooks.session.tool_run import ToolResult

__all__ = [  # noqa: RUF022 - in the order in which one meets them
    "Hooks",
    "Session",
    "HookContext",
    "HookResult",
    "allow",
    "deny",
    "modify",
    "ask",
    "route",
    "rewrite",
    "send",
    "replace_result",
    "go_on",
    "Hook",
    "SessionStartHook",
    "UserPromptSubmitHook",
    "PreModelRequestHook",
    "PreToolUseHook",
    "PostToolUseHook",
    "PostToolUseFailureHook",
    "PreCompactHook",
    "StopHook",
    "SubagentStopHook",
    "SessionEndHook",
    "ApprovalGateHook",
    "GUARD",
    "REWRITING",
    "GENERAL",
    "LOGGING",
    "OnError",
    "Moment",
    "ModelRequest",
    "Prompt",
    "ToolResult",
    "Routing",
    "Step",
    "WillCall",
    "Suspended",
    "Settled",
    "Observed",
    "HookEvent",
    "Deed",
    "HookRegistry",
    "Registered",
    "run_chain",
    "Outcome",
    "Decision",
    "Asked",
    "PromptBlockedError",
    "ModelRequestBlockedError",
    "HookFaultError",
    "NeverMatchesError",
]

_HOMES = {
    "session.facade": "Hooks",
    "session.session": "ModelRequestBlockedError Prompt PromptBlockedError Session",
    "session.tool_run": "ToolResult",
}


def __getattr__(name: str) -> object:
    """A name of whoever runs an agent, from its home: a gateway, which has the engine alone, does not load it."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"assent.hooks.{home}"), name)
    raise AttributeError(f"module 'assent.hooks' has no attribute {name!r}")
