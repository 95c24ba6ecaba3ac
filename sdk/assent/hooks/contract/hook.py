"""The bases of class hooks, one for each moment; the priority bands; what a fault means.

class NoFridays(PreToolUseHook):
name = "no-fridays"
priority = GUARD
tools = "oa__*"

async def execute(self, ctx: HookContext) -> HookResult | None:
return deny("payments rest on Fridays") if ctx.timestamp.weekday() == 4 else None
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from assent.hooks.contract.moments import Moment

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.verdicts import HookResult

GUARD = 100
"""100 and above: guards. 10 to 99: hooks that rewrite. 0 to 9: all else. Then the approval gate. Below 0: logs."""
REWRITING = 10
GENERAL = 0
LOGGING = -10

DEFAULT_TIMEOUT = 30.0  # seconds

Names: TypeAlias = str | re.Pattern[str] | Sequence[str | re.Pattern[str]]
"""Which tools or agents: a name, a glob (`oa__*`), a compiled regular expression that must match the whole name, or a
list of these."""


class OnError(StrEnum):
    """What a hook's fault (exception, time-out, unknown verdict, …) means."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class Hook(ABC):
    """A hook of one moment. `HookRegistry.add` may override everything but the moment."""

    moment: ClassVar[Moment]
    name: str = ""
    """How it is told to people; the class's name if left out. Also its id in the registry, made unique if need be."""
    description: str = ""
    priority: int = GENERAL
    tools: Names | None = None
    agents: Names | None = None
    timeout: float = DEFAULT_TIMEOUT
    """Seconds."""
    on_error: OnError | None = None
    """None: DENY, or ALLOW at the observing moments."""
    sibling: Hook | None = None
    """A hook of another moment that this one is nothing without: it is registered and removed with it."""

    def should_trigger(self, ctx: HookContext) -> bool:  # noqa: ARG002 - for those that override it
        """Say whether the hook has anything to say here. Cheap; a fault in it counts as the hook's."""
        return True

    @abstractmethod
    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Judge. None is no opinion."""


class SessionStartHook(Hook):
    """Adds context to a session's first prompt."""

    moment = Moment.SESSION_START


class UserPromptSubmitHook(Hook):
    """Blocks, rewrites, tags or adds to what a user says, before the model or the history sees it."""

    moment = Moment.USER_PROMPT_SUBMIT


class PreModelRequestHook(Hook):
    """Sees the tags and changes the whole request to the model."""

    moment = Moment.PRE_MODEL_REQUEST


class PreToolUseHook(Hook):
    """Allows, denies, rewrites, asks or routes a tool call."""

    moment = Moment.PRE_TOOL_USE


class PostToolUseHook(Hook):
    """Replaces, withholds or hides a tool's result."""

    moment = Moment.POST_TOOL_USE


class PostToolUseFailureHook(Hook):
    """Sees a tool's failure, as PostToolUseHook sees its result."""

    moment = Moment.POST_TOOL_USE_FAILURE


class PreCompactHook(Hook):
    """Sees that the history is about to be shortened."""

    moment = Moment.PRE_COMPACT


class StopHook(Hook):
    """Sees the agent stop; may send it back once."""

    moment = Moment.STOP


class SubagentStopHook(Hook):
    """Sees a sub-agent stop."""

    moment = Moment.SUBAGENT_STOP


class SessionEndHook(Hook):
    """Sees a session end."""

    moment = Moment.SESSION_END


class ApprovalGateHook(PreToolUseHook):
    """A gate: it runs after every hook of priority 0 and above, and what it lets through is frozen behind it."""

    timeout = 31 * 24 * 3600.0
    """People may take as long as the request stands, whose own deadline ends it."""
