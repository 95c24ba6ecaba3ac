"""`ApprovalGate`: asks people about a call, waits for them, and takes the approval, which is good for one run.

    async with AsyncGateway(url, key) as gateway:        # or app.embedded.embedded_gateway: the same, in this process
        hooks.add(ApprovalGate(approvals=gateway, requires_confirmation={"oa__*": True, "oa__list": False}))

People are asked when an earlier hook asked, when the tool's flag says so, and about every call with `all_tools`. Then
the gateway is told that it must `confirm`: its rules may deny the call, or say who is asked, but not wave it through.
With `rules`, every other call is put to the gateway's rules as well. What runs is what people saw: the arguments that
the gateway stored. Away, unclear or too late means no.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never, cast

from assent.client.call import ToolCall
from assent.client.messages import replayed, run_by_executor
from assent.gate.gate import Gate
from assent.gate.outcomes import Refused, Replayed, as_text
from assent.gate.permission import Executed, Permission
from assent.hooks.contract.hook import ApprovalGateHook
from assent.hooks.contract.steps import tell_request
from assent.hooks.contract.verdicts import HookResult, allow, deny, modify
from assent.hooks.ready.read_only import Flags
from assent.hooks.ready.redact import redact

if TYPE_CHECKING:
    from assent.client.gateway import AsyncGateway
    from assent.client.models import Elsewhere, Json, OutcomeStatus, Request
    from assent.hooks.contract.context import HookContext

Listener = Callable[["Request"], object]

_log = logging.getLogger("assent")
_LONGEST_WAIT = 31 * 24 * 3600.0  # longer than any request stands: its own deadline ends the wait
_LONGEST_REASON = 1000
_LONGEST_ERROR = 4000
RUN_BY_EXECUTOR = "run_by_executor"
"""The code of a denial that is none: an executor ran the call, and the model is told its result."""
REPLAYED = "replayed"
"""The code of another: the very same call ran before, and the model is told its result."""
_EMAIL = re.compile(r"[^\s@\x00]+@[^\s@\x00]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPermit:
    """An approval that was taken: settled by a report to the gateway that gave it."""

    gate: Gate
    permission: Permission
    request_id: str
    """The request that people approved."""
    grant_id: str
    """The tool's idempotency key."""

    async def settle(
        self,
        status: OutcomeStatus,
        *,
        result: Any = None,
        error: str | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Report how the tool fared; secrets stay here. A fault is logged, never raised: the tool has run."""
        told = None if error is None else _sendable(str(redact(error)[0]))[:_LONGEST_ERROR]
        clean = redact(result)[0]
        await self.gate.settle(self.permission, status, result=clean, error=told, elsewhere=elsewhere)


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
        approvals: AsyncGateway,
        requires_confirmation: Mapping[str, bool] | Iterable[str] = (),
        all_tools: bool = False,
        rules: bool = True,
        on_suspended: Listener | None = None,
    ) -> None:
        for option, given in (("all_tools", all_tools), ("rules", rules)):
            if not isinstance(given, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
                raise ValueError(f"{option}: give true or false, not {given!r}")  # noqa: TRY004 - as all bad options
        self._gate = Gate(approvals)
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
        call = _call(ctx, arguments, confirm)
        found = await self._gate.obtain(call, on_pending=self._tell)
        match found:
            case Refused():
                request = found.request.id if found.request else None
                return deny(found.message).with_side_effects(code=found.code.value, request_id=request)
            case Replayed(request=request):  # the model is told what came of it when it ran
                words = replayed(as_text(redact(found.result)[0]), request_id=request.id, short_code=request.code)
                return deny(words).with_side_effects(code=REPLAYED, request_id=request.id)
            case Executed(request=request):  # nothing is to run here: the model is told what came of it
                told = as_text(redact(found.result)[0])
                words = run_by_executor(told, request_id=request.id, short_code=request.code)
                return deny(words).with_side_effects(code=RUN_BY_EXECUTOR, request_id=request.id)
            case Permission():
                return self._approved(found, arguments)
            case _:
                assert_never(found)

    def _approved(self, found: Permission, asked: Json) -> HookResult:
        claimed = found.claimed
        if claimed is None:  # nobody had to be asked; the gateway's own hooks may have rewritten the call
            return allow() if found.arguments == asked else modify(found.arguments)
        permit = GatewayPermit(
            gate=self._gate, permission=found, request_id=claimed.request_id, grant_id=claimed.grant_id
        )
        approved = HookResult(modified_args=found.arguments, permit=permit, context=found.changes)
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


def _flags(tools: Mapping[str, bool] | Iterable[str]) -> Mapping[str, bool]:
    if isinstance(tools, Mapping):
        return cast("Mapping[str, bool]", tools)
    if isinstance(tools, str):
        raise ValueError(f"requires_confirmation: give a list of tools (requires_confirmation: [{tools}])")  # noqa: TRY004 - as above
    return dict.fromkeys(tools, True)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
