"""The gateway's words as values: a request and its parts, and the closed set of answers to a check.

`parse_*` turns the gateway's JSON into these and raises `UnexpectedAnswerError` for anything that does not fit; keys
that this version does not know are ignored, states that it does not know are refused (an unknown state must never read
as approved).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias, cast

from assent.client.errors import UnexpectedAnswerError

Json: TypeAlias = dict[str, Any]
EXECUTORS = "exec."
"""How the claim ids of executors begin."""


class State(StrEnum):
    """Where a request stands, as people speak of it (derived from request, grant and execution)."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    PENDING_ELSEWHERE = "pending_elsewhere"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNDELIVERABLE = "undeliverable"
    LAPSED = "lapsed"


class OutcomeStatus(StrEnum):
    """What became of an execution, as its agent reports it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    PENDING_ELSEWHERE = "pending_elsewhere"
    """The service that carries it out asks its own people: not refused, not to be repeated, settled by their answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Where a call waits for the people of the service that carries it out: its id there, and where they find it."""

    id: str
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One use of an approval: started by a claim, ended by a report."""

    id: str
    status: str
    claim_id: str
    started_at: datetime
    lease_until: datetime
    elsewhere: Elsewhere | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an approver wants to know before they decide; `answer` is None as long as there is none."""

    id: str
    text: str
    asked_at: datetime
    answer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A durable question to people. `arguments` are the stored ones; `message` is the gateway's word to the model."""

    id: str
    state: State
    version: int
    session: str | None
    call_id: str | None
    tool: str
    title: str
    arguments: Json
    digest: str
    code: str | None
    rule: str | None
    reason: str | None
    created_at: datetime
    expires_at: datetime
    settled_reason: str | None
    execution: Execution | None
    message: str
    questions: tuple[Question, ...] = ()
    """What approvers asked back, in order."""
    raw: Json
    """The whole answer, for fields that this version does not name (stages, decisions, grant, …)."""
    proposed: Json | None = None
    """What the agent asked for, where people changed it; `message` then says what they changed."""
    edited_by: str | None = None
    """Who changed it last."""
    warnings: tuple[str, ...] = ()
    """What its approvers are warned of, a sentence each."""
    enforced: bool = False
    """Only an executor runs it: the agent's side waits for the outcome, and claims nothing."""

    @property
    def changes(self) -> str | None:
        """The gateway's word to the model about what people changed; None where the call is as it was asked."""
        return None if self.proposed is None or self.proposed == self.arguments else self.message

    @property
    def result(self) -> Any:
        """What the tool returned, where it ran and said so."""
        return parse_object(self.raw.get("execution") or {}, "'execution'").get("result")

    @property
    def error(self) -> str | None:
        """What went wrong, where it ran and failed."""
        return _text_or_none(parse_object(self.raw.get("execution") or {}, "'execution'"), "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The call may run at once; nobody has to be asked. `arguments`, where given, are to run instead of those asked."""

    rule: str | None
    reason: str
    message: str
    arguments: Json | None = None
    """What the gateway's hooks made of the call; None: it stands as it was asked."""
    context: tuple[str, ...] = ()
    """What the model is to be told besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """A rule, or the guard `hook`, forbids the call. `message` is the gateway's word to the model."""

    rule: str | None
    reason: str
    message: str
    hook: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """People are asked (or were: a call that joined a standing request, `attached`, may find it settled)."""

    request: Request
    attached: bool


Verdict: TypeAlias = Allowed | Denied | Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The single use of an approval. Run the tool with these `arguments`, and give it `grant_id` as idempotency key."""

    request_id: str
    claim_id: str
    grant_id: str
    execution_id: str
    tool: str
    arguments: Json
    digest: str
    lease_until: datetime
    epoch: int = 0
    """How often the gateway's database was restored from a backup, as far as was declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """People approved the call, or a rule did, and this is the single use of it: run the tool with `claimed`, once."""

    request: Request
    claimed: Claimed
    attached: bool
    message: str
    """The gateway's word to the model: what people changed, where they did."""

    @property
    def changes(self) -> str | None:
        """`message`, where people changed the call; None where it is as it was asked."""
        return None if self.request.changes is None else self.message


def _text(body: Json, key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise UnexpectedAnswerError(f"the gateway's answer has no text in '{key}'")
    return value


def _text_or_none(body: Json, key: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise UnexpectedAnswerError(f"the gateway's answer has no text in '{key}'")
    return value


def parse_object(value: object, where: str) -> Json:
    """The value as a JSON object; raises `UnexpectedAnswerError` naming `where` when it is none."""
    if not isinstance(value, dict):
        raise UnexpectedAnswerError(f"the gateway's answer has no object in {where}")
    return cast("Json", value)  # decoded JSON: the keys of an object are strings


def _instant(body: Json, key: str) -> datetime:
    try:
        value = datetime.fromisoformat(_text(body, key))
    except ValueError:
        raise UnexpectedAnswerError(f"the gateway's answer has no instant in '{key}'") from None
    if value.tzinfo is None:
        raise UnexpectedAnswerError(f"the gateway's answer has an instant without a zone in '{key}'")
    return value


def parse_request(value: object) -> Request:
    """A `Request` from the gateway's JSON."""
    body = parse_object(value, "request")
    settled = parse_object(body.get("settled") or {}, "'settled'")
    execution = body.get("execution")
    version = body.get("version")
    try:
        state = State(_text(body, "state"))
    except ValueError:
        raise UnexpectedAnswerError(
            f"the gateway speaks of the state {body.get('state')!r}, unknown to this version"
        ) from None
    if not isinstance(version, int) or isinstance(version, bool):
        raise UnexpectedAnswerError("the gateway's answer has no number in 'version'")
    return Request(
        id=_text(body, "id"),
        state=state,
        version=version,
        session=_text_or_none(body, "session"),
        call_id=_text_or_none(body, "call_id"),
        tool=_text(body, "tool"),
        title=_text_or_none(body, "title") or "",
        arguments=parse_object(body.get("arguments"), "'arguments'"),
        digest=_text(body, "digest"),
        code=_text_or_none(body, "code"),
        rule=_text_or_none(body, "rule"),
        reason=_text_or_none(body, "reason"),
        created_at=_instant(body, "created_at"),
        expires_at=_instant(body, "expires_at"),
        settled_reason=_text_or_none(settled, "reason"),
        execution=None if execution is None else _parse_execution(parse_object(execution, "'execution'")),
        message=_text_or_none(body, "message") or "",
        questions=_parse_questions(body.get("questions")),
        raw=body,
        proposed=None if (asked := body.get("proposed")) is None else parse_object(asked, "'proposed'"),
        edited_by=_text_or_none(body, "edited_by"),
        warnings=tuple(_text(parse_object(each, "'warnings'"), "text") for each in body.get("warnings") or ()),
        enforced=body.get("enforced") is True,
    )


def parse_page(body: Json) -> list[Request]:
    """The requests of one page."""
    items = body.get("items")
    if not isinstance(items, list):
        raise UnexpectedAnswerError("the gateway's answer has no list in 'items'")
    return [parse_request(item) for item in cast("list[object]", items)]  # decoded JSON


def _parse_questions(value: object) -> tuple[Question, ...]:
    if value is not None and not isinstance(value, list):
        raise UnexpectedAnswerError("the gateway's answer has no list in 'questions'")
    each = [parse_object(item, "'questions'") for item in cast("list[object]", value or [])]  # decoded JSON
    return tuple(
        Question(
            id=_text(body, "id"),
            text=_text(body, "text"),
            asked_at=_instant(body, "at"),
            answer=_text_or_none(body, "answer"),
        )
        for body in each
    )


def _parse_execution(body: Json) -> Execution:
    return Execution(
        id=_text(body, "id"),
        status=_text(body, "status"),
        claim_id=_text(body, "claim_id"),
        started_at=_instant(body, "started_at"),
        lease_until=_instant(body, "lease_until"),
        elsewhere=_parse_elsewhere(body.get("elsewhere")),
    )


def _parse_elsewhere(value: object) -> Elsewhere | None:
    if value is None:
        return None
    body = parse_object(value, "'elsewhere'")
    return Elsewhere(id=_text(body, "id"), link=_text_or_none(body, "link"))


def _parse_context(value: object) -> tuple[str, ...]:
    texts = cast("list[object]", value) if isinstance(value, list) else []  # decoded JSON
    if value is not None and (not isinstance(value, list) or not all(isinstance(text, str) for text in texts)):
        raise UnexpectedAnswerError("the gateway's answer has no list of texts in 'context'")
    return tuple(str(text) for text in texts)


def parse_verdict(body: Json) -> Verdict:
    """The answer to a check: allow, deny or ask; anything else is refused.

    So is a call that may only run in a sandbox: whoever asked did not say that it has one.
    """
    if body.get("route") is not None:
        raise UnexpectedAnswerError("the gateway wants the call in a sandbox, which this client did not offer")
    match body.get("decision"):
        case "allow":
            return Allowed(
                rule=_text_or_none(body, "rule"),
                reason=_text_or_none(body, "reason") or "",
                message=_text_or_none(body, "message") or "",
                arguments=None if (given := body.get("arguments")) is None else parse_object(given, "'arguments'"),
                context=_parse_context(body.get("context")),
            )
        case "deny" if body.get("request") is not None:  # people were asked: their request says how it ended
            return Pending(request=parse_request(body["request"]), attached=body.get("attached") is True)
        case "deny":
            return Denied(
                rule=_text_or_none(body, "rule"),
                reason=_text_or_none(body, "reason") or "",
                message=_text_or_none(body, "message") or "",
                hook=_text_or_none(body, "hook"),
            )
        case "ask":
            return Pending(request=parse_request(body.get("request")), attached=body.get("attached") is True)
        case other:
            raise UnexpectedAnswerError(f"the gateway decided {other!r}, unknown to this version")


def parse_return(body: Json, *, claim_id: str) -> Taken | Request:
    """The answer to whoever comes back with a claim id: what was taken, or the request as it stands.

    A gateway from before there was such an answer shows the request.
    """
    match body.get("decision"):
        case "claimed":
            return parse_taken(body, claim_id=claim_id)
        case "ask" | "deny":
            return parse_request(body.get("request"))
        case None:
            return parse_request(body)
        case other:
            raise UnexpectedAnswerError(f"the gateway decided {other!r}, unknown to this version")


def parse_taken(body: Json, *, claim_id: str) -> Taken:
    """The answer to a call that was approved and claimed at once."""
    request = parse_request(body.get("request"))
    claimed = parse_claimed(parse_object(body.get("claimed"), "'claimed'"), request_id=request.id, claim_id=claim_id)
    if (claimed.tool, claimed.digest) != (request.tool, request.digest):
        raise UnexpectedAnswerError("the gateway handed out another call than the one that was approved")
    return Taken(
        request=request,
        claimed=claimed,
        attached=body.get("attached") is True,
        message=_text_or_none(body, "message") or "",
    )


def parse_claimed(body: Json, *, request_id: str, claim_id: str) -> Claimed:
    """The answer to a claim."""
    epoch = body.get("epoch", 0)
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise UnexpectedAnswerError("the gateway's answer has no number in 'epoch'")
    return Claimed(
        request_id=request_id,
        claim_id=claim_id,
        grant_id=_text(body, "grant_id"),
        execution_id=_text(body, "execution_id"),
        tool=_text(body, "tool"),
        arguments=parse_object(body.get("arguments"), "'arguments'"),
        digest=_text(body, "digest"),
        lease_until=_instant(body, "lease_until"),
        epoch=epoch,
    )
