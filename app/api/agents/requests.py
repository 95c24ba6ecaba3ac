"""The agent's door: submit, read and wait, list, cancel, claim, report; and the approver's verdict."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.api.agents.one_call import LONGEST_WAIT, Held, answer_held, answer_return, answer_waited, judge_held
from app.api.wire import schemas
from app.api.wire.bodies import answer, is_gone, read_model
from app.api.wire.operations import PREFER, asks, changes, takes
from app.api.wire.queries import (
    PAGE_PARAMETERS,
    ListQuery,
    cursor_behind,
    number_of,
    parameter,
    parse_key_alone,
    version_of,
)
from app.api.wire.request_view import RequestView, StandingView
from app.api.wire.routes import Request, Response, Router
from app.api.wire.verdicts import (
    access_to,
    answer_call,
    answer_changed,
    caller_of,
    submitted,
    view_all,
    view_claimed,
    view_shown,
    with_event,
)
from app.domain.errors import InvalidError
from app.domain.identity.api_key import AGENTS, ApiKey, Scope
from app.domain.request.decision import Verdict
from app.domain.request.request import ExecutionStatus
from app.domain.text.canonical import canonical
from app.domain.text.visible import is_blank
from app.usecases.proving.proof import Given

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.domain.request.request import ConfirmationRequest

_WAIT_PARAMETERS = [
    parameter("wait", "number", "seconds to hold, 60 at most"),
    parameter("since", "integer", "hold until the version is above this"),
    parameter("claim_id", "string", "spend the approval as soon as it is there: the answer is that to a call"),
    PREFER,
]
_WAITED = RequestView | StandingView | schemas.AnswerView
_LIST_PARAMETERS = [
    parameter("status", "string"),
    parameter("state", "string"),
    parameter("agent", "string"),
    parameter("session", "string"),
    parameter("open", "boolean", "only requests that are still owed something"),
    parameter(
        "idempotency_key", "string", "an agent's: only the request that it made or met under this key; by itself"
    ),
    *PAGE_PARAMETERS,
]


def requests_router(c: Services) -> Router:  # noqa: C901 - a router is a list of short routes
    """Build the routes under /v1."""
    router = Router(tags=["requests"], strict=True)

    async def shown(request: ConfirmationRequest, key: ApiKey) -> RequestView:
        return await view_shown(c, key, request)

    @router.post("/v1/requests", **takes(schemas.Submission, schemas.AnswerView, 202))
    async def create(request: Request) -> Response:
        """Submit a tool call: allowed or denied at once, or held as a request (202) until people have answered.

        The hooks of PreToolUse judge it first, as they do every call. With `wait` the call is held until they have, and
        with `claim_id` the approval is spent for the caller: one call for all of it, and one for the outcome.
        """
        key = await c.access(request, *AGENTS)
        body = await read_model(request, schemas.Submission, most=c.max_call_bytes)
        if body.wait is None and body.claim_id is None:
            return await answer_call(c, key, submitted(key, body, request))
        held = Held.of(body)
        standing = await judge_held(c, key, submitted(key, body, request), held)
        del body  # whoever waits keeps nothing of the call
        return standing if isinstance(standing, Response) else await answer_held(c, key, request, standing, held)

    @router.get("/v1/requests", **asks(_LIST_PARAMETERS, schemas.PageView))
    async def page(request: Request) -> Response:
        """List requests, newest first. An agent sees its own; everyone else sees the org's.

        An executor sees those that are open and that executors run.
        """
        key = await c.access(request, *Scope)
        return await _listed(c, key, request)

    @router.get(
        "/v1/requests/{request_id}",
        **asks(_WAIT_PARAMETERS, _WAITED, 202),
    )
    async def read(request_id: str, request: Request) -> Response:
        """Read a request, or hold up to `wait` seconds until it is settled (or its version is above `since`).

        With `claim_id`, an agent or an executor that comes back gets the answer that its call would have got. Who waits
        and prefers `return=minimal` is told all of a request when there is something new to be told.
        """
        key = await c.access(request, *Scope)
        if "claim_id" in request.query_params:
            return await answer_return(c, key, request, request_id)
        seconds = number_of(request, "wait", most=LONGEST_WAIT)
        since = version_of(request)
        runs = key.runs if key.scope is Scope.EXECUTOR else None
        if not seconds:
            found = await c.read.get(key.org, request_id, agent=key.agent, runs=runs)
            return answer(with_event(await shown(found, key), key, found))
        found = await c.wait(
            org=key.org,
            request_id=request_id,
            agent=key.agent,
            runs=runs,
            seconds=seconds,
            since=since,
            who=key.id,
            gone=partial(is_gone, request) if key.scope in AGENTS else None,
        )
        return await answer_waited(c, key, request, found, since=since)

    @router.post("/v1/requests/{request_id}/decisions", **changes(schemas.Decision))
    async def decide(request_id: str, request: Request) -> Response:
        """Decide, or take one's vote back, as the person whose key this is.

        With `arguments`, approve with changes: they are judged like a new call, and need the approvals that it needs.
        """
        key = await c.access(request, Scope.APPROVER)
        body = await read_model(request, schemas.Decision, most=c.max_call_bytes)
        return await answer_changed(c, key, request, await _decided(c, key, request_id, body))

    @router.post("/v1/requests/{request_id}/cancel", **changes(schemas.CancelBody))
    async def cancel(request_id: str, request: Request) -> Response:
        """Withdraw a pending request."""
        key = await access_to(c, request, request_id, *AGENTS, Scope.ADMIN)
        body = await read_model(request, schemas.CancelBody)
        by = f"agent:{key.agent}" if key.agent else f"key:{key.id}"
        found = await c.cancel(org=key.org, request_id=request_id, agent=key.agent, by=by, reason=body.reason)
        return await answer_changed(c, key, request, found)

    @router.post("/v1/requests/{request_id}/claim", **takes(schemas.ClaimBody, schemas.ClaimView))
    async def claim(request_id: str, request: Request) -> Response:
        """Spend the approval, once; the answer has the stored arguments and the tool's idempotency key.

        What only an executor may run (`enforced`) takes an executor's key; an agent waits for the outcome (403).

        While read-only is on, what writes is refused (409 `read_only`), and while it is paused, everything is (409
        `paused`); the approval is not spent.
        """
        key = await access_to(c, request, request_id, *AGENTS, Scope.EXECUTOR)
        body = await read_model(request, schemas.ClaimBody)
        taken = await c.claim.take(caller_of(key), request_id=request_id, digest=body.digest, claim_id=body.claim_id)
        return answer(view_claimed(taken))

    @router.post("/v1/requests/{request_id}/outcome", **changes(schemas.OutcomeBody))
    async def outcome(request_id: str, request: Request) -> Response:
        """Report what the tool did. `unknown` if you cannot say: it is then reconciled, never run again.

        `pending_elsewhere` if the service that carries it out asks its own people: settled later, never run again.
        """
        key = await access_to(c, request, request_id, *AGENTS, Scope.EXECUTOR)
        body = await read_model(request, schemas.OutcomeBody)
        found = await c.report(
            caller_of(key),
            request_id=request_id,
            claim_id=body.claim_id,
            status=ExecutionStatus(body.status),
            result=canonical(body.result).decode() if body.result is not None else None,
            error=body.error,
            elsewhere=body.place,
        )
        return await answer_changed(c, key, request, found)

    return router


async def _listed(c: Services, key: ApiKey, request: Request) -> Response:
    if "idempotency_key" in request.query_params:
        found = await c.read.under_key(key.org, agent=key.agent, idempotency_key=parse_key_alone(request))
        return answer({"items": await view_all(c, key, found), "next_cursor": None})
    query = ListQuery.parse(request)
    if key.scope in AGENTS:
        query.filters["agent"] = str(key.agent)
    runs = key.runs if key.scope is Scope.EXECUTOR else None
    found = await c.read.page(
        key.org,
        filters=query.filters,
        only_open=query.only_open or runs is not None,
        runs=runs,
        before=query.before,
        most=query.most,
    )
    following = cursor_behind(found[-1]) if len(found) == query.most else None
    return answer({"items": await view_all(c, key, found), "next_cursor": following})


async def _decided(c: Services, key: ApiKey, request_id: str, body: schemas.Decision) -> ConfirmationRequest:
    """Carry out what an approver says. Raises InvalidError, and what the use cases raise."""
    org, person = key.org, str(key.person)
    if body.arguments is not None and body.verdict != "approve":
        raise InvalidError("only an approval can come with other arguments", path="arguments")
    if body.verdict == "withdraw":
        return await c.decide.withdraw(org=org, request_id=request_id, person=person, digest=body.digest)
    given = Given(typed=body.typed, totp=body.totp)
    if body.arguments is not None:
        return await c.edit(
            org=org,
            request_id=request_id,
            person=person,
            digest=body.digest,
            arguments=body.arguments,
            reason=body.reason,
            given=given,
        )
    if body.verdict == "deny" and is_blank(body.reason or ""):
        raise InvalidError("a denial needs a reason: the agent is told it", path="reason")
    verdict = Verdict(body.verdict)
    return await c.decide(
        org=org,
        request_id=request_id,
        person=person,
        verdict=verdict,
        reason=body.reason,
        digest=body.digest,
        given=given,
    )
