"""The wire's shapes, as Pydantic models: what is accepted is exactly this, and OpenAPI is made from it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from app.api.wire.request_view import RequestView, StandingView
from app.domain.request.elsewhere import LONGEST_ID, LONGEST_LINK, Elsewhere, checked_elsewhere

# No text here may hold NUL: PostgreSQL has none.
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Email = Annotated[str, Field(min_length=3, max_length=320, pattern=r"^[^\s@\x00]+@[^\s@\x00]+$")]
_Reason = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]
Folder = Annotated[str, Field(max_length=8192, pattern=r"^[^\x00]*$")]
Totp = Annotated[str, Field(pattern=r"^[0-9]{6}$")]
Prose = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]

_Plain = Annotated[str, Field(pattern=r"^[^\x00]*$")]
_EXACT = ConfigDict(extra="forbid", strict=True)
_Token = Annotated[str, Field(min_length=1, max_length=16_000, pattern=r"^[A-Za-z0-9_.=-]+$")]
_LARGEST_BAG = 16 * 1024


def _bounded(bag: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(bag)) > _LARGEST_BAG:
        raise ValueError(f"the bag of a turn may have {_LARGEST_BAG} bytes as JSON")
    return bag


Bag = Annotated[dict[str, Any], AfterValidator(_bounded)]
"""What hooks hand on from moment to moment of a turn: the caller keeps it and gives it back."""


class _Wire(BaseModel):
    """What comes in, and nothing else. Built when first met, for which no start waits."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _View(BaseModel):
    """An answer, for OpenAPI alone: what is sent is written without it."""

    model_config = ConfigDict(defer_build=True)


class RunBody(BaseModel):
    """Who acts, for whom and where: what is said with every moment of a run, under our names for it."""

    model_config = ConfigDict(defer_build=True)

    session: Id | None = None
    parent_session: Id | None = Field(default=None, description="the session that started this one, if there is one")
    parent_agent: Id | None = Field(default=None, description="whose it is, where several agents have one of the name")
    sub_agent: Id | None = Field(default=None, description="acts for the agent: its hooks and rules are added")
    requester: Email | None = Field(default=None, description="on whose behalf the agent acts; may not approve")
    cwd: Folder | None = Field(default=None, description="the agent's working directory")
    metadata: Bag = Field(default_factory=dict, description="the bag of the turn, as the last answer gave it")
    evaluation: bool = Field(default=False, description="an ask is answered without people; needs a key of that scope")


class HeldBody(BaseModel):
    """How a call is answered in one round trip: both doors for a call take it."""

    wait: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, description="seconds to hold the call until people have decided, 60 at most"
    )
    claim_id: Id | None = Field(
        default=None,
        description="spend the approval as soon as it is there; the id is yours: the same one gets the same answer",
    )


class LinkBody(TypedDict):
    """A link for the people who decide. It is shown as the agent's claim, and never fetched."""

    __pydantic_config__ = _EXACT  # pyright: ignore[reportGeneralTypeIssues] - pydantic's own way for a TypedDict

    kind: Literal["link"]
    url: Annotated[str, Field(description="https only, in ASCII")]
    title: NotRequired[_Plain]


class FileBody(TypedDict):
    """A file for the people who decide: a PDF, or a picture."""

    __pydantic_config__ = _EXACT  # pyright: ignore[reportGeneralTypeIssues] - as above

    kind: Literal["file"]
    name: _Plain
    media_type: Literal["application/pdf", "image/png", "image/jpeg"]
    content: Annotated[str, Field(description="base64")]


class CallBody(RunBody):
    """A call as every door takes it: each member is one of `app.domain.call.submission`, by the same name."""

    tool: Id
    arguments: dict[str, Any]
    call_id: Id | None = None
    claim: Prose | None = Field(default=None, description="the agent's own words for the approver, shown as such")
    host_event: str | None = Field(
        default=None, description="what the agent's program sent to its hook, as text; nothing is judged by it"
    )
    evidence: list[Annotated[LinkBody | FileBody, Field(discriminator="kind")]] = Field(
        default_factory=list,
        description="links and small files for the people who decide: 8 at most, shown as the agent's claims",
    )
    requester_token: _Token | None = Field(
        default=None,
        repr=False,
        description="the ID token of whom the agent acts for, or one exchanged for it: a proof",
    )
    can_route: bool = Field(default=False, description="the caller runs a call in the sandbox that `route` names")


class Submission(CallBody, HeldBody):
    """A tool call that is about to happen."""

    model_config = _Wire.model_config

    confirm: _Reason | None = Field(
        default=None, min_length=1, description="why the caller wants people asked even where the rules would allow"
    )


class Decision(_Wire):
    """An approver's verdict on exactly what `digest` names. The person is the one whose key it is.

    `withdraw` takes one's own vote back while the request waits, or one's approval until it is claimed, which revokes
    it. `approve` with `arguments` (all of them; a masked one stays as it is) changes the call: it then has another
    digest, and needs the approvals that the changed call needs.
    What an approval above L1 takes (`assurance` of the request) is `typed`, and from L3 on `totp` as well; both are
    ignored where the verdict is no approval.
    """

    verdict: Literal["approve", "deny", "withdraw"]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    reason: _Reason | None = None
    arguments: dict[str, Any] | None = None
    typed: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] | None = Field(
        default=None, description="the amount, or the request's code, as shown"
    )
    totp: Totp | None = Field(default=None, description="the six digits that the person's second factor shows now")


class ClaimBody(_Wire):
    """Spend the approval. `claim_id` is yours: the same one again gets the same answer."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    claim_id: Id


class ElsewhereBody(_Wire):
    """Where a call waits for the people of the service that carries it out: its id there, and where they find it."""

    id: Annotated[str, Field(min_length=1, max_length=LONGEST_ID, pattern=r"^[^\x00]*$")]
    link: Annotated[str, Field(max_length=LONGEST_LINK, pattern=r"^https?://[!-~]+$")] | None = None


class _Outcome(_Wire):
    """What both doors for an outcome take."""

    result: Any = None
    error: Prose | None = None
    elsewhere: ElsewhereBody | None = Field(default=None, description="with `pending_elsewhere`, and only with it")

    @property
    def place(self) -> Elsewhere | None:
        """Where it waits. Raises InvalidError."""
        return checked_elsewhere(self.elsewhere.id, self.elsewhere.link) if self.elsewhere else None

    @model_validator(mode="after")
    def _placed(self) -> Self:
        waits = getattr(self, "status", None) == "pending_elsewhere"
        if waits and (self.elsewhere is None or self.result is not None or self.error is not None):
            raise ValueError("what waits at the service has `elsewhere`, and neither result nor error yet")
        if self.elsewhere is not None and not waits:
            raise ValueError("`elsewhere` goes with the status pending_elsewhere")
        return self


class OutcomeBody(_Outcome):
    """What the tool did."""

    claim_id: Id
    status: Literal["succeeded", "failed", "unknown", "pending_elsewhere"]


class ReconcileBody(_Outcome):
    """What really became of a call whose outcome is unknown, or that waits at the service."""

    status: Literal["succeeded", "failed", "pending_elsewhere"]
    note: Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$", description="on what evidence")]


class ReadOnlyBody(_Wire):
    """Switch an org, or one of its agents, to read-only or back."""

    on: bool
    agent: Id | None = Field(default=None, description="only this agent; the whole org if left out")
    reason: _Reason | None = None


class PayeeBody(_Wire):
    """A payee to be known, with one account or without."""

    name: Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00]*$")]
    account: Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00]*$")] | None = None


class CancelBody(_Wire):
    """Withdraw a pending request."""

    reason: _Reason | None = None


class NothingBody(_Wire):
    """An empty object."""


class NewKeyBody(_Wire):
    """A key to be made."""

    scope: Literal["agent", "evaluation", "approver", "auditor", "admin"]
    label: Id
    agent: Id | None = None
    person: Email | None = None
    lives_for_days: Annotated[int, Field(ge=1, le=3650)] | None = None


# --- answers ----------------------------------------------------------------------------------------------------------


class ReviewLinkView(_View):
    """A link to the page of a request: works once, until `expires_at`."""

    url: str
    expires_at: str


class RouteView(_View):
    """The sandbox in which the call is to run instead."""

    provider: str
    command: str | None
    options: Any


class ClaimView(TypedDict):
    """What may now run, once.

    `grant_id` is the idempotency key for the tool; run `arguments`, not what you remember. `epoch` counts the restores
    of the database that were declared: whoever has seen a higher one speaks to a copy of the past, and runs nothing.
    """

    grant_id: str
    execution_id: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    lease_until: str
    epoch: int


class AnswerView(_View):
    """The answer to a call: `ask` comes with the request and status 202. Members without content are left out.

    Where the caller waits or names a `claim_id`: `claimed` comes with the request and what may now run, `deny` with the
    request where people were asked, `ask` where the time was up (or where there is no `claim_id`, and it is approved).
    `hook` denied it; `arguments` are to run instead of those submitted; `context` is for the model; `hidden`: keep the
    output from display; `metadata` goes into the next moment's body, `tags` is what was set in it just now.
    """

    decision: Literal["allow", "deny", "ask", "claimed"]
    rule: str | None = None
    hook: str | None = None
    reason: str | None = None
    message: str | None = None
    attached: bool | None = None
    request: RequestView | StandingView | None = None
    claimed: ClaimView | None = None
    arguments: dict[str, Any] | None = None
    context: list[str] | None = None
    hidden: bool | None = None
    route: RouteView | None = None
    metadata: Any = None
    tags: Any = None


class SettledView(_View):
    """What the report of a finished call did: `changed` says whether this one settled the execution."""

    request: str | None
    state: str | None
    changed: bool
    note: str


class MomentView(_View):
    """The answer to a moment that is about no call to come. Members without content are left out.

    `message` is for the model or, at UserPromptSubmit, for the user; `prompt`, `request` and `result` stand in the
    place of what was sent; `settled` tells what became of the request that a finished call belonged to.
    """

    decision: Literal["allow", "deny"]
    hook: str | None = None
    reason: str | None = None
    message: str | None = None
    prompt: str | None = None
    request: dict[str, Any] | None = None
    result: Any = None
    context: list[str] | None = None
    hidden: bool | None = None
    send_back: str | None = None
    metadata: Any = None
    tags: Any = None
    settled: SettledView | None = None


class SwitchView(_View):
    """A switch as it stands. `agent`, `tool` null: all of them. `warning`: nothing names the agent, or the tool."""

    name: str
    agent: str | None
    tool: str | None = None
    on: bool
    reason: str | None
    set_by: str
    set_at: str
    warning: str | None = None


class SwitchesView(_View):
    """Every switch that was ever touched."""

    items: list[SwitchView]


class PayeeView(_View):
    """A payee whom people have put in. `account`: its last characters; null: without one."""

    name: str
    account: str | None
    set_by: str
    set_at: str


class PayeesView(_View):
    """The register, by name."""

    items: list[PayeeView]


class PageView(_View):
    """A page of requests, newest first."""

    items: list[RequestView]
    next_cursor: str | None


class ProblemView(_View):
    """What is wrong (RFC 9457). `code` is stable; `path` names the fault in the body, where there is one.

    `request_id` is the request that was opened or found for the call, where the fault came behind that.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    path: str | None = None
    request_id: str | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": "A problem document.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemView"}}},
    }
    for status in (401, 403, 404, 408, 409, 413, 422, 429, 503)
}
"""What any route may answer besides its own."""
