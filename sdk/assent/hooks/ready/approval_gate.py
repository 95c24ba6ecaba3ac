"""`ApprovalGate`: asks people about a call, waits for them, and takes the approval, which is good for one run.

    async with AsyncGateway(url, key) as gateway:        # or app.embedded.embedded_gateway: the same, in this process
        hooks.add(ApprovalGate(approvals=gateway, requires_confirmation={"oa__*": True, "oa__list": False}))

People are asked when an earlier hook asked, when the tool's flag says so, and about every call with `all_tools`. Then
the gateway is told that it must `confirm`: its rules may deny the call, or say who is asked, but not wave it through.
With `rules`, every other call is put to the gateway's rules as well. What runs is what people saw: the arguments that
the gateway stored. Away, unclear or too late means no.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from assent.client.call import ToolCall
from assent.client.errors import AssentError, CallRefusedError
from assent.client.messages import RefusalCode, refusal, run_by_executor
from assent.client.models import Allowed, Pending, State, Taken
from assent.client.unapproved import NotApprovedError
from assent.gate.permission import Executed, Permission, obtain, settle
from assent.hooks.contract.hook import ApprovalGateHook
from assent.hooks.contract.steps import tell_request
from assent.hooks.contract.verdicts import HookResult, allow, deny, modify
from assent.hooks.ready.audit_log import digest
from assent.hooks.ready.read_only import Flags
from assent.hooks.ready.redact import redact

if TYPE_CHECKING:
    from datetime import datetime

    from assent.client.gateway import AsyncGateway
    from assent.client.models import Claimed, Elsewhere, Json, OutcomeStatus, Request, Verdict
    from assent.hooks.contract.context import HookContext

Listener = Callable[["Request"], object]

_log = logging.getLogger("assent")
_LONGEST_WAIT = 31 * 24 * 3600.0  # longer than any request stands: its own deadline ends the wait
_LONGEST_REASON = 1000
_LONGEST_ERROR = 4000
_LONGEST_RESULT = 8000
RUN_BY_EXECUTOR = "run_by_executor"
"""The code of a denial that is none: an executor ran the call, and the model is told its result."""
_EMAIL = re.compile(r"[^\s@\x00]+@[^\s@\x00]+")


class Approvals(Protocol):
    """The gateway as the gate needs it: `assent.AsyncGateway`, near or far."""

    async def take(
        self,
        call: ToolCall,
        *,
        claim_id: str | None = None,
        idempotency_key: str | None = None,
        on_pending: Listener | None = None,
    ) -> Verdict | Taken:
        """Ask whether the call may run, wait for people, and take the single use of their approval."""
        ...

    async def get(self, request_id: str) -> Request:
        """Read a request."""
        ...

    async def wait(self, request: Request, *, until: datetime | None = None) -> Request:
        """Hold until the request is no longer pending."""
        ...

    async def wait_for_outcome(self, request: Request, *, until: datetime | None = None) -> Request:
        """Hold until an executor has run what only an executor may run."""
        ...

    async def report(
        self,
        request_id: str,
        claim_id: str,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Request:
        """Say what became of an execution."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPermit:
    """An approval that was taken: settled by a report to the gateway that gave it."""

    approvals: Approvals
    claimed: Claimed

    @property
    def request_id(self) -> str:
        """The request that people approved."""
        return self.claimed.request_id

    @property
    def grant_id(self) -> str:
        """The tool's idempotency key."""
        return self.claimed.grant_id

    async def settle(
        self,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Report how the tool fared; secrets stay here. A fault is logged, never raised: the tool has run."""
        permission = Permission(arguments=self.claimed.arguments, claimed=self.claimed)
        told = None if error is None else _sendable(str(redact(error)[0]))[:_LONGEST_ERROR]
        gateway = cast("AsyncGateway", self.approvals)
        try:
            await settle(gateway, permission, status, result=_kept(result), error=told, elsewhere=elsewhere)
        except AssentError as fault:  # the gateway object is closed: the lease will mark the execution unknown
            _log.warning("outcome of request %s could not be reported: %s", self.request_id, fault)


class ApprovalGate(ApprovalGateHook):
    """Asks people; denies what they, or the rules, do not allow.

    `approvals` is the gateway. `requires_confirmation` says which tools people must confirm: names and globs with true
    or false (a name decides over a glob), or a list of those with true. `all_tools` asks about every call. `rules`, on
    if left out, puts every other call to the gateway's rules; off, it lets them pass. `on_suspended` is called with the
    request when a call begins to wait for people, and with the settled one when they have decided; `listener` may be
    set later for the same. The session that makes the call is told in any case (`assent.hooks.contract.steps`).

    The requester is `ctx.user` where that is an e-mail address: only then can the gateway bar people from approving
    what is done on their own behalf.
    """

    name = "approval-gate"
    description = "asks people about calls, and takes their approval"
    timeout = _LONGEST_WAIT

    def __init__(
        self,
        *,
        approvals: Approvals,
        requires_confirmation: Mapping[str, bool] | Iterable[str] = (),
        all_tools: bool = False,
        rules: bool = True,
        on_suspended: Listener | None = None,
    ) -> None:
        for option, given in (("all_tools", all_tools), ("rules", rules)):
            if not isinstance(given, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
                raise ValueError(f"{option}: give true or false, not {given!r}")  # noqa: TRY004 - as all bad options
        self._approvals = approvals
        self._flags = Flags(_flags(requires_confirmation), option="requires_confirmation")
        self._all_tools = all_tools
        self._rules = rules
        self._on_suspended = on_suspended
        self.listener: Listener | None = None

    def should_trigger(self, ctx: HookContext) -> bool:
        """Say whether anybody is to be asked: people, or the gateway's rules."""
        return self._rules or self._reason(ctx) is not None

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Ask; wait as long as the request stands. What was approved comes with the permit to run it once."""
        arguments, confirm = dict(ctx.args), self._reason(ctx)
        fault = _fault_as_json(arguments)
        if fault:
            return deny(refusal(RefusalCode.BAD_ARGUMENTS, reason=f"they are not JSON: {fault}"))
        line = _Line(self._approvals, ctx, self._tell)
        try:
            permission = await obtain(cast("AsyncGateway", line), _call(ctx, arguments, confirm))
        except NotApprovedError as refused:
            request = refused.request.id if refused.request else None
            return deny(str(refused)).with_side_effects(code=refused.code.value, request_id=request)
        if isinstance(permission, Executed):  # nothing is to run here: the model is told what came of it
            done = permission.request
            words = run_by_executor(_as_text(done.result), request_id=done.id, short_code=done.code)
            return deny(words).with_side_effects(code=RUN_BY_EXECUTOR, request_id=done.id)
        if permission.claimed is None:  # nobody had to be asked; the gateway's own hooks may have rewritten the call
            return allow() if permission.arguments == arguments else modify(permission.arguments)
        permit = GatewayPermit(approvals=self._approvals, claimed=permission.claimed)
        approved = HookResult(modified_args=permission.arguments, permit=permit, context=permission.changes)
        return approved.with_side_effects(request_id=permit.request_id, grant_id=permit.grant_id)

    def _reason(self, ctx: HookContext) -> str | None:
        """Why people must be asked; None if nothing here says so."""
        reasons = list(ctx.asks)
        if self._flags.find(ctx):
            reasons.append(f"calls of {ctx.called_as or ctx.tool_name} need a person's confirmation")
        if self._all_tools:
            reasons.append(f"every call of {ctx.agent or 'this agent'} needs a person's confirmation")
        return _sendable(redact("; ".join(reasons))[0])[:_LONGEST_REASON] if reasons else None

    def _tell(self, request: Request) -> None:
        for listener in (tell_request, self._on_suspended, self.listener):
            try:
                if listener is not None:
                    listener(request)
            except Exception:  # noqa: BLE001 - foreign code that only watches: it neither stops a call nor lets one run
                _log.exception("a listener failed on request %s; the call goes its way", request.id)


class _Line:
    """The gateway as a permission is asked of it about one call: under a key of that call, with somebody listening."""

    def __init__(self, approvals: Approvals, ctx: HookContext, tell: Listener) -> None:
        self._approvals = approvals
        self._ctx = ctx
        self._tell = tell

    async def take(self, call: ToolCall, *, idempotency_key: str | None = None) -> Verdict | Taken:
        key = _call_key(self._ctx, call) if idempotency_key and self._ctx.session else None
        told: list[Request] = []

        def on_pending(request: Request) -> None:
            told.append(request)
            self._tell(request)

        verdict = await self._approvals.take(call, idempotency_key=key, on_pending=on_pending)
        match verdict:
            case Allowed() if call.confirm is not None:
                raise CallRefusedError(
                    "the gateway allowed a call that people had to be asked about; it may be older than this client"
                )
            case Pending(request=request) if request.state is State.PENDING:  # an executor's: it is waited for then
                self._tell(request)
            case Pending(request=request) | Taken(request=request) if told:
                self._tell(request)
            case _:
                pass
        return verdict

    async def get(self, request_id: str) -> Request:
        return await self._approvals.get(request_id)

    async def wait(self, request: Request) -> Request:
        settled = await self._approvals.wait(request)
        if request.state is State.PENDING:
            self._tell(settled)
        return settled

    async def wait_for_outcome(self, request: Request) -> Request:
        if request.state is State.PENDING:
            request = await self.wait(request)
        return await self._approvals.wait_for_outcome(request)


def _call(ctx: HookContext, arguments: Json, confirm: str | None) -> ToolCall:
    return ToolCall(
        ctx.called_as or ctx.tool_name,
        arguments,
        session=ctx.session or None,
        call_id=ctx.call_id or None,
        requester=ctx.user if _EMAIL.fullmatch(ctx.user) else None,
        claim=ctx.claim or None,
        confirm=confirm,
        parent_session=ctx.parent_session or None,
        sub_agent=(ctx.agent or None) if ctx.parent_session else None,
        cwd=ctx.cwd or None,
    )


def _call_key(ctx: HookContext, call: ToolCall) -> str:
    """One key for one call of one session, so that a call repeated after a crash meets its earlier request.

    The arguments are in it: a runtime that counts its calls anew for each turn must not be taken for repeating one.
    """
    return f"call_{digest([ctx.session, ctx.call_id, call.tool, call.arguments])}"


def _flags(tools: Mapping[str, bool] | Iterable[str]) -> Mapping[str, bool]:
    if isinstance(tools, Mapping):
        return cast("Mapping[str, bool]", tools)
    if isinstance(tools, str):
        raise ValueError(f"requires_confirmation: give a list of tools (requires_confirmation: [{tools}])")  # noqa: TRY004 - as above
    return dict.fromkeys(tools, True)


def _fault_as_json(value: Any) -> str | None:
    """Say why the value is no JSON that can be sent; None if it is."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:  # also half of a surrogate pair
        return str(error)
    return None


def _kept(result: Any) -> Any:
    """Return the result without its secrets; None where it is no JSON."""
    clean = redact(result)[0]
    return None if _fault_as_json(clean) else clean


def _as_text(result: Any) -> str | None:
    """Return an executor's result as one line of JSON, cut to a bearable length; None where there is none."""
    if result is None:
        return None
    text = json.dumps(redact(result)[0], ensure_ascii=False)
    return text if len(text) <= _LONGEST_RESULT else f"{text[:_LONGEST_RESULT]}… (cut)"


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
