"""The moments of an agent's run as runtimes report them: Claude Code's names for what it has, and ours besides.

Members that we do not know are ignored: runtimes add some.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.api.wire.schemas import Bag, Email, Folder, Id, Prose


class _Moment(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    session_id: Id | None = None
    parent_session_id: Id | None = Field(default=None, description="the session that started this one")
    parent_agent: Id | None = Field(default=None, description="whose it is, where several agents have one of the name")
    sub_agent: Id | None = Field(default=None, description="acts for the agent: its hooks and rules are added")
    user: Email | None = Field(default=None, description="on whose behalf the agent acts")
    cwd: Folder | None = None
    metadata: Bag = Field(default_factory=dict, description="the bag of the turn, as the last answer gave it")
    evaluation: bool = Field(default=False, description="an evaluation run; needs a key of that scope")


class PreToolUse(_Moment):
    """A tool is about to be called."""

    tool_name: Id
    tool_input: dict[str, Any]
    tool_use_id: Id | None = None
    claim: Prose | None = Field(default=None, description="the agent's own words for the approver, shown as such")
    can_route: bool = Field(default=False, description="the runtime runs a call in the sandbox that `route` names")


class PostToolUse(_Moment):
    """A tool has run. `request_id` names the request that the call belonged to, where the runtime knows it."""

    tool_name: Id
    tool_input: dict[str, Any] = {}
    tool_use_id: Id | None = None
    request_id: Id | None = None
    tool_response: Any = None
    duration_ms: float | None = Field(default=None, ge=0)


class PostToolUseFailure(_Moment):
    """A tool has failed, or was interrupted: then nobody knows how far it came."""

    tool_name: Id
    tool_input: dict[str, Any] = {}
    tool_use_id: Id | None = None
    request_id: Id | None = None
    error: str | None = None
    is_interrupt: bool = False
    duration_ms: float | None = Field(default=None, ge=0)


class UserPromptSubmit(_Moment):
    """A user has said something; neither the model nor the history has seen it."""

    prompt: str


class ModelRequestBody(BaseModel):
    """What is about to go to the model; further members are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    model: str = ""
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
