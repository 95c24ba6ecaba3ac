"""What a chain of hooks comes to, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.verdicts import NOTHING

if TYPE_CHECKING:
    from assent.hooks.contract.model_request import ModelRequest
    from assent.hooks.contract.permit import Permit
    from assent.hooks.contract.verdicts import Routing
    from assent.hooks.engine.observer import HookEvent


class Decision(StrEnum):
    """What is to happen to what the moment is about."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    """People must be asked, and no gate in this chain did."""
    ROUTE = "route"
    """Run it in `Outcome.route`'s sandbox instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A hook that wants people to be asked, and why."""

    hook: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a chain: the decision, and everything that was rewritten, added and noted on the way."""

    decision: Decision = Decision.ALLOW
    by: str = ""
    """The id of the hook that decided; "" when none objected."""
    reason: str = ""
    fault: bool = False
    """The denial is a hook's fault (exception, time-out, …), not its verdict."""
    by_gate: bool = False
    """The denial is an approval gate's; without a fault, `reason` is then the whole text for the model."""
    args: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """The final arguments; `rewritten` says whether they are others than at the start."""
    rewritten: bool = False
    prompt: str = ""
    request: ModelRequest | None = None
    result: Any = None
    asks: tuple[Asked, ...] = ()
    route: Routing | None = None
    context: tuple[str, ...] = ()
    hidden: bool = False
    send_back: str | None = None
    permit: Permit | None = None
    side_effects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Each hook's facts, by its id."""
    trace: tuple[HookEvent, ...] = ()
