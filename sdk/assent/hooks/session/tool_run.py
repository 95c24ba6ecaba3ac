"""One tool call of a session: PreToolUse, the tool (or the sandbox) if it may run, PostToolUse."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from assent.client.messages import RefusalCode, refusal, withheld
from assent.client.models import OutcomeStatus, State
from assent.gate.aftermath import after_error
from assent.gate.permission import LAST_REPORT, bare, describe, granted
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.sandbox import Report, SandboxFault
from assent.hooks.contract.steps import Observed, Settled, Suspended, WillCall, waiting_call
from assent.hooks.contract.verdicts import NOTHING
from assent.hooks.engine.outcome import Decision, Outcome
from assent.hooks.session.sandbox_report import render_report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from assent.client.models import Request
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.permit import Permit
    from assent.hooks.contract.steps import Step
    from assent.hooks.contract.verdicts import Routing


class Sandboxing(Protocol):
    """What runs routed calls: `assent.sandbox.providers.Sandboxes`."""

    async def run(self, routing: Routing, ctx: HookContext) -> Report:
        """Run the call isolated. Raises SandboxFault."""
        ...


class InSession(Protocol):
    """What a call needs of the session that it is made in."""

    @property
    def sandboxes(self) -> Sandboxing | None:
        """What runs routed calls."""
        ...

    def canonical(self, tool: str) -> str:
        """Return a tool's canonical name."""
        ...

    def context(self, moment: Moment, **about: Any) -> HookContext:
        """Build what the hooks of a moment see."""
        ...

    def may_be_withheld(self, moment: Moment, tool: str) -> bool:
        """Say whether a hook of this moment may keep from the model what this tool comes to."""
        ...

    async def run(self, moment: Moment, **about: Any) -> Outcome:
        """Run one moment's chain."""
        ...

    def tell(self, step: Step) -> None:
        """Tell whoever watches."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What became of a call. `content` is what the model sees, also when it was refused or failed."""

    content: Any
    ran: bool
    refused: RefusalCode | None = None
    """Why it did not run."""
    failed: bool = False
    """It ran, and failed; `content` says how."""
    args: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """The arguments that it ran with."""
    context: tuple[str, ...] = ()
    """What hooks tell the model in addition."""
    hidden: bool = False
    """The content is not for display."""
    request_id: str = ""
    """The request that people approved."""
    sandbox: str = ""
    """The sandbox in which it ran."""
    side_effects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Each hook's facts, by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """How a tool fared: its result, or the error that it raised."""

    result: Any = None
    error: str = ""
    duration: float = 0.0


class ToolRun:
    """One call, from "the model wants this" to what the model sees."""

    def __init__(self, session: InSession, name: str, args: Mapping[str, Any], *, call_id: str, claim: str) -> None:
        self._session = session
        self._about = {
            "tool_name": session.canonical(name),
            "called_as": name,
            "call_id": call_id,
            "claim": claim,
        }
        self._args = args

    async def carry_out(self, execute: Callable[..., Awaitable[Any] | Any]) -> ToolResult:
        """Judge, run, judge the result."""
        about = self._about
        self._session.tell(WillCall(tool_name=about["tool_name"], call_id=about["call_id"], args=self._args))
        token = waiting_call.set(self._tell_request)
        try:
            before = await self._session.run(Moment.PRE_TOOL_USE, args=self._args, **about)
        finally:
            waiting_call.reset(token)
        result = await self._allowed(before, execute)
        self._session.tell(
            Observed(
                tool_name=about["tool_name"],
                call_id=about["call_id"],
                ran=result.ran,
                content=result.content,
                hidden=result.hidden,
            )
        )
        return result

    async def _allowed(self, before: Outcome, execute: Callable[..., Awaitable[Any] | Any]) -> ToolResult:
        match before.decision:
            case Decision.DENY:
                code = RefusalCode.GATE_FAULT if before.fault else RefusalCode.BLOCKED
                text = before.reason if before.by_gate and not before.fault else None
                return self._refused(before, code, text)
            case Decision.ASK:
                return self._refused(before, RefusalCode.NOBODY_TO_ASK)
            case Decision.ALLOW | Decision.ROUTE:
                pass
        run = await self._run(before, execute)
        if isinstance(run, ToolResult):
            return run
        return await self._judge_result(before, run)

    def _refused(self, before: Outcome, code: RefusalCode, text: str | None = None) -> ToolResult:
        return ToolResult(
            content=text or refusal(code, rule=before.by, reason=before.reason),
            ran=False,
            refused=code,
            args=before.args,
            context=before.context,
            side_effects=before.side_effects,
        )

    async def _run(self, before: Outcome, execute: Callable[..., Awaitable[Any] | Any]) -> _Run | ToolResult:
        """Run the tool under its permit, and settle that; a sandbox that is not there is a refusal."""
        permit, started = before.permit, time.monotonic()
        raised: Exception | None = None
        try:
            with granted(permit.grant_id if permit else None):
                if before.route is not None:
                    result, error = await self._in_sandbox(before, before.route)
                else:
                    # What a guard of its own would ask about has been asked about here.
                    result, error = await _called(bare(execute) if permit else execute, before.args), ""
        except SandboxFault as fault:
            return await self._sandbox_failed(before, fault)
        except Exception as fault:  # noqa: BLE001 - whatever a tool raises is its failure, which the model is told
            result, error, raised = None, describe(fault), fault
        except BaseException as cut:  # cancelled in the middle: nobody knows how far it came
            if permit:
                with anyio.move_on_after(LAST_REPORT, shield=True):
                    await permit.settle(OutcomeStatus.UNKNOWN, error=describe(cut))
            raise
        if permit:
            await self._settle(permit, result, error, raised)
        return _Run(result=result, error=error, duration=time.monotonic() - started)

    async def _settle(self, permit: Permit, result: Any, error: str, raised: Exception | None) -> None:
        """Report at once: hooks of the result may take their time. What they might withhold is not sent along."""
        status, elsewhere = OutcomeStatus.FAILED if error else OutcomeStatus.SUCCEEDED, None
        if raised is not None:
            status, elsewhere = after_error(raised)
        moment = Moment.POST_TOOL_USE_FAILURE if error else Moment.POST_TOOL_USE
        if self._session.may_be_withheld(moment, self._about["called_as"]):
            result, error = None, error.partition(":")[0]
        place = {} if elsewhere is None else {"elsewhere": elsewhere}
        await permit.settle(status, result=result, error=error or None, **place)

    async def _sandbox_failed(self, before: Outcome, fault: SandboxFault) -> ToolResult:
        """A sandbox that surely ran nothing is a refusal. Otherwise nobody knows how far the command came."""
        not_run = fault.started is False
        if before.permit:
            status = OutcomeStatus.FAILED if not_run else OutcomeStatus.UNKNOWN
            await before.permit.settle(status, error=f"not run: {fault}" if not_run else str(fault))
        code = RefusalCode.SANDBOX_FAULT if not_run else RefusalCode.SANDBOX_UNKNOWN
        return replace(self._refused(before, code, refusal(code, reason=str(fault))), ran=not not_run)

    async def _in_sandbox(self, before: Outcome, routing: Routing) -> tuple[str, str]:
        sandboxes = self._session.sandboxes
        if sandboxes is None:
            raise SandboxFault(
                f"there is no sandbox {routing.provider!r} here: the session was given none", started=False
            )
        ctx = self._session.context(Moment.PRE_TOOL_USE, args=before.args, **self._about)
        report = await sandboxes.run(routing, ctx)
        text = render_report(report, provider=routing.provider)
        return text, "" if report.exit_code == 0 else text

    async def _judge_result(self, before: Outcome, run: _Run) -> ToolResult:
        moment = Moment.POST_TOOL_USE_FAILURE if run.error else Moment.POST_TOOL_USE
        request_id = before.permit.request_id if before.permit else ""
        after = await self._session.run(
            moment,
            args=before.args,
            result=run.error or run.result,
            error=run.error,
            duration=run.duration,
            request_id=request_id,
            **self._about,
        )
        content = withheld(after.by, after.reason) if after.decision is Decision.DENY else after.result
        return ToolResult(
            content=content,
            ran=True,
            failed=bool(run.error),
            args=before.args,
            context=(*before.context, *after.context),
            hidden=before.hidden or after.hidden,
            request_id=request_id,
            sandbox=before.route.provider if before.route else "",
            side_effects={**before.side_effects, **after.side_effects},
        )

    def _tell_request(self, request: Request) -> None:
        about = {"tool_name": self._about["tool_name"], "call_id": self._about["call_id"], "request_id": request.id}
        if request.state is State.PENDING:
            step = Suspended(**about, state=request.state.value, expires_at=request.expires_at, code=request.code)
        else:
            step = Settled(**about, state=request.state.value)
        self._session.tell(step)


async def _called(execute: Callable[..., Awaitable[Any] | Any], args: Mapping[str, Any]) -> Any:
    result = execute(**args)
    return await result if inspect.isawaitable(result) else result
