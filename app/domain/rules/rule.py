"""One rule of the file: what it is about, what it answers, and whom it asks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from app.domain.errors import BadArgumentsError
from app.domain.money.payment import payments_of, totals
from app.domain.people.assurance import Assurance
from app.domain.request.request import Risk
from app.domain.request.timetable import EPOCH, REMINDERS, timetable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from app.domain.call.name_pattern import NamePattern
    from app.domain.call.tool import Tool
    from app.domain.request.quorum import Stage
    from app.domain.request.timetable import Rung, Timer
    from app.domain.rules.condition import Condition
    from app.domain.rules.permits import StandingTerms
    from app.domain.rules.session_approval import SessionTerms
    from app.domain.text.canonical import JsonValue


class Then(StrEnum):
    """What a rule answers."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Whom to ask, where, and how long: what rules that leave it out inherit from the file's `ask`."""

    stages: tuple[Stage, ...]
    channels: tuple[str, ...]
    timeout: timedelta = timedelta(minutes=30)
    claim_within: timedelta = timedelta(minutes=10)  # how long an approval may wait to be used
    lease: timedelta = timedelta(minutes=10)  # how long an execution may take before its outcome is unknown
    remind: tuple[float, ...] = REMINDERS  # at which fractions of `timeout` those who have not answered hear of it
    escalate: tuple[Rung, ...] = ()  # who is brought in as time passes
    fallback: tuple[str, ...] = ()  # channels that are tried when none of `channels` can be reached
    cc: tuple[str, ...] = ()  # who hears how it ends besides the requester: groups, people, the agent's owner
    risk: Risk = Risk.NORMAL
    assurance: Assurance = Assurance.L1
    standing: StandingTerms | None = None  # what a standing approval may allow at most; None: there is none
    session: SessionTerms | None = None  # what one approver may allow for a session beside an approval; None: nothing
    timers: tuple[Timer, ...] = field(init=False, repr=False, compare=False)
    """What is to happen while a request waits that begins at `EPOCH`: worked out once, for all that begin later."""

    def __post_init__(self) -> None:
        """Work the timetable out."""
        timers = timetable(EPOCH, self.timeout, remind=self.remind, escalate=self.escalate)
        object.__setattr__(self, "timers", timers)

    @property
    def each_time(self) -> Asking:
        """The same without anything that may be permitted beforehand: people are asked about every such call."""
        return replace(self, standing=None, session=None)

    @property
    def as_it_holds(self) -> Asking:
        """The same as it is told: what takes a second factor is not permitted beforehand, whatever the file says."""
        return self if self.assurance.on_cards else self.each_time

    @property
    def by_one_click(self) -> bool:
        """Whether one person's click decides: one stage that needs one, and no second factor."""
        return self.assurance < Assurance.L3 and len(self.stages) == 1 and self.stages[0].need == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """What a rule answers for payments up to an amount in each currency; `up_to` None is for all above."""

    up_to: Mapping[str, Decimal] | None = field(hash=False)
    then: Then
    asking: Asking | None = None

    def holds(self, sums: Mapping[str, Decimal]) -> bool:
        """Say whether the totals of a call are all within it; a currency that it does not name is above it."""
        limits = self.up_to
        return limits is None or all(amount <= limits.get(currency, -1) for currency, amount in sums.items())

    def told(self) -> str:
        """Name it in a few words."""
        if self.up_to is None:
            return "the highest tier"
        return f"the tier up to {', '.join(f'{currency} {amount:f}' for currency, amount in self.up_to.items())}"


def tier_for(tiers: Sequence[Tier], tool: Tool, arguments: Mapping[str, JsonValue]) -> int:
    """Return the index of the tier that answers. Payments that cannot be read are above all of them."""
    highest = len(tiers) - 1
    if tool.payment is None:
        return highest
    try:
        sums = totals(payments_of(tool.payment, arguments))
    except BadArgumentsError:
        return highest
    return next((at for at, tier in enumerate(tiers) if tier.holds(sums)), highest)


class TraceStep(NamedTuple):
    """What became of one rule. `values` is what its condition named, with sensitive arguments hidden.

    A tuple, because a call may be held against hundreds of rules and each leaves one of these.
    """

    rule_id: str
    matched: bool
    why: str
    values: tuple[tuple[str, str], ...] = ()
    tier: int | None = None  # which tier of the rule answered, from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the file. Only a rule that asks has `asking`. No `agents` means every agent.

    `tiers` are by amount, the lowest first; the last one has no limit. A rule with tiers says `ask`, and each of them
    what it answers; `asking` is then that of the last.
    """

    id: str
    tools: tuple[NamePattern, ...]
    agents: tuple[NamePattern, ...] = ()
    when: Condition | None = None
    then: Then
    reason: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])  # the same by language, where the file has it so
    asking: Asking | None = None
    tiers: tuple[Tier, ...] = ()
    record: bool = True
    proved: bool = False  # it takes only calls whose requester is proved, and refuses the others
    line: int = 0
    passed_over: TraceStep = field(init=False, repr=False, compare=False)
    """What the trace says where its condition is false: made once, for a call may be held against hundreds of rules."""

    def __post_init__(self) -> None:
        """Make what is the same for every call."""
        object.__setattr__(self, "passed_over", TraceStep(self.id, matched=False, why="its condition is false"))

    def names(self, tool: str) -> bool:
        """Say whether the rule is about this tool."""
        return any(pattern.matches(tool) for pattern in self.tools)

    def is_for(self, agent: str) -> bool:
        """Say whether the rule is about this agent."""
        return not self.agents or any(pattern.matches(agent) for pattern in self.agents)
