"""A tool call as it comes in through any of the agent's doors, and its answer as the wire shows it.

The answer says what was decided, by whom, and what the hooks give along.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from app.api.wire.bodies import answer, is_small, only_header, prefers_minimal
from app.api.wire.request_view import view_request
from app.api.wire.schemas import HeldBody
from app.domain.call.submission import Submission
from app.domain.errors import InvalidError, WrongScopeError
from app.domain.identity.api_key import AGENTS, Scope
from app.domain.request.request import State
from app.usecases.asking.submit import Answered
from app.usecases.executing.claim import Caller
from app.usecases.hooks.hook_records import presentable
from assent.client.messages import RefusalCode, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from app.api.wire.request_view import RequestView, StandingView
    from app.api.wire.schemas import CallBody, ClaimView
    from app.api.wire.services import Services
    from app.domain.identity.api_key import ApiKey
    from app.domain.request.quorum import Tally
    from app.domain.request.request import ConfirmationRequest
    from app.usecases.executing.claim import Claimed
    from app.usecases.judging.judge_call import Said


BRIEFLY = {"Preference-Applied": "return=minimal"}
"""A header that says why an answer is no more than how a request stands."""
_OF_THE_WAIT = frozenset(HeldBody.model_fields)
_OF_A_CLIENT = re.compile(r"(?:idem|hook|gate)_[0-9a-f]{32,64}", re.ASCII)
"""Keys under which Assent's own clients repeat one submission: they name it, and keep it off no request."""


def submitted(key: ApiKey, body: CallBody, request: Request) -> Submission:
    """Return the call: what is said of it is the body's, whose it is the key's. Raises WrongScopeError, InvalidError.

    The body's members are the submission's by name; `tests/sdk/client/test_wire_call.py` holds both to it.
    """
    refuse_evaluation(key, wanted=body.evaluation)
    said = {name: value for name, value in vars(body).items() if name not in _OF_THE_WAIT}
    return Submission(
        org=key.org,
        agent=str(key.agent),
        owner=key.person,
        idempotency_key=(named := _idempotency_key_of(request)),
        joins=named is None or _OF_A_CLIENT.fullmatch(named) is not None,
        evaluation_key=evaluation_key_of(key),
        is_small=is_small(request),
        **said,
    )


def _idempotency_key_of(request: Request) -> str | None:
    """Return the caller's name for this very submission. Raises InvalidError."""
    key = only_header(request, b"idempotency-key")
    if key is not None and not (1 <= len(key) <= 200 and key.isprintable()):
        raise InvalidError("an Idempotency-Key has 1 to 200 printable characters", path="header.idempotency-key")
    return key


async def answer_call(c: Services, key: ApiKey, submission: Submission) -> Response:
    """Judge a call and answer it: 200 for allow and deny, 202 with the request where people are asked."""
    found = await c.submit(submission)
    if isinstance(found, Answered):
        return answer_judged(found)
    request = await view_shown(c, key, found.request)
    if found.request.attachable:  # and whoever asked comes to wait
        c.waiters.expect(key.org, found.request.id, found.request.version, decided=found.request.status.final)
    return answer({"decision": "ask", "attached": found.attached, "request": request, **view_said(found.said)}, 202)


def answer_judged(found: Answered) -> Response:
    """Answer a call about which nobody is asked."""
    body: dict[str, object] = {
        "decision": "allow" if found.allowed else "deny",
        "rule": found.rule_id,
        "reason": found.reason,
        "message": _for_model(found),
    }
    if found.hook is not None:
        body["hook"] = found.hook
    return answer({**body, **view_said(found.said)})


async def view_shown(c: Services, key: ApiKey, request: ConfirmationRequest) -> RequestView:
    """Show a request to whoever's key it is: whole to the agent alone."""
    return (await view_all(c, key, [request]))[0]


async def view_all(c: Services, key: ApiKey, requests: Sequence[ConfirmationRequest]) -> list[RequestView]:
    """Show several. Warnings are for people who look: an agent reads nothing of the registers in them."""
    whole = key.scope in AGENTS
    if whole or key.scope is Scope.EXECUTOR:
        return [view_request(each, _tally(c, each), whole=whole) for each in requests]
    warned = await c.read.warned(key.org, requests)
    return [view_request(each, _tally(c, each), told, whole=whole) for each, told in zip(requests, warned, strict=True)]


async def answer_changed(c: Services, key: ApiKey, request: Request, found: ConfirmationRequest) -> Response:
    """Answer whoever changed a request: with all of it, or, as they may prefer (RFC 7240), with how it now stands."""
    if not prefers_minimal(request):
        return answer(await view_shown(c, key, found))
    return answer(view_standing(found), headers=BRIEFLY)


def is_known(request: Request, found: ConfirmationRequest, *, since: int | None) -> bool:
    """Say whether a caller that waited, and prefers to be told no more than it must be, has nothing new to be told.

    It waits still; or, where it named the version `since` which it waits, that is the one.
    """
    known = found.state is State.PENDING if since is None else found.version == since
    return known and prefers_minimal(request)


def view_standing(found: ConfirmationRequest) -> StandingView:
    """Show how a request stands, without its call."""
    return {
        "id": found.id,
        "state": found.state.value,
        "status": found.status.value,
        "version": found.version,
        "digest": found.digest,
    }


def with_event(shown: RequestView, key: ApiKey, request: ConfirmationRequest) -> RequestView:
    """Add what the agent's program sent: to one request that is looked at, and not for executors."""
    return shown if key.scope is Scope.EXECUTOR else {**shown, "host_event": request.call.host_event}


def view_claimed(taken: Claimed) -> ClaimView:
    """Show what may now run."""
    request, grant, execution = taken.request, taken.request.grant, taken.request.execution
    if grant is None or execution is None:
        raise ValueError("a claim without grant or execution")
    return {
        "grant_id": grant.id,
        "execution_id": execution.id,
        "tool": request.call.tool,
        "arguments": dict(request.call.arguments),
        "digest": request.digest,
        "lease_until": execution.lease_until.isoformat(),
        "epoch": taken.epoch,
    }


def _tally(c: Services, request: ConfirmationRequest) -> Tally | None:
    """Count a request's votes; None where there are none, and nobody has to be looked up for it."""
    return c.read.tally(request) if request.decisions else None


def caller_of(key: ApiKey) -> Caller:
    """Return who a key speaks for where something is claimed or settled."""
    executor = key.id if key.scope is Scope.EXECUTOR else None
    return Caller(org=key.org, agent=key.agent, executor=executor, by=f"key:{key.id}", runs=key.runs)


def refuse_evaluation(key: ApiKey, *, wanted: bool) -> None:
    """Refuse the flag of evaluation runs from any key but one of that scope. Raises WrongScopeError."""
    if wanted and key.scope is not Scope.EVALUATION:
        raise WrongScopeError(f"an evaluation run needs a key of scope evaluation; yours is {key.scope.value}")


def evaluation_key_of(key: ApiKey) -> str | None:
    """Return the key's id if it is one for evaluation runs."""
    return key.id if key.scope is Scope.EVALUATION else None


async def access_to(c: Services, request: Request, request_id: str, *scopes: Scope) -> ApiKey:
    """Let a key of one of `scopes` in to change a request; one for evaluation runs only to those that it opened.

    Raises what `Access` raises, WrongScopeError, NotFoundError.
    """
    key = await c.access(request, *scopes)
    if key.scope is Scope.EVALUATION:
        await c.submit.refuse_foreign(key.org, request_id, agent=str(key.agent), evaluation_key=key.id)
    return key


def view_said(said: Said) -> dict[str, object]:
    """Leave out what is not there: an answer without hooks looks as it did without hooks."""
    given: dict[str, object] = {}
    if said.arguments is not None:
        given["arguments"] = dict(said.arguments)
    if said.context:
        given["context"] = presentable(list(said.context))
    if said.hidden:
        given["hidden"] = True
    if said.route is not None:
        route = said.route
        given["route"] = {
            "provider": route.provider,
            "command": route.command,
            "options": presentable(dict(route.options)),
        }
    return given | view_bag(said.metadata, said.tags)


def view_bag(metadata: Mapping[str, Any], tags: Mapping[str, Any]) -> dict[str, object]:
    """Show the bag of the turn, to be sent along with the next moment, and what was set in it just now."""
    shown: dict[str, object] = {}
    if metadata:
        shown["metadata"] = {name: presentable(value) for name, value in metadata.items()}
    if tags:
        shown["tags"] = {name: presentable(value) for name, value in tags.items()}
    return shown


def _for_model(answered: Answered) -> str:
    if answered.allowed:
        return f"Allowed by rule {answered.rule_id}."
    if answered.hook is not None:
        code = RefusalCode.GATE_FAULT if answered.fault else RefusalCode.BLOCKED
        return refusal(code, rule=answered.hook, reason=answered.reason)
    return (
        f"Denied by rule {answered.rule_id}: {answered.reason} It did not run. "
        "Do not retry it, rephrase it, or try to reach the same end another way."
    )
