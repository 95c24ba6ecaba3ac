"""The chain: hooks one after the other, and what their verdicts come to.

    higher priority first ─▶ … ─▶ judged again if rewritten ─▶ the approval gate ─▶ hooks below 0 (may still deny)

- The first denial ends it; nothing that comes later clears it.
- Rewrites are carried on. Whoever judged before the last rewrite judges again (`ctx.rejudging`), so that no verdict
  rests on arguments other than the final ones; each hook rewrites a call at most once, so this ends.
- The gate sees the final arguments and everyone's reasons to ask. People may approve changed arguments: then every hook
  judges those as well. Behind the gate nothing is rewritten.
- A fault (an exception, a time-out, a verdict that the moment does not know) means what the hook's `on_error` says:
  by default no. At the observing moments every hook runs and a fault is noted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assent.hooks.bounded import bounded
from assent.hooks.hook import OnError
from assent.hooks.moments import OBSERVING, POWERS, Power
from assent.hooks.observer import UNOBSERVED, Deed, HookEvent, Observer
from assent.hooks.outcome import Asked, Decision, Outcome
from assent.hooks.verdicts import PASSED, HookResult, Routing
from assent.models import OutcomeStatus

if TYPE_CHECKING:
    from assent.hooks.context import HookContext
    from assent.hooks.permit import Permit
    from assent.hooks.registry import Registered


class HookFaultError(Exception):
    """A hook did not do its work; the text says what went wrong, for people and for the model."""


async def run_chain(hooks: Sequence[Registered], ctx: HookContext, observer: Observer = UNOBSERVED) -> Outcome:
    """Run `hooks` (of one moment, in `HookRegistry.get`'s order) on `ctx`. Never raises for a hook's fault.

    Tags change `ctx.metadata` in place. A permit in the outcome has been taken: whoever runs the call settles it.
    """
    run = _Run(ctx, observer)
    if ctx.moment in OBSERVING:
        for entry in hooks:
            await run.judge(entry)
        return run.outcome()
    front = [entry for entry in hooks if entry.priority >= 0 and not entry.is_gate]
    if not await _front_denies(run, front) and not await _gates_deny(run, hooks) and await _denies_behind(run, hooks):
        await run.give_back()
    return run.outcome()


async def _front_denies(run: _Run, front: Sequence[Registered]) -> bool:
    for entry in front:
        if await run.judge(entry):
            return True
    while stale := [entry for entry in front if run.judged_before_the_last_rewrite(entry)]:
        for entry in stale:
            if await run.judge(entry, again=True):
                return True
    return False


async def _gates_deny(run: _Run, hooks: Sequence[Registered]) -> bool:
    for entry in hooks:
        if entry.is_gate and await run.pass_gate(entry):
            return True
    return False


async def _denies_behind(run: _Run, hooks: Sequence[Registered]) -> bool:
    """Behind the gate: whoever has not judged what the gate let pass (it may be changed) does so now; then the logs."""
    run.frozen = True
    for entry in hooks:
        if run.judged_before_the_last_rewrite(entry) and await run.judge(entry, again=True):
            return True
    for entry in hooks:
        if entry.priority < 0 and not entry.is_gate and await run.judge(entry):
            return True
    return False


class _Run:
    """One run of a chain: the context as it stands, and what was said so far."""

    def __init__(self, ctx: HookContext, observer: Observer) -> None:
        self.ctx: HookContext = ctx
        self.frozen = False
        self._start = ctx
        self._observer = observer
        self._revision = 0  # how often the subject was rewritten
        self._judged: dict[str, int] = {}  # hook id → the revision that its verdict rests on
        self._rewrote: set[str] = set()
        self._denied: tuple[Registered, str, bool] | None = None
        self._asks: dict[str, Asked] = {}
        self._route: Routing | None = None
        self._routed_by = ""
        self._context: dict[str, str] = {}
        self._hidden = False
        self._send_back: str | None = None
        self._permit: Permit | None = None
        self._side_effects: dict[str, Mapping[str, Any]] = {}
        self._trace: list[HookEvent] = []

    def judged_before_the_last_rewrite(self, entry: Registered) -> bool:
        """Say whether the hook's verdict rests on what has been rewritten since."""
        return self._judged.get(entry.id, self._revision) < self._revision

    async def judge(self, entry: Registered, *, again: bool = False) -> bool:
        """Let one hook judge what now stands; True if it denied."""
        if again != self.ctx.rejudging:
            self.ctx = replace(self.ctx, rejudging=again)
        self._judged[entry.id] = self._revision
        if again:  # what it said of the former arguments is void
            self._asks.pop(entry.id, None)
            self._context.pop(entry.id, None)
            if self._routed_by == entry.id:
                self._route, self._routed_by = None, ""
        try:
            result = await self._answer(entry)
            if result is None or result is PASSED:
                return False
            self._refuse_overreach(entry, result)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a hook raises is its fault, and means no
            return self._fault(entry, error)
        return self._take(entry, result)

    async def pass_gate(self, entry: Registered) -> bool:
        """Let a gate ask people; True if the call ends here."""
        self.ctx = replace(
            self.ctx,
            rejudging=False,
            asks=tuple(asked.reason for asked in self._asks.values()),
            route=self._route.provider if self._route else "",
        )
        if await self.judge(entry):
            return True
        if self._asks and self._permit is None:
            return self._deny(entry, "the gate let a call pass that people had to be asked about", fault=True)
        if self._permit is not None:
            self._asks = {}
        return False

    async def give_back(self) -> None:
        """A hook denied what people had approved: the approval is spent, and the trail says that nothing ran."""
        if self._permit is not None and self._denied is not None:
            why = f"not run: the hook {self._denied[0].id} denied it after the approval: {self._denied[1]}"
            await self._permit.settle(OutcomeStatus.FAILED, error=why)
            self._permit = None

    def outcome(self) -> Outcome:
        """Say what it came to."""
        ctx = self.ctx
        decision, by, reason, fault, by_gate = Decision.ALLOW, "", "", False, False
        if self._denied:
            entry, reason, fault = self._denied
            decision, by, by_gate = Decision.DENY, entry.id, entry.is_gate
        elif self._asks:
            decision = Decision.ASK
            by, reason = next(iter(self._asks)), "; ".join(asked.reason for asked in self._asks.values())
        elif self._route:
            decision, by = Decision.ROUTE, self._routed_by
        return Outcome(
            decision=decision,
            by=by,
            reason=reason,
            fault=fault,
            by_gate=by_gate,
            args=ctx.args,
            rewritten=ctx.args is not self._start.args and ctx.args != self._start.args,
            prompt=ctx.prompt,
            request=ctx.request,
            result=ctx.result,
            asks=tuple(self._asks.values()),
            route=self._route,
            context=tuple(self._context.values()),
            hidden=self._hidden,
            send_back=self._send_back,
            permit=self._permit,
            side_effects=self._side_effects,
            trace=tuple(self._trace),
        )

    # --- one answer ---------------------------------------------------------------------------------------------------

    async def _answer(self, entry: Registered) -> HookResult | None:
        hook, ctx = entry.hook, self.ctx
        try:
            if self._observer.tracer is None:
                return await bounded(hook.execute(ctx), entry.timeout) if hook.should_trigger(ctx) else None
            with self._observer.span(entry, ctx):
                return await bounded(hook.execute(ctx), entry.timeout) if hook.should_trigger(ctx) else None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the agent is being stopped, not the hook
            raise HookFaultError("it was cancelled from inside") from None

    def _refuse_overreach(self, entry: Registered, result: object) -> None:
        if not isinstance(result, HookResult):
            raise HookFaultError(f"it answered with {_a(result)} instead of a HookResult (or None)")
        for power in _used(result):
            if power not in POWERS[self.ctx.moment]:
                raise HookFaultError(f"it wants to {power}, which {self.ctx.moment} does not know")
        if not result.allow and not (result.error or "").strip():
            raise HookFaultError("it denied without a reason")
        if result.modified_args is not None and not isinstance(result.modified_args, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - hooks may be untyped
            raise HookFaultError(f"it rewrote the arguments to {_a(result.modified_args)}, which is no mapping")
        if self.frozen and result.modified_args is not None and entry.id not in self._rewrote:
            raise HookFaultError("it rewrites the arguments behind the gate, where they are what was approved")

    def _take(self, entry: Registered, result: HookResult) -> bool:
        if result.side_effects:
            self._side_effects[entry.id] = {**self._side_effects.get(entry.id, {}), **result.side_effects}
        if result.tags:
            self.ctx.metadata.update(result.tags)
            self._note(entry, Deed.TAGGED, ", ".join(f"{name}={value}" for name, value in result.tags.items()))
        if result.context:
            self._context[entry.id] = result.context
            self._note(entry, Deed.TOLD, result.context)
        if result.hidden:
            self._hidden = True
            self._note(entry, Deed.HID, "")
        if not result.allow:
            return self._deny(entry, result.error or "")
        self._rewrite(entry, result)
        if (
            result.ask is not None and self._permit is None
        ):  # with a permit, people have been asked about these arguments
            self._asks[entry.id] = Asked(hook=entry.id, reason=result.ask)
            self._note(entry, Deed.ASKED, result.ask)
        if result.route is not None and self._route is None:  # the strongest hook's sandbox stands
            self._route, self._routed_by = result.route, entry.id
            self._note(entry, Deed.ROUTED, result.route.provider)
        if result.send_back is not None and self._send_back is None and not self.ctx.sent_back:
            self._send_back = result.send_back
            self._note(entry, Deed.SENT_BACK, result.send_back)
        if result.permit is not None:
            self._permit = result.permit
            self._note(entry, Deed.APPROVED, f"request {result.permit.request_id}")
        return False

    def _rewrite(self, entry: Registered, result: HookResult) -> None:
        """Carry a rewrite on. A second one of the same hook would be an answer to its own first: it is left out."""
        if entry.id in self._rewrote:
            return
        ctx = self.ctx
        if result.modified_args is not None and result.modified_args != ctx.args:
            self.ctx = replace(ctx, args=dict(result.modified_args))
            self._rewritten(entry, Deed.REWROTE, f"{_changed(ctx.args, result.modified_args)}")
        if result.modified_prompt is not None and result.modified_prompt != ctx.prompt:
            self.ctx = replace(ctx, prompt=result.modified_prompt)
            self._rewritten(entry, Deed.REWROTE, "the prompt")
        if result.modified_request is not None and result.modified_request != ctx.request:
            self.ctx = replace(ctx, request=result.modified_request)
            self._note(entry, Deed.REWROTE, "the model request")
        if result.modified_result is not None:
            self.ctx = replace(ctx, result=result.modified_result)
            self._note(entry, Deed.REPLACED, "")

    def _rewritten(self, entry: Registered, deed: Deed, what: str) -> None:
        self._rewrote.add(entry.id)
        self._revision += 1
        self._judged[entry.id] = self._revision  # it knows what it made
        self._note(entry, deed, what)

    def _fault(self, entry: Registered, error: BaseException) -> bool:
        what = str(error) if isinstance(error, HookFaultError) else f"{type(error).__name__}: {error}".rstrip(": ")
        self._note(entry, Deed.FAULTED, what)
        self._side_effects[entry.id] = {
            **self._side_effects.get(entry.id, {}),
            "fault": what,
            "on_error": entry.on_error.value,
        }
        match entry.on_error:
            case OnError.ALLOW:
                return False
            case OnError.ASK if self._permit is not None:
                return False  # people have been asked about these arguments
            case OnError.ASK:
                reason = f"the check {entry.name} failed: {what}"
                self._asks[entry.id] = Asked(hook=entry.id, reason=reason)
                return False
            case OnError.DENY:
                return self._deny(entry, what, fault=True)

    def _deny(self, entry: Registered, reason: str, *, fault: bool = False) -> bool:
        self._denied = (entry, reason, fault)
        if not fault:
            self._note(entry, Deed.BLOCKED, reason)
        return True

    def _note(self, entry: Registered, deed: Deed, why: str) -> None:
        ctx = self.ctx
        event = HookEvent(
            deed=deed,
            hook=entry.id,
            moment=ctx.moment,
            agent=ctx.agent,
            session=ctx.session,
            tool_name=ctx.tool_name,
            call_id=ctx.call_id,
            why=why,
        )
        self._trace.append(event)
        self._observer.tell(event)


def _used(result: HookResult) -> list[Power]:
    """List the powers that a verdict makes use of."""
    used = (
        (not result.allow, Power.BLOCK),
        (result.modified_args is not None, Power.REWRITE_ARGS),
        (result.modified_prompt is not None, Power.REWRITE_PROMPT),
        (result.modified_request is not None, Power.REWRITE_REQUEST),
        (result.modified_result is not None, Power.REPLACE_RESULT),
        (result.ask is not None, Power.ASK),
        (result.route is not None, Power.ROUTE),
        (bool(result.context), Power.ADD_CONTEXT),
        (bool(result.tags), Power.TAG),
        (result.hidden, Power.HIDE),
        (result.send_back is not None, Power.SEND_BACK),
    )
    return [power for is_used, power in used if is_used]


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Name the arguments that differ (never their values: they may be secret)."""
    names = [name for name in {**before, **after} if before.get(name, _ABSENT) != after.get(name, _ABSENT)]
    return ", ".join(names)


_ABSENT = object()


def _a(value: object) -> str:
    return f"a {type(value).__name__}"
