"""Tell how the rules of a file answer one call, and whom they would ask. Nothing is stored, and no hook is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.tool import Tool, check_arguments
from app.domain.errors import InvalidError
from app.domain.money.payment import payments_of
from app.domain.request.caution import CautionKind
from app.domain.rules.policy import Allow, Ask, Deny, Ruling, TraceStep, judge, raised
from app.domain.rules.rule import Then
from app.domain.rules.strictest import Wish, at_least_ask
from app.domain.text.visible import named
from app.usecases.judging.judge_call import CONFIRM_ALL_TOOLS, REQUIRES_CONFIRMATION
from app.usecases.voters.electorate import awaits_directory, nobody_left, unfilled, voters_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import Payment
    from app.domain.request.caution import Caution
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Asking
    from app.domain.rules.spending import Budget
    from app.policies.file.policy_file import LoadedPolicy

ARGUMENTS = "arguments"
"""The id under which arguments (or a tool) that the catalogue refuses are denied."""


class Explanation(Struct, frozen=True, kw_only=True):
    """The answer to a call as a file gives it: `rule` decided, `trace` is every rule that was looked at."""

    call: ToolCall
    verdict: Then
    rule: str
    reason: str
    version: str
    trace: tuple[TraceStep, ...] = ()
    asking: Asking | None = None
    people: tuple[tuple[str, ...], ...] = ()
    """Who may answer each stage today, the barred left out."""
    tier: int | None = None  # which tier of the rule answered, from 1
    payments: tuple[Payment, ...] = ()
    budgets: tuple[Budget, ...] = ()
    """What would count the payments. How much of them is spent is not looked at."""
    step_up: tuple[str, ...] = ()
    """What would take one level of assurance more, if it were so."""
    warned: tuple[CautionKind, ...] = ()
    """The warnings without which the rules would have let it pass."""

    @property
    def paged(self) -> frozenset[str]:
        """Everyone who would be asked."""
        return frozenset(person for stage in self.people for person in stage)


def explain(
    loaded: LoadedPolicy,
    call: ToolCall,
    *,
    now: datetime,
    wishes: Sequence[Wish] = (),
    cautions: Sequence[Caution] = (),
    whole: bool = True,
) -> Explanation:
    """Answer a call by its arguments' schema, the rules and the flags of the catalogue. `wishes` may ask besides.

    So may `cautions`, which the database alone can tell: those of payments, where the file says that the tool pays.
    Where not the `whole` call is known, its arguments are not held against the schema.
    """
    policy = loaded.policy
    try:
        tool = policy.get_tool(call.tool)
        checked = replace(call, arguments=check_arguments(tool, dict(call.arguments))) if whole else call
        payments = payments_of(tool.payment, checked.arguments) if whole and tool.payment else ()
    except InvalidError as error:
        step = TraceStep(rule_id=ARGUMENTS, matched=True, why=error.detail)
        refused = Deny(
            rule_id=ARGUMENTS, reason=error.detail, policy_version=policy.version, trace=(step,), record=True
        )
        return _explained(loaded, call, refused, now)
    flags = [*_flags(loaded, checked, tool), *wishes]
    ruling = at_least_ask(judge(policy, checked, now=now, explaining=True), flags, policy)
    if whole and not payments:
        cautions = [each for each in cautions if each.kind is CautionKind.NEAR_DENIED]
    ruling_at_last = raised(ruling, cautions, policy)
    if whole and isinstance(ruling_at_last, Ask):  # limits are about amounts, of which part of a call says nothing
        ruling_at_last = _refused(ruling_at_last, checked, policy) or ruling_at_last
    explanation = _explained(loaded, checked, ruling_at_last, now)
    if cautions and isinstance(ruling, Allow):
        explanation = replace(explanation, warned=tuple(dict.fromkeys(each.kind for each in cautions)))
    if not payments or explanation.verdict is Then.DENY:
        return replace(explanation, payments=payments)
    counting = [budget for budget in policy.payments.budgets if _counts(budget, tool)]
    step_up = sorted(kind.value for kind in policy.payments.step_up)
    return replace(explanation, payments=payments, budgets=tuple(counting), step_up=tuple(step_up))


def _refused(ruling: Ask, call: ToolCall, policy: Policy) -> Deny | None:
    """Say that nobody could approve it, where the file and the call can tell.

    Whom a platform's group has, and what an agent's key or a proof says of its caller, is known to a gateway alone.
    """
    if awaits_directory(call, ruling.asking.stages, policy) or unfilled(call, ruling.asking.stages, policy):
        return None
    return nobody_left(ruling, call, policy)


def _counts(budget: Budget, tool: Tool) -> bool:
    return not budget.tools or any(pattern.matches(tool.name) for pattern in budget.tools)


def _flags(loaded: LoadedPolicy, call: ToolCall, tool: Tool) -> list[Wish]:
    flags: list[Wish] = []
    if tool.requires_confirmation:
        flags.append(
            Wish(by=REQUIRES_CONFIRMATION, reason=f"The tool {named(tool.name)} always requires confirmation.")
        )
    settings = loaded.agents.get(call.agent)
    if settings is not None and settings.confirm_all_tools:
        flags.append(
            Wish(by=CONFIRM_ALL_TOOLS, reason=f"Every tool of the agent {named(call.agent)} requires confirmation.")
        )
    return flags


def _explained(loaded: LoadedPolicy, call: ToolCall, ruling: Ruling, now: datetime) -> Explanation:
    asking = ruling.asking.as_it_holds if isinstance(ruling, Ask) else None
    voters = voters_for(call, asking.stages, loaded.policy, now=now) if asking else None
    return Explanation(
        call=call,
        verdict=Then.ALLOW if isinstance(ruling, Allow) else Then.DENY if isinstance(ruling, Deny) else Then.ASK,
        rule=ruling.rule_id,
        reason=ruling.reason,
        version=ruling.policy_version,
        trace=ruling.trace,
        tier=next((step.tier for step in ruling.trace if step.matched and step.rule_id == ruling.rule_id), None),
        asking=asking,
        people=tuple(tuple(sorted(stage)) for stage in voters.stages) if voters else (),
    )


def trace_lines(explanation: Explanation) -> list[str]:
    """Tell in a line each what every rule that was looked at said, with the values that it looked at."""
    widest = max((len(step.rule_id) for step in explanation.trace), default=0)
    lines: list[str] = []
    for step in explanation.trace:
        values = f" ({', '.join(f'{name} = {value}' for name, value in step.values)})" if step.values else ""
        decided = "  <- decided" if step.matched and step.rule_id == explanation.rule else ""
        line = f"{step.rule_id.ljust(widest)}  {step.why}{values}{decided}"
        lines.append(line if line.isprintable() else line.encode("unicode_escape").decode())
    return lines
