"""The moments of an agent's run as runtimes report them: Claude Code's names for what it has, and ours besides.

Members that we do not know are ignored: runtimes add some.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.api.wire.schemas import CallBody, HeldBody, Id, RunBody

_AS_RUNTIMES_SAY = {
    "tool": "tool_name",
    "arguments": "tool_input",
    "call_id": "tool_use_id",
    "session": "session_id",
    "parent_session": "parent_session_id",
    "requester": "user",
}
_CONFIG = ConfigDict(
    extra="ignore", frozen=True, strict=True, alias_generator=lambda name: _AS_RUNTIMES_SAY.get(name, name)
)


class _Moment(RunBody):
    model_config = _CONFIG


class PreToolUse(CallBody, HeldBody):
    """A tool is about to be called."""

    model_config = _CONFIG


class PostToolUse(_Moment):
    """A tool has run. `request_id` names the request that the call belonged to, where the runtime knows it."""

    tool_name: Id
    tool_input: dict[str, Any] = Field(default={})
    tool_use_id: Id | None = None
    request_id: Id | None = None
    tool_response: Any = None
    duration_ms: float | None = Field(default=None, ge=0)


class PostToolUseFailure(_Moment):
    """A tool has failed, or was interrupted: then nobody knows how far it came."""

    tool_name: Id
    tool_input: dict[str, Any] = Field(default={})
    tool_use_id: Id | None = None
    request_id: Id | None = None
    error: str | None = None
    is_interrupt: bool = False
    duration_ms: float | None = Field(default=None, ge=0)


class UserPromptSubmit(_Moment):
    """A user has said something; neither the model nor the history has seen it."""

    prompt: str


class ModelRequestBody(BaseModel):
    """What is about to go to the model; further members are kept. A null provider or model is one that is not known."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    provider: str | None = ""
    model: str | None = ""
    system: str = ""
    messages: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    temperature: float | None = None
    thinking: str | None = None
    reasoning: str | None = None


class PreModelRequest(_Moment):
    """A request is about to go to the model."""

    request: ModelRequestBody


class SessionStart(_Moment):
    """A session begins; `source` is new or resumed (Claude Code's startup, resume, … are understood)."""

    source: str = "new"


class PreCompact(_Moment):
    """The history is about to be shortened."""

    trigger: str = ""


class Stop(_Moment):
    """The agent stops. `stop_hook_active`: it was sent back in this turn already."""

    stop_hook_active: bool = False
    last_assistant_message: str | None = None


class SubagentStop(_Moment):
    """A sub-agent stops."""

    stop_hook_active: bool = False
    last_assistant_message: str | None = None


class SessionEnd(_Moment):
    """A session ends."""

    reason: str = ""


BODIES = (
    SessionStart,
    UserPromptSubmit,
    PreModelRequest,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PreCompact,
    Stop,
    SubagentStop,
    SessionEnd,
)
