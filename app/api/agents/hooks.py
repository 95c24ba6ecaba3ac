"""The hooks' door: an agent anywhere reports a moment of its run and is told what the org's hooks make of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from app.api.agents import moments
from app.api.agents.one_call import Held, answer_held, judge_held
from app.api.wire import schemas
from app.api.wire.bodies import MOST_BYTES_OF_A_MOMENT, answer, read_model
from app.api.wire.operations import takes
from app.api.wire.routes import Request, Response, Router
from app.api.wire.verdicts import answer_call, caller_of, evaluation_key_of, refuse_evaluation, submitted, view_bag
from app.domain.errors import NotFoundError
from app.domain.identity.api_key import AGENTS, ApiKey
from app.domain.request.host_event import MOST_SENT
from app.domain.request.request import ExecutionStatus
from app.usecases.executing.settle_by_call import FinishedCall, Settled
from app.usecases.hooks.hook_records import presentable
from app.usecases.hooks.known_call import AgentRun
from assent.client.messages import RefusalCode, refusal, withheld
from assent.hooks.contract.model_request import ModelRequest
from assent.hooks.contract.moments import Moment
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.subject import same

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.usecases.hooks.run_hooks import Ran

_BODIES = {Moment(body.__name__): body for body in moments.BODIES}
_BLOCKED = {
    Moment.USER_PROMPT_SUBMIT: RefusalCode.PROMPT_BLOCKED,
    Moment.PRE_MODEL_REQUEST: RefusalCode.MODEL_REQUEST_BLOCKED,
}
_RESUMED = frozenset({"resume", "resumed", "compact"})  # as Claude Code says it: the history goes on


def hooks_router(c: Services) -> Router:
    """Build the route."""
    router = Router(tags=["hooks"])

    @router.post("/v1/hooks/{event}", **takes(moments.BODIES, schemas.AnswerView | schemas.MomentView, 202))
    async def hook(event: Moment, request: Request) -> Response:
        """Report a moment of an agent's run. PreToolUse answers like POST /v1/requests; PostToolUse also settles."""
        key = await c.access(request, *AGENTS)
        moment = _moment(event)
        most = c.max_call_bytes + MOST_SENT if moment is Moment.PRE_TOOL_USE else MOST_BYTES_OF_A_MOMENT
        body = await read_model(request, _BODIES[moment], most=most)
        if isinstance(body, moments.PreToolUse):
            if body.wait is None and body.claim_id is None:
                return await answer_call(c, key, submitted(key, body, request))
            held = Held.of(body)
            standing = await judge_held(c, key, submitted(key, body, request), held)
            del body  # whoever waits keeps nothing of the call
            return standing if isinstance(standing, Response) else await answer_held(c, key, request, standing, held)
        refuse_evaluation(key, wanted=body.evaluation)
        if isinstance(body, moments.PostToolUse | moments.PostToolUseFailure):
            return await _finished(c, key, moment, body)
        if isinstance(body, moments.SessionEnd) and body.session is not None and not body.sub_agent:
            await c.end_session_approvals.with_session(key.org, str(key.agent), body.session)
        ran = await c.run_hooks(_run(key, body), moment, **_subject(body))
        return answer(_view(moment, ran))

    return router


def _moment(name: str) -> Moment:
    """Return the moment of a name. Raises NotFoundError, which lists them."""
    try:
        return Moment(name)
    except ValueError:
        raise NotFoundError(f"there is no such moment; there are: {', '.join(Moment)}") from None


async def _finished(
    c: Services, key: ApiKey, moment: Moment, body: moments.PostToolUse | moments.PostToolUseFailure
) -> Response:
    """Settle the request that a finished call belonged to, then let the hooks see the result."""
    caller = caller_of(key)
    call = FinishedCall(
        tool=body.tool_name,
        arguments=body.tool_input,
        session=body.session,
        call_id=body.tool_use_id,
        request_id=body.request_id,
        evaluation_key=evaluation_key_of(key),
    )
    failure = body if isinstance(body, moments.PostToolUseFailure) else None
    status = ExecutionStatus.SUCCEEDED
    if failure is not None:
        status = ExecutionStatus.UNKNOWN if failure.is_interrupt else ExecutionStatus.FAILED
    error = _text(failure.error) if failure and failure.error else None
    settled = await c.settle_by_call(caller, call, status=status, error=error)
    request = settled.request
    ran = await c.run_hooks(
        _run(key, body),
        moment,
        request_id=request.id if request else None,
        asked=request.call.arguments if request else None,
        called_as=body.tool_name,
        args=body.tool_input,
        call_id=body.tool_use_id or "",
        result=body.tool_response if isinstance(body, moments.PostToolUse) else None,
        error=failure.error or "" if failure else "",
        duration=None if body.duration_ms is None else body.duration_ms / 1000,
    )
    given = body.tool_response if isinstance(body, moments.PostToolUse) else None
    shown = _view(moment, ran, replaced=not same(ran.outcome.result, given))
    return answer({**shown, "settled": _view_settled(settled)})


def _text(text: str) -> str:
    return text.replace("\0", "\\u{0}")  # PostgreSQL's texts have no NUL


def _run(key: ApiKey, body: schemas.RunBody) -> AgentRun:
    return AgentRun(
        org=key.org,
        agent=str(key.agent),
        session=body.session,
        parent_session=body.parent_session,
        parent_agent=body.parent_agent,
        sub_agent=body.sub_agent,
        user=body.requester,
        cwd=body.cwd,
        metadata=body.metadata,
    )


def _subject(body: Any) -> dict[str, Any]:
    """Return the fields of the hooks' context that the moment is about."""
    match body:
        case moments.UserPromptSubmit():
            return {"prompt": body.prompt}
        case moments.PreModelRequest():
            said = body.request
            return {
                "request": ModelRequest(
                    provider=said.provider or "",
                    model=said.model or "",
                    system=said.system,
                    messages=tuple(said.messages),
                    tools=tuple(said.tools),
                    temperature=said.temperature,
                    thinking=said.thinking,
                    reasoning=said.reasoning,
                    extra=dict(said.model_extra or {}),
                )
            }
        case moments.SessionStart():
            return {"source": "resumed" if body.source in _RESUMED else "new"}
        case moments.PreCompact():
            return {"reason": body.trigger}
        case moments.SessionEnd():
            return {"reason": body.reason}
        case moments.Stop() | moments.SubagentStop():
            return {"sent_back": body.stop_hook_active, "last_message": body.last_assistant_message or ""}
        case _:
            return {}


def _view(moment: Moment, ran: Ran, *, replaced: bool = False) -> dict[str, object]:
    outcome = ran.outcome
    denied = outcome.decision is Decision.DENY
    shown: dict[str, object] = {"decision": "deny" if denied else "allow"}
    if denied:
        shown |= {"hook": outcome.by, "reason": outcome.reason, "message": _for_model(moment, ran)}
    if moment in {Moment.POST_TOOL_USE, Moment.POST_TOOL_USE_FAILURE} and (denied or replaced):
        shown["result"] = shown["message"] if denied else outcome.result
    if not denied and moment is Moment.USER_PROMPT_SUBMIT:
        shown["prompt"] = outcome.prompt
    if not denied and moment is Moment.PRE_MODEL_REQUEST and outcome.request is not None:
        shown["request"] = _view_request(outcome.request)
    if outcome.context:
        shown["context"] = list(outcome.context)
    if outcome.hidden:
        shown["hidden"] = True
    if outcome.send_back is not None:
        shown["send_back"] = outcome.send_back
    return {name: presentable(value) for name, value in shown.items()} | view_bag(ran.metadata, ran.tags)


def _view_request(request: ModelRequest) -> dict[str, Any]:
    plain = asdict(replace(request, extra={}))
    plain.pop("extra")
    return {**dict(request.extra), **plain}


def _for_model(moment: Moment, ran: Ran) -> str:
    outcome = ran.outcome
    if moment in _BLOCKED:
        return refusal(_BLOCKED[moment], rule=outcome.by, reason=outcome.reason)
    return withheld(outcome.by, outcome.reason)


def _view_settled(settled: Settled) -> dict[str, object]:
    request = settled.request
    return {
        "request": request.id if request else None,
        "state": request.state.value if request else None,
        "changed": settled.changed,
        "note": settled.note,
    }
