"""Whether read-only mode holds an approval back: judged by the same guards as the call was, with the row locked.

The gateway's guards ask a switch or nothing at all, so they answer at once, within the claim's unit. A guard that an
org has made itself may wait for what is elsewhere: it is asked before the unit, for nothing is awaited in one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from app.domain.errors import ReadOnlyError
from app.usecases.hooks.known_call import JUDGED, KnownCall, read_only_of_the_call
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision, Outcome
from assent.hooks.ready.read_only import ReadOnlyGuard

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from assent.hooks.engine.observer import Observer
    from assent.hooks.engine.registry import HookRegistry, Registered

R = TypeVar("R")


def may_hold_back(registry: HookRegistry) -> bool:
    """Say whether a guard within the unit could deny anything while no switch is on: the file has turned it on."""
    return any(_answers_at_once(entry) and not _asks_the_switch(entry) for entry in registry.list())


def has_own_guards(registry: HookRegistry) -> bool:
    """Say whether the org has made read-only guards itself."""
    return any(_is_guard(entry) and not _answers_at_once(entry) for entry in registry.list())


def held_back(
    known: KnownCall, request: ConfirmationRequest, *, now: datetime, observer: Observer
) -> ReadOnlyError | None:
    """Return why an approval is not handed out while read-only is on. For a unit: nothing is awaited."""
    guards = [entry for entry in _guards(known, request) if _answers_at_once(entry)]
    return _refusal(_at_once(_ask(guards, known, request, now, observer)), request) if guards else None


async def held_back_by_own(
    known: KnownCall, request: ConfirmationRequest, *, now: datetime, observer: Observer
) -> ReadOnlyError | None:
    """Return why a guard that the org has made itself does not let an approval be handed out."""
    guards = [entry for entry in _guards(known, request) if not _answers_at_once(entry)]
    return _refusal(await _ask(guards, known, request, now, observer), request) if guards else None


def _guards(known: KnownCall, request: ConfirmationRequest) -> list[Registered]:
    chain = known.registry.get(Moment.PRE_TOOL_USE, tool=request.call.tool, agent=known.agents)
    return [entry for entry in chain if _is_guard(entry)]


def _is_guard(entry: Registered) -> bool:
    return isinstance(entry.hook, ReadOnlyGuard)


def _answers_at_once(entry: Registered) -> bool:
    hook = entry.hook
    return type(hook) is ReadOnlyGuard and (hook.is_on is None or _asks_the_switch(entry))


def _asks_the_switch(entry: Registered) -> bool:
    return isinstance(entry.hook, ReadOnlyGuard) and entry.hook.is_on is read_only_of_the_call


async def _ask(
    guards: Iterable[Registered], known: KnownCall, request: ConfirmationRequest, now: datetime, observer: Observer
) -> Outcome:
    call = request.call
    ctx = HookContext(
        moment=Moment.PRE_TOOL_USE,
        timestamp=now,
        org=call.org,
        agent=call.agent,
        session=call.session or "",
        user=call.requester or "",
        tool_name=canonical_name(call.tool),
        called_as=call.tool,
        args=call.arguments,
        call_id=call.call_id or "",
    )
    token = JUDGED.set(known)
    try:
        return await run_chain(tuple(guards), ctx, observer)
    finally:
        JUDGED.reset(token)


def _at_once(asked: Coroutine[object, object, R]) -> R:
    """Run what awaits nothing to its end. Raises RuntimeError if it waits after all."""
    try:
        asked.send(None)
    except StopIteration as stop:
        return stop.value
    asked.close()
    raise RuntimeError("a guard that answers at once has waited")


def _refusal(outcome: Outcome, request: ConfirmationRequest) -> ReadOnlyError | None:
    if outcome.decision is not Decision.DENY:
        return None
    return ReadOnlyError(f"{outcome.reason} The approval stands until it lapses.", state=request.state.value)
