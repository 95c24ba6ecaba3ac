"""The chain: hooks one after the other, and what their verdicts come to.

    higher priority first ─▶ … ─▶ judged again if rewritten ─▶ the approval gate ─▶ hooks below 0 (may still deny)

- The first denial ends it; nothing that comes later clears it.
- Rewrites are carried on. Whoever judged before the last rewrite judges again (`ctx.rejudging`), so that no verdict
  rests on what is gone. A hook rewrites a call once, a guard (priority 100 and above) up to three times: so this ends.
- Hooks are shown copies. What one changes without saying so is a fault.
- The gate sees the final arguments and everyone's reasons to ask. People may approve changed arguments: then every hook
  judges those as well. Behind the gate nothing is rewritten, routed or asked.
- A fault (an exception, a time-out, a verdict that the moment does not know) means what the hook's `on_error` says:
  by default no. At the observing moments every hook runs and a fault is noted.
- A permit that was taken for a call that does not run after all is given back: settled as not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from assent.hooks.contract.moments import OBSERVING, Moment
from assent.hooks.engine.checks import HookFaultError
from assent.hooks.engine.judging import Judging
from assent.hooks.engine.observer import UNOBSERVED, Observer
from assent.hooks.engine.outcome import Decision, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.hooks.contract.context import HookContext
    from assent.hooks.engine.registry import Registered

__all__ = ["HookFaultError", "run_chain"]

_LAST_REPORT = 5.0  # seconds for giving a permit back when the agent is being stopped


async def run_chain(hooks: Sequence[Registered], ctx: HookContext, observer: Observer = UNOBSERVED) -> Outcome:
    """Run `hooks` (of one moment, in `HookRegistry.get`'s order) on `ctx`. Never raises for a hook's fault.

    Tags change `ctx.metadata` in place. A permit in the outcome has been taken: whoever runs the call settles it.
    """
    try:
        run = Judging(ctx, observer)
    except RecursionError:
        return Outcome(
            decision=Decision.DENY, reason="what is to be judged nests too deeply, or contains itself", fault=True
        )
    if ctx.moment in OBSERVING:
        for entry in hooks:
            await run.judge(entry)
        return run.outcome()
    try:
        denied = await _front_denies(run, hooks) or await _gates_deny(run, hooks) or await _denies_behind(run, hooks)
    except BaseException:  # the agent is being stopped
        with anyio.move_on_after(_LAST_REPORT, shield=True):
            await run.give_back("the agent was stopped before it ran")
        raise
    if denied:
        await run.give_back()
        if ctx.moment is not Moment.PRE_TOOL_USE:  # what has happened is logged, also when it is withheld
            await _tell_the_logs(run, hooks)
    return run.outcome()


async def _front_denies(run: Judging, hooks: Sequence[Registered]) -> bool:
    front = [entry for entry in hooks if entry.priority >= 0 and not entry.is_gate]
    for entry in front:
        if await run.judge(entry):
            return True
    while stale := [entry for entry in front if run.judged_before_the_last_rewrite(entry)]:
        for entry in stale:
            if await run.judge(entry, again=True):
                return True
    return False


async def _gates_deny(run: Judging, hooks: Sequence[Registered]) -> bool:
    for entry in hooks:
        if entry.is_gate and await run.pass_gate(entry):
            return True
    return False


async def _denies_behind(run: Judging, hooks: Sequence[Registered]) -> bool:
    """Behind the gate: whoever has not judged what the gate let pass (it may be changed) does so now; then the logs."""
    run.frozen = True
    for entry in hooks:
        if run.judged_before_the_last_rewrite(entry) and await run.judge(entry, again=True):
            return True
    for entry in hooks:
        if entry.priority < 0 and not entry.is_gate and await run.judge(entry):
            return True
    return False


async def _tell_the_logs(run: Judging, hooks: Sequence[Registered]) -> None:
    run.frozen = True
    for entry in hooks:
        if entry.priority < 0 and not run.has_judged(entry):
            await run.judge(entry)
