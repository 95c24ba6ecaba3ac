"""The agent's door: submit, read and wait, list, cancel, claim, report; and the approver's verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from app.api import schemas
from app.api.bodies import answer, read_model
from app.api.plain_route import PlainRoute
from app.api.queries import ListQuery, cursor_behind, number_of, parameter
from app.api.views import view_request
from app.domain.canonical import canonical
from app.domain.decision import Verdict
from app.domain.errors import InvalidError, NotFoundError
from app.domain.request import ExecutionStatus
from app.storage.api_keys import ApiKey, Scope
from app.usecases.claim import Caller
from app.usecases.submit import Answered, Submission

if TYPE_CHECKING:
    from app.api.surface import Surface
    from app.domain.request import ConfirmationRequest

LONGEST_WAIT = 60.0
"""Seconds for which one call is held at most; callers ask again."""

_WAIT_PARAMETERS = [
    parameter("wait", "number", "seconds to hold, 60 at most"),
    parameter("since", "integer", "hold until the version is above this"),
]
_LIST_PARAMETERS = [
    parameter("status", "string"),
    parameter("state", "string"),
    parameter("agent", "string"),
    parameter("session", "string"),
    parameter("open", "boolean", "only requests that are still owed something"),
    parameter("limit", "integer", "items, 200 at most"),
    parameter("cursor", "string", "`next_cursor` of the page before"),
]


def requests_router(c: Surface) -> APIRouter:  # noqa: C901, PLR0915 - a router is a list of short routes
    """Build the routes under /v1."""
    router = APIRouter(tags=["requests"], route_class=PlainRoute)

    def shown(request: ConfirmationRequest, key: ApiKey) -> dict[str, object]:
        return view_request(request, c.read.tally(request), whole=key.scope is Scope.AGENT)

    async def submit(submission: Submission, key: ApiKey) -> Response:
        asked = await c.submit(submission)
        if isinstance(asked, Answered):
            verdict = "allow" if asked.allowed else "deny"
            return answer(
                {"decision": verdict, "rule": asked.rule_id, "reason": asked.reason, "message": _for_model(asked)}
            )
        body: dict[str, object] = {"decision": "ask", "attached": asked.attached, "request": shown(asked.request, key)}
        return answer(body, 202)

    @router.post("/v1/requests", **_takes(schemas.Submission, schemas.AnswerView, 202))
    async def create(request: Request) -> Response:
        """Submit a tool call: allowed or denied at once, or held as a request (202) until people have answered."""
        key = await c.access(request, Scope.AGENT)
        body = await read_model(request, schemas.Submission)
        return await submit(_submission(key, body, request.headers.get("idempotency-key")), key)

    @router.post("/v1/hooks/{event}", **_takes(schemas.PreToolUse, schemas.AnswerView, 202))
    async def hook(event: str, request: Request) -> Response:
        """Report a moment of an agent's run. PreToolUse answers like POST /v1/requests."""
        key = await c.access(request, Scope.AGENT)
        if event != "PreToolUse":
            raise NotFoundError(f"there is no hook for {event!r} here")
        body = await read_model(request, schemas.PreToolUse)
        same = schemas.Submission(
            tool=body.tool_name,
            arguments=body.tool_input,
            session=body.session_id,
            call_id=body.tool_use_id,
            requester=body.user,
            claim=body.claim,
        )
        return await submit(_submission(key, same, request.headers.get("idempotency-key")), key)

    @router.get("/v1/requests", **_asks(_LIST_PARAMETERS, schemas.PageView))
    async def page(request: Request) -> Response:
        """List requests, newest first. An agent sees its own; everyone else sees the org's."""
        key = await c.access(request, *Scope)
        query = ListQuery.parse(request)
        if key.scope is Scope.AGENT:
            query.filters["agent"] = str(key.agent)
        found = await c.read.page(
            key.org, filters=query.filters, only_open=query.only_open, before=query.before, most=query.most
        )
        following = cursor_behind(found[-1]) if len(found) == query.most else None
        return answer({"items": [shown(each, key) for each in found], "next_cursor": following})

    @router.get("/v1/requests/{request_id}", **_asks(_WAIT_PARAMETERS, schemas.RequestView))
    async def read(request_id: str, request: Request) -> Response:
        """Read a request, or hold up to `wait` seconds until it is settled (or its version is above `since`)."""
        key = await c.access(request, *Scope)
        seconds = number_of(request, "wait", most=LONGEST_WAIT)
        if not seconds:
            return answer(shown(await c.read.get(key.org, request_id, agent=key.agent), key))
        since = number_of(request, "since", most=2**31)
        found = await c.wait(
            org=key.org,
            request_id=request_id,
            agent=key.agent,
            seconds=seconds,
            since=None if since is None else int(since),
        )
        return answer(shown(found, key))

    @router.post("/v1/requests/{request_id}/decisions", **_takes(schemas.Decision, schemas.RequestView))
    async def decide(request_id: str, request: Request) -> Response:
        """Decide, as the person whose key this is."""
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, schemas.Decision)
        if body.verdict == "deny" and not (body.reason or "").strip():
            raise InvalidError("a denial needs a reason: the agent is told it", path="reason")
        found = await c.decide(
            org=key.org,
            request_id=request_id,
            person=str(key.person),
            verdict=Verdict(body.verdict),
            reason=body.reason,
            digest=body.digest,
        )
        return answer(shown(found, key))

    @router.post("/v1/requests/{request_id}/cancel", **_takes(schemas.CancelBody, schemas.RequestView))
    async def cancel(request_id: str, request: Request) -> Response:
        """Withdraw a pending request."""
        key = await c.access(request, Scope.AGENT, Scope.ADMIN)
        body = await read_model(request, schemas.CancelBody)
        by = f"agent:{key.agent}" if key.agent else f"key:{key.id}"
        found = await c.cancel(org=key.org, request_id=request_id, agent=key.agent, by=by, reason=body.reason)
        return answer(shown(found, key))

    @router.post("/v1/requests/{request_id}/claim", **_takes(schemas.ClaimBody, schemas.ClaimView))
    async def claim(request_id: str, request: Request) -> Response:
        """Spend the approval, once; the answer has the stored arguments and the tool's idempotency key."""
        key = await c.access(request, Scope.AGENT)
        body = await read_model(request, schemas.ClaimBody)
        caller = Caller(org=key.org, agent=str(key.agent))
        found = await c.claim(caller, request_id=request_id, digest=body.digest, claim_id=body.claim_id)
        return answer(_claimed(found))

    @router.post("/v1/requests/{request_id}/outcome", **_takes(schemas.OutcomeBody, schemas.RequestView))
    async def outcome(request_id: str, request: Request) -> Response:
        """Report what the tool did. `unknown` if you cannot say: it is then reconciled, never run again."""
        key = await c.access(request, Scope.AGENT)
        body = await read_model(request, schemas.OutcomeBody)
        found = await c.report(
            Caller(org=key.org, agent=str(key.agent)),
            request_id=request_id,
            claim_id=body.claim_id,
            status=ExecutionStatus(body.status),
            result=canonical(body.result).decode() if body.result is not None else None,
            error=body.error,
        )
        return answer(shown(found, key))

    return router


def _takes(body: type[Any], back: type[Any], *more: int) -> dict[str, Any]:
    """Describe a route that reads its own body (strictly) to OpenAPI."""
    schema = {"schema": {"$ref": f"#/components/schemas/{body.__name__}"}}
    content: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/json": schema}}}
    return {"openapi_extra": content, "responses": _answers(back, *more)}


def _asks(parameters: list[dict[str, Any]], back: type[Any]) -> dict[str, Any]:
    """Describe a route that reads its own query."""
    return {"openapi_extra": {"parameters": parameters}, "responses": _answers(back)}


def _answers(back: type[Any], *more: int) -> dict[int | str, dict[str, Any]]:
    good = {status: {"model": back} for status in (200, *more)}
    return {**good, **schemas.PROBLEMS}


def _submission(key: ApiKey, body: schemas.Submission, idempotency_key: str | None) -> Submission:
    if idempotency_key is not None and not (1 <= len(idempotency_key) <= 200 and idempotency_key.isprintable()):
        raise InvalidError("an Idempotency-Key has 1 to 200 printable characters", path="header.idempotency-key")
    return Submission(
        org=key.org,
        agent=str(key.agent),
        owner=key.person,
        tool=body.tool,
        arguments=body.arguments,
        session=body.session,
        call_id=body.call_id,
        requester=body.requester,
        claim=body.claim,
        idempotency_key=idempotency_key,
    )


def _for_model(answered: Answered) -> str:
    if answered.allowed:
        return f"Allowed by rule {answered.rule_id}."
    return (
        f"Denied by rule {answered.rule_id}: {answered.reason} It did not run. "
        "Do not retry it, rephrase it, or try to reach the same end another way."
    )


def _claimed(request: ConfirmationRequest) -> dict[str, object]:
    grant, execution = request.grant, request.execution
    if grant is None or execution is None:
        raise ValueError("a claim without grant or execution")
    return {
        "grant_id": grant.id,
        "execution_id": execution.id,
        "tool": request.call.tool,
        "arguments": dict(request.call.arguments),
        "digest": request.digest,
        "lease_until": execution.lease_until.isoformat(),
    }
