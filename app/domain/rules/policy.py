"""The rules of an org and the answer they give for one tool call.

Rules are read top to bottom and the first that matches answers; the default answers what no rule names. Doubt never
allows: a condition that cannot be evaluated asks people, and where there is nobody to ask the answer is no. Nothing
that an agent says of itself (that its call is safe, read-only, approved) is looked at.

No runtime's name for a tool leads around what is written: a shell is `exec` to the file whatever the runtime calls it
(`bash`, `Bash`, `run_shell_command`). A call is judged under its own name, and under the tool's canonical name as
well; the stricter of both wins.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from dataclasses import dataclass, field
from datetime import UTC
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.tool import Tool, as_one
from app.domain.errors import UnknownToolError
from app.domain.people.people import Directory
from app.domain.people.roles import Role
from app.domain.request.quorum import stages_at
from app.domain.rules.attention import Attention
from app.domain.rules.condition import ConditionFailedError
from app.domain.rules.condition_scope import look, values_seen
from app.domain.rules.rule import Then, TraceStep, tier_for
from app.domain.rules.ruling import Allow, Ask, Deny, Ruling
from app.domain.rules.spending import PaymentTerms
from app.domain.text.language import Language
from app.domain.text.visible import QUOTED
from app.domain.trail.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from app.domain.call.tool_call import ToolCall
    from app.domain.people.working_time import WorkingTime
    from app.domain.request.caution import Caution
    from app.domain.request.quorum import Electorate
    from app.domain.rules.condition import Scope
    from app.domain.rules.permits import GlassTerms
    from app.domain.rules.rule import Asking, Rule, Tier

DEFAULT_RULE = "default"  # the id under which the file's default answers
UNKNOWN_TOOL_RULE = "unknown-tool"  # the id under which a tool that the file does not know is denied


class UnknownTools(StrEnum):
    """What becomes of a call of a tool that the file's `tools` do not name."""

    RULES = "rules"  # the rules and the default decide, as for any tool
    DENY = "deny"
    REFUSE = "refuse"  # the call itself is an error: `Policy.get_tool` raises


class ChannelSpec(Struct, frozen=True, kw_only=True):
    """A configured channel, without its secrets."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One org's file, checked and compiled. `ask` is None only where nothing would need it.

    `zone` is that of the conditions' `now`; `hours` is None where the file has no calendar.
    """

    org: str
    version: str
    default: Then
    ask: Asking | None = None
    unknown_tools: UnknownTools = UnknownTools.RULES
    prefixes: tuple[str, ...] = ()
    """How names begin that are known without being listed."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    rules: tuple[Rule, ...] = ()
    directory: Directory = field(default_factory=Directory)
    channels: tuple[ChannelSpec, ...] = ()
    language: Language = Language.EN
    zone: tzinfo = UTC
    hours: WorkingTime | None = None
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict[Role, tuple[str, ...]])
    url: str | None = None  # where people reach the gateway's pages
    attention: Attention = field(default_factory=Attention)
    payments: PaymentTerms = field(default_factory=PaymentTerms)
    break_glass: GlassTerms | None = None
    retention: Retention = field(default_factory=Retention)
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """What runtimes call a tool (lower case, `_` for `-`), and its canonical name, which stands for itself."""
    electorates: dict[object, Electorate] = field(
        init=False, repr=False, compare=False, default_factory=dict[object, "Electorate"]
    )
    """Who may vote on calls that are alike: found once, and forgotten with this version of the file."""
    _rules_of: dict[str, tuple[Rule, ...]] = field(init=False, repr=False, compare=False)
    _names_of: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _whole: dict[str, Tool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the rules by tool, so that judging a call looks only at the rules that name its tool."""
        names = {*self.tools, *(p.text for rule in self.rules for p in rule.tools if not p.is_glob)}
        object.__setattr__(self, "_rules_of", {name: self._naming(name) for name in names})
        object.__setattr__(self, "_names_of", {name: self._also_called(name) for name in names})
        object.__setattr__(self, "_whole", {name: as_one(tools_of(self, name)) for name in self.tools})

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        """Return the rules that name this tool, in the file's order."""
        known = self._rules_of.get(tool)
        return self._naming(tool) if known is None else known

    def names_of(self, tool: str) -> tuple[str, ...]:
        """Return the names under which a call of `tool` is judged, its own first.

        A name that the file does not write at all stands for every name of the same tool that it writes.
        """
        known = self._names_of.get(tool)
        if known is not None:
            return known
        canonical = self._canonical(tool)
        alike = sorted(name for name in self._names_of if canonical and self._canonical(name) == canonical)
        return tuple(dict.fromkeys((*self._also_called(tool), *alike)))

    def _canonical(self, tool: str) -> str | None:
        return self.aliases.get(tool.casefold().replace("-", "_"))

    def _also_called(self, tool: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((tool, self._canonical(tool) or tool)))

    def get_tool(self, name: str) -> Tool:
        """Return what the file says of a tool; of an unknown one, its bare name.

        Raises UnknownToolError where the file refuses unknown tools.
        """
        known = self.tools.get(name)
        if known is not None:
            return known
        if self.unknown_tools is UnknownTools.REFUSE and not name.startswith(self.prefixes):
            near = difflib.get_close_matches(name, self.tools, n=3)
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise UnknownToolError(f"the configuration does not know this tool{hint}", path="tool", near=near)
        return Tool(name=name)

    def whole_tool(self, name: str) -> Tool:
        """Return what the file says of a tool under all of its names; of an unknown one, its bare name.

        Raises UnknownToolError where the file refuses unknown tools.
        """
        known = self._whole.get(name)
        return as_one(tools_of(self, name)) if known is None else known

    def is_enforced(self, name: str) -> bool:
        """Say whether only an executor may run a tool; of a tool that the file refuses, nobody may."""
        try:
            return self.whole_tool(name).enforced
        except UnknownToolError:
            return True

    def _naming(self, tool: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.names(tool))


def judge(policy: Policy, call: ToolCall, *, now: datetime, explaining: bool = False) -> Ruling:
    """Answer a call whose arguments have been checked. Never raises for what a call contains.

    The trace has the values of the rule that answers; `explaining`, also of those that did not match.
    """
    tool = policy.tools.get(call.tool)
    if tool is None and policy.unknown_tools is not UnknownTools.RULES and not call.tool.startswith(policy.prefixes):
        why = "The configuration does not know this tool."
        step = TraceStep(rule_id=UNKNOWN_TOOL_RULE, matched=True, why=why)
        return _deny(policy, UNKNOWN_TOOL_RULE, why, (step,))
    tool = tool or Tool(name=call.tool)
    arguments = call.arguments
    trace: list[TraceStep] = []
    scope: Scope | None = None
    for rule in policy.rules_for(call.tool):
        if rule.agents and not rule.is_for(call.agent):
            trace.append(TraceStep(rule.id, matched=False, why="is about other agents"))
            continue
        condition = rule.when
        if condition is None:
            trace.append(TraceStep(rule.id, matched=True, why="has no condition"))
            return _answer(policy, rule, tool, call, tuple(trace))
        if not explaining and condition.is_surely_false(arguments):
            trace.append(rule.passed_over)
            continue
        if scope is None:
            known = call.tool in policy.tools
            scope = look(tool, call, now, known=known, zone=policy.zone, hours=policy.hours)
        try:
            holds = condition.holds(scope)
        except ConditionFailedError as error:
            why = f"its condition could not be evaluated: {error.why}"
            trace.append(TraceStep(rule.id, True, why, values_seen(condition, tool, call, scope)))
            return _in_doubt(policy, rule, call, tuple(trace))
        if holds:
            trace.append(TraceStep(rule.id, True, "its condition is true", values_seen(condition, tool, call, scope)))
            return _answer(policy, rule, tool, call, tuple(trace))
        step = rule.passed_over
        trace.append(step._replace(values=values_seen(condition, tool, call, scope)) if explaining else step)
    trace.append(TraceStep(rule_id=DEFAULT_RULE, matched=True, why="no rule matched"))
    return _by_default(policy, tuple(trace))


def _answer(policy: Policy, rule: Rule, tool: Tool, call: ToolCall, trace: tuple[TraceStep, ...]) -> Ruling:
    if rule.proved and call.proof is None:
        return _unproven(policy, rule, trace)
    if rule.tiers:
        return _by_amount(policy, rule, tool, call, trace)
    match rule.then:
        case Then.ALLOW:
            reason = rule.reason or f"Rule {rule.id} allows it."
            return Allow(
                rule_id=rule.id,
                reason=reason,
                policy_version=policy.version,
                trace=trace,
                record=rule.record,
                otherwise=policy.ask,
            )
        case Then.DENY:
            reason = rule.reason or f"Rule {rule.id} forbids it."
            return _deny(policy, rule.id, reason, trace, record=rule.record)
        case Then.ASK:
            return ask_or_deny(policy, rule.id, rule.reason or f"Rule {rule.id} asks for approval.", rule.asking, trace)
        case _:
            assert_never(rule.then)


def _unproven(policy: Policy, rule: Rule, trace: tuple[TraceStep, ...]) -> Deny:
    """Refuse what nobody has proved to have asked for, with the mend: for the model, who is no person, to tell one."""
    reason = (
        f"Rule {rule.id} takes only calls of a person who is proved to have asked, and who asked for this one is not "
        "proved. Whoever runs this agent has to hand over that person's ID token with the call (requester_token); "
        "once they have signed in, the call may be made anew."
    )
    return replace(_deny(policy, rule.id, reason, trace), unproven=True)


def _by_amount(policy: Policy, rule: Rule, tool: Tool, call: ToolCall, trace: tuple[TraceStep, ...]) -> Ruling:
    """Answer by the tier that the call's totals are within."""
    at = tier_for(rule.tiers, tool, call.arguments)
    tier = rule.tiers[at]
    asking = next((above.asking for above in rule.tiers[at:] if above.asking is not None), None)
    trace = (*trace[:-1], trace[-1]._replace(why=f"{trace[-1].why}; {tier.told()} answers", tier=at + 1))
    return _of_tier(policy, rule, tier, asking, trace)


def _of_tier(
    policy: Policy, rule: Rule, tier: Tier, asking: Asking | None, trace: tuple[TraceStep, ...]
) -> Allow | Deny | Ask:
    match tier.then:
        case Then.ALLOW:
            return Allow(
                rule_id=rule.id,
                reason=rule.reason or f"Rule {rule.id} allows it ({tier.told()}).",
                policy_version=policy.version,
                trace=trace,
                record=True,
                otherwise=asking,
            )
        case Then.DENY:
            return _deny(policy, rule.id, rule.reason or f"Rule {rule.id} forbids it ({tier.told()}).", trace)
        case Then.ASK:
            reason = rule.reason or f"Rule {rule.id} asks for approval."
            return ask_or_deny(policy, rule.id, reason, asking, trace)
        case _:
            assert_never(tier.then)


def _in_doubt(policy: Policy, rule: Rule, call: ToolCall, trace: tuple[TraceStep, ...]) -> Ruling:
    if rule.proved and call.proof is None:
        return _unproven(policy, rule, trace)
    reason = f"The condition of rule {rule.id} could not be evaluated, so people are asked."
    asking = rule.asking or policy.ask
    # What was permitted beforehand was permitted for what the rule is about, and that is not known here.
    return ask_or_deny(policy, rule.id, reason, asking.each_time if asking else None, trace)


def _by_default(policy: Policy, trace: tuple[TraceStep, ...]) -> Ruling:
    match policy.default:
        case Then.ALLOW:
            reason = "No rule matched, and the default is to allow."
            return Allow(
                rule_id=DEFAULT_RULE,
                reason=reason,
                policy_version=policy.version,
                trace=trace,
                record=True,
                otherwise=policy.ask,
            )
        case Then.DENY:
            return _deny(policy, DEFAULT_RULE, "No rule matched, and the default is to deny.", trace)
        case Then.ASK:
            return ask_or_deny(policy, DEFAULT_RULE, "No rule covers this call, so people decide.", policy.ask, trace)
        case _:
            assert_never(policy.default)


def ask_or_deny(
    policy: Policy, rule_id: str, reason: str, asking: Asking | None, trace: tuple[TraceStep, ...]
) -> Ask | Deny:
    """Ask whom `asking` names; where that is nobody, the answer is no."""
    if asking is None or not asking.stages or not asking.channels:
        return _deny(policy, rule_id, f"{reason.removesuffix('.')}; but there is nobody to ask.", trace)
    return Ask(rule_id=rule_id, reason=reason, policy_version=policy.version, trace=trace, asking=asking)


def _deny(policy: Policy, rule_id: str, reason: str, trace: tuple[TraceStep, ...], *, record: bool = True) -> Deny:
    return Deny(rule_id=rule_id, reason=reason, policy_version=policy.version, trace=trace, record=record)


def raised(ruling: Ruling, cautions: Sequence[Caution], policy: Policy) -> Ruling:
    """Return the ruling with what the cautions add: an allow asks, an ask takes one level of assurance more.

    People are also as many as the level takes. Whom an allowed call would ask is said by its rule's next tier, or by
    the file's `ask`; where nobody is, the answer is no.
    """
    match ruling:
        case Deny():
            return ruling
        case Allow() if not cautions:
            return ruling
        case Allow():
            reason = f"{ruling.reason.removesuffix('.')}; but people are asked, because of the warnings."
            asked = ask_or_deny(policy, ruling.rule_id, reason, ruling.otherwise, ruling.trace)
            return replace(asked, asking=_peopled(asked.asking)) if isinstance(asked, Ask) else asked
        case Ask():
            asking = ruling.asking
            if any(caution.kind in policy.payments.step_up for caution in cautions):
                asking = dataclasses.replace(asking, assurance=asking.assurance.raised)
            return replace(ruling, asking=_peopled(asking))


def _peopled(asking: Asking) -> Asking:
    stages = stages_at(asking.stages, asking.assurance)
    return asking if stages == asking.stages else dataclasses.replace(asking, stages=stages)


def tools_of(policy: Policy, tool: str) -> tuple[Tool, ...]:
    """Return what the file says of a tool under each of its names; of an unknown one, its bare name.

    Raises UnknownToolError where the file refuses unknown tools.
    """
    own, *others = policy.names_of(tool)
    return policy.get_tool(own), *(policy.tools[name] for name in others if name in policy.tools)


def sensitive_of(policy: Policy, tool: str) -> tuple[str, ...]:
    """Return the sensitive paths of a tool under all of its names; none of an unknown tool."""
    try:
        return policy.whole_tool(tool).sensitive if tool else ()
    except UnknownToolError:
        return ()


def rulings_of(policy: Policy, call: ToolCall, *, now: datetime) -> list[tuple[str, Ruling]]:
    """Judge a call for its agent under each name of the tool; the first ruling is that of its own name.

    Under another name only a rule counts that is written about that name and not about the call's own: the rules that
    name both, and the default, have answered in the place where they stand.
    """
    found = [(call.tool, judge(policy, call, now=now))]
    others = policy.names_of(call.tool)[1:]
    own = {rule.id for rule in policy.rules_for(call.tool)} if others else set[str]()
    for name in others:
        ruling = judge(policy, replace(call, tool=name), now=now)
        if ruling.rule_id not in {*own, DEFAULT_RULE, UNKNOWN_TOOL_RULE}:
            found.append((name, ruling))
    return found


def why(ruling: Ask) -> str:
    """Say in a sentence which rule asks, and the values that tripped it."""
    seen = [f"{name} = {value}" for step in ruling.trace if step.matched for name, value in step.values]
    tripped = dict.fromkeys(seen)  # several agents' rules may be one
    told = f"{ruling.reason} ({', '.join(tripped)})" if tripped else ruling.reason
    return told.replace("\0", "\\u{0}")  # PostgreSQL's texts have no NUL


_TRIPPED = re.compile(QUOTED + r"|\s?\((?P<values>[a-z_]+(?:\.[^ =()]+)* = .*)\)\Z", re.DOTALL)


def reason_apart(told: str) -> tuple[str, str]:
    """Part what `why` has put together: the rule's reason, and the values that tripped it ("" for none)."""
    found = next((each for each in _TRIPPED.finditer(told) if each["values"]), None)  # what is quoted is none
    return (told[: found.start()], found["values"]) if found else (told, "")
