"""The wire's shapes, as Pydantic models: what is accepted is exactly this, and OpenAPI is made from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# No text here may hold NUL: PostgreSQL has none.
_Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
_Email = Annotated[str, Field(min_length=3, max_length=320, pattern=r"^[^\s@\x00]+@[^\s@\x00]+$")]
_Reason = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]
_Prose = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Submission(_Wire):
    """A tool call that is about to happen."""

    tool: _Id
    arguments: dict[str, Any]
    session: _Id | None = None
    call_id: _Id | None = None
    requester: _Email | None = Field(default=None, description="on whose behalf the agent acts; may not approve")
    claim: _Prose | None = Field(default=None, description="the agent's own words for the approver, shown as such")


class PreToolUse(BaseModel):
    """The PreToolUse moment as agent runtimes report it. Members that we do not know are ignored: runtimes add some."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    tool_name: _Id
    tool_input: dict[str, Any]
    session_id: _Id | None = None
    tool_use_id: _Id | None = None
    user: _Email | None = None
    claim: _Prose | None = None


class Verdict(StrEnum):
    """What an approver says."""

    APPROVE = "approve"
    DENY = "deny"


class Decision(_Wire):
    """An approver's verdict on exactly what `digest` names. The person is the one whose key it is."""

    verdict: Literal["approve", "deny"]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    reason: _Reason | None = None


class ClaimBody(_Wire):
    """Spend the approval. `claim_id` is yours: the same one again gets the same answer."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    claim_id: _Id


class OutcomeBody(_Wire):
    """What the tool did."""

    claim_id: _Id
    status: Literal["succeeded", "failed", "unknown"]
    result: Any = None
    error: _Prose | None = None


class CancelBody(_Wire):
    """Withdraw a pending request."""

    reason: _Reason | None = None


class NewKeyBody(_Wire):
    """A key to be made."""

    scope: Literal["agent", "approver", "auditor", "admin"]
    label: _Id
    agent: _Id | None = None
    person: _Email | None = None
    lives_for_days: Annotated[int, Field(ge=1, le=3650)] | None = None


# --- answers ----------------------------------------------------------------------------------------------------------


class StageView(BaseModel):
    """How far one stage has come."""

    of: list[str]
    need: int
    have: int


class DecisionView(BaseModel):
    """Who said what, and through which door."""

    person: str
    verdict: str
    reason: str | None
    channel: str
    at: str


class RequestView(BaseModel):
    """A request as it stands. `message` is what the model should be told."""

    id: str
    state: str
    status: str
    version: int
    agent: str
    session: str | None
    call_id: str | None
    requester: str | None
    tool: str
    title: str
    arguments: dict[str, Any]
    digest: str
    call_digest: str
    code: str
    rule: str | None
    reason: str
    policy_version: str
    channels: list[str]
    created_at: str
    expires_at: str
    stages: list[StageView]
    decisions: list[DecisionView]
    settled: dict[str, Any] | None
    grant: dict[str, Any] | None
    execution: dict[str, Any] | None
    predecessor: str | None
    message: str


class AnswerView(BaseModel):
    """The answer to a call: `ask` comes with the request and status 202."""

    decision: Literal["allow", "deny", "ask"]
    rule: str | None = None
    reason: str | None = None
    message: str | None = None
    attached: bool | None = None
    request: RequestView | None = None


class ClaimView(BaseModel):
    """What may now run, once.

    `grant_id` is the idempotency key for the tool; run `arguments`, not what you remember.
    """

    grant_id: str
    execution_id: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    lease_until: str


class PageView(BaseModel):
    """A page of requests, newest first."""

    items: list[RequestView]
    next_cursor: str | None


class ProblemView(BaseModel):
    """What is wrong (RFC 9457). `code` is stable; `path` names the fault in the body, where there is one."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    path: str | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": "A problem document.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemView"}}},
    }
    for status in (401, 403, 404, 408, 409, 413, 422, 429, 503)
}
"""What any route may answer besides its own."""
