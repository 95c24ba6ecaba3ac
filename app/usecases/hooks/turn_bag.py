"""The bag of a turn after a chain: what the gateway gives back it takes again; tags that do not fit are a fault."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app.domain.errors import BadJsonError
from app.domain.text.canonical import MAX_DEPTH, check_value
from app.usecases.hooks.hook_records import presentable
from assent.hooks.contract.hook import OnError
from assent.hooks.contract.moments import POWERS, Moment, Power
from assent.hooks.engine.observer import Deed
from assent.hooks.engine.outcome import Asked, Decision, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assent.hooks.engine.registry import Registered

LARGEST = 16 * 1024
"""Bytes of the bag as JSON."""
OWN = "assent."
_IN_A_BODY = 2  # levels that stand around the bag


def without_own(bag: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the engine keeps in the bag for itself: no caller sets it, and none gets it."""
    return {name: value for name, value in bag.items() if not name.startswith(OWN)}


def bounded(given: Mapping[str, Any], bag: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    """Return the bag as it goes back, what was set in it, and the names of the tags that had to be dropped.

    `given` is the bag as it came. Dropped is what no body may hold, and of the rest the largest until all fits.
    """
    left = {name: presentable(value) for name, value in without_own(bag).items()}
    tags = {name: value for name, value in left.items() if name not in given or given[name] != value}
    dropped = [name for name, value in tags.items() if not _acceptable(name, value)]
    largest = sorted(tags, key=lambda name: len(json.dumps(tags[name])))
    kept = _without(left, given, dropped)
    while largest and len(json.dumps(kept)) > LARGEST:
        dropped.append(largest.pop())
        kept = _without(left, given, dropped)
    return kept, {name: value for name, value in tags.items() if name not in dropped}, tuple(dict.fromkeys(dropped))


def as_fault(outcome: Outcome, chain: Sequence[Registered], moment: Moment, dropped: Sequence[str]) -> Outcome:
    """Return the outcome with the fault of whoever set the dropped tags: it means what its `on_error` says."""
    entry = _tagger(outcome, chain, dropped)
    why = f"its tags are dropped ({', '.join(dropped)[:200]}): the bag of a turn may have {LARGEST} bytes as JSON"
    noted = {**outcome.side_effects.get(entry.id, {}), "fault": why, "on_error": entry.on_error.value}
    told = replace(outcome, side_effects={**outcome.side_effects, entry.id: noted})
    if Power.BLOCK not in POWERS[moment] or outcome.decision is Decision.DENY or entry.on_error is OnError.ALLOW:
        return told
    if entry.on_error is OnError.ASK:
        asked = Asked(hook=entry.id, reason=f"the check {entry.name} failed: {why}")
        return replace(told, asks=(*told.asks, asked))
    return replace(told, decision=Decision.DENY, by=entry.id, reason=why, fault=True, by_gate=False)


def _tagger(outcome: Outcome, chain: Sequence[Registered], dropped: Sequence[str]) -> Registered:
    tagged = [each for each in outcome.trace if each.deed is Deed.TAGGED]
    guilty = [each.hook for each in tagged if any(f"{name}=" in each.why for name in dropped)]
    wanted = [*guilty, *(each.hook for each in reversed(tagged))]
    return next((entry for hook in wanted for entry in chain if entry.id == hook), chain[0])


def _without(left: Mapping[str, Any], given: Mapping[str, Any], dropped: Sequence[str]) -> dict[str, Any]:
    """Leave the dropped tags out; what stood under their names before stands there again."""
    return {
        name: given[name] if name in dropped else left[name] for name in left if name not in dropped or name in given
    }


def _acceptable(name: str, value: Any) -> bool:
    try:
        check_value({name: value}, max_depth=MAX_DEPTH - _IN_A_BODY)
    except BadJsonError:
        return False
    return True
