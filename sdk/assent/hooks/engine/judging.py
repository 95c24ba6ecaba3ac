"""One run of a chain: the context as it stands, what the hooks said so far, and how one more verdict is taken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.hook import GUARD, OnError
from assent.hooks.contract.verdicts import PASSED, HookResult, Routing
from assent.hooks.engine.bounded import bounded
from assent.hooks.engine.checks import HookFaultError, check_verdict
from assent.hooks.engine.observer import Deed, HookEvent, Observer
from assent.hooks.engine.outcome import Asked, Decision, Outcome
from assent.hooks.engine.subject import copied, same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.permit import Permit
    from assent.hooks.engine.registry import Registered

_GUARDS_REWRITE = 3


class Judging:
    """The state of one run. `ctx` is what hooks are shown; what counts is kept apart from it."""

    def __init__(self, ctx: HookContext, observer: Observer) -> None:
        self.frozen = False
        """Behind the gate: nothing is rewritten, routed or asked any more."""
        self._start, self._args, self._result = ctx, copied(ctx.args), copied(ctx.result)
        self.ctx: HookContext = replace(ctx, args=copied(self._args), result=copied(self._result))
        self._observer = observer
        self._revision = 0  # how often what is judged was rewritten
        self._judged: dict[str, int] = {}  # hook id → the revision that its verdict rests on
        self._rewrites: dict[str, int] = {}
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

    def has_judged(self, entry: Registered) -> bool:
        """Say whether the hook was asked at all."""
        return entry.id in self._judged

    async def judge(self, entry: Registered, *, again: bool = False) -> bool:
        """Let one hook judge what now stands; True if it denied."""
        if again != self.ctx.rejudging:
            self.ctx = replace(self.ctx, rejudging=again)
        self._judged[entry.id] = self._revision
        routed = self._route if self._routed_by == entry.id else None
        if again:  # what it said of the former arguments is void
            self._asks.pop(entry.id, None)
            self._context.pop(entry.id, None)
            if routed is not None:
                self._route, self._routed_by = None, ""
        try:
            result = await self._answer(entry)
            if result is None or result is PASSED:
                self._refuse_silent_changes()
                return False
            return self._take(entry, check_verdict(result, self.ctx.moment), routed)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a hook raises is its fault, and means no
            return self._fault(entry, error)

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
            self.frozen = True  # a second gate approves this, or denies
        return False

    async def give_back(self, why: str = "") -> None:
        """The call does not run, though people approved it: the approval is spent, and the trail says why."""
        if self._permit is None:
            return
        if self._denied is not None:
            why = f"the hook {self._denied[0].id} denied it after the approval: {self._denied[1]}"
        permit, self._permit = self._permit, None
        from assent.client.models import OutcomeStatus  # whoever has a permit has it loaded; a gateway has none

        await permit.settle(OutcomeStatus.FAILED, error=f"not run: {why}")

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
            args=self._args,
            rewritten=not same(self._args, copied(self._start.args)),
            prompt=ctx.prompt,
            request=ctx.request,
            result=self._result,
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

    def _refuse_silent_changes(self) -> None:
        if not same(self.ctx.args, self._args):
            raise HookFaultError("it changed the arguments in place: return modify({**ctx.args, …}) instead")
        if not same(self.ctx.result, self._result):
            raise HookFaultError("it changed the result in place: return replace_result(…) instead")

    def _take(self, entry: Registered, result: HookResult, routed: Routing | None) -> bool:
        if result.allow:
            self._rewrite(entry, self._with_routed_command(result))
            self._refuse_silent_changes()
        self._note_additions(entry, result)
        if not result.allow:
            return self._deny(entry, result.error or "")
        # With a permit, people have been asked about these very arguments.
        if result.ask is not None and self._permit is None:
            if entry.priority < 0:
                self._refuse_behind_the_gate(entry, "asks people")
            self._asks[entry.id] = Asked(hook=entry.id, reason=result.ask)
            self._note(entry, Deed.ASKED, result.ask)
        if result.route is not None and self._route is None:  # the strongest hook's sandbox stands
            self._route_to(entry, replace(result.route, command=None), routed)
        if result.send_back is not None and self._send_back is None and not self.ctx.sent_back:
            self._send_back = result.send_back
            self._note(entry, Deed.SENT_BACK, result.send_back)
        if result.permit is not None:
            if self._permit is not None:
                raise HookFaultError("it took a second approval for a call that has one")
            self._permit = result.permit
            self._note(entry, Deed.APPROVED, f"request {result.permit.request_id}")
        return False

    def _note_additions(self, entry: Registered, result: HookResult) -> None:
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

    def _with_routed_command(self, result: HookResult) -> HookResult:
        """Make a route's own command the call's `command`: guards and people judge what the sandbox will run."""
        if result.route is None or result.route.command is None:
            return result
        args = result.modified_args if result.modified_args is not None else self._args
        return replace(result, modified_args={**args, "command": result.route.command})

    def _route_to(self, entry: Registered, routing: Routing, routed: Routing | None) -> None:
        if routed != routing:  # behind the gate a hook may say again what it said before
            self._refuse_behind_the_gate(entry, "routes the call")
        self._route, self._routed_by = routing, entry.id
        self._note(entry, Deed.ROUTED, routing.provider)

    def _rewrite(self, entry: Registered, result: HookResult) -> None:
        """Carry a rewrite on, if the hook may make (another) one."""
        ctx, args = self.ctx, self._args
        new_args = copied(result.modified_args) if result.modified_args is not None else args
        prompt = ctx.prompt if result.modified_prompt is None else result.modified_prompt
        request = ctx.request if result.modified_request is None else result.modified_request
        new_result = self._result if result.modified_result is None else copied(result.modified_result)
        replaced = result.modified_result is not None and not same(new_result, self._result)
        if same(new_args, args) and prompt == ctx.prompt and request == ctx.request and not replaced:
            if result.modified_args is not None:
                self.ctx = replace(ctx, args=copied(args))
            return
        if not self._may_rewrite(entry):
            self.ctx = replace(ctx, args=copied(args), result=copied(self._result))
            return
        self._refuse_behind_the_gate(entry, "rewrites the arguments", gates_may=self._permit is None)
        self._args, self._result = new_args, new_result
        self.ctx = replace(ctx, args=copied(new_args), prompt=prompt, request=request, result=copied(new_result))
        self._rewrites[entry.id] = self._rewrites.get(entry.id, 0) + 1
        self._revision += 1
        self._judged[entry.id] = self._revision  # it knows what it made
        if replaced:
            self._note(entry, Deed.REPLACED, "")
        else:
            what = _changed(args, new_args) or ("the prompt" if prompt != ctx.prompt else "the model request")
            self._note(entry, Deed.REWROTE, what)

    def _may_rewrite(self, entry: Registered) -> bool:
        """Once. A second rewrite of a hook that only rewrites would answer its own first: whoever comes later decides.

        A guard insists: it rewrites again, or, if that does not end, the hooks do not agree and the call does not run.
        """
        made = self._rewrites.get(entry.id, 0)
        if made and entry.priority < GUARD:
            return False
        if made >= _GUARDS_REWRITE:
            raise HookFaultError("it and another hook rewrite each other's arguments without end")
        return True

    def _refuse_behind_the_gate(self, entry: Registered, what: str, *, gates_may: bool = False) -> None:
        if self.frozen and not (entry.is_gate and gates_may):
            raise HookFaultError(f"it {what} behind the gate, where the call stands as it was approved")

    def _fault(self, entry: Registered, error: BaseException) -> bool:
        what = str(error) if isinstance(error, HookFaultError) else f"{type(error).__name__}: {error}".rstrip(": ")
        self.ctx = replace(self.ctx, args=copied(self._args), result=copied(self._result))  # whatever it did to them
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
                return False  # people have been asked about these very arguments
            case OnError.ASK:
                reason = f"the check {entry.name} failed: {what}"
                self._asks[entry.id] = Asked(hook=entry.id, reason=reason)
                return False
            case OnError.DENY:
                return self._deny(entry, what, fault=True)

    def _deny(self, entry: Registered, reason: str, *, fault: bool = False) -> bool:
        if self._denied is None:  # the first denial stands
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


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Name the arguments that differ (never their values: they may be secret)."""
    names = [name for name in {**before, **after} if not same(before.get(name, _ABSENT), after.get(name, _ABSENT))]
    return ", ".join(names)


_ABSENT = object()
