"""What the commands about rules say of payments: tiers, budgets, levels, and permissions given beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.domain.money.payment import plain, totals
from app.domain.people.assurance import Assurance
from app.domain.rules.rule import Then

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from decimal import Decimal

    from app.domain.rules.permits import Bounds, StandingTerms
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Asking, Rule, Tier
    from app.domain.rules.session_approval import SessionTerms
    from app.domain.rules.spending import Budget
    from app.usecases.judging.explain import Explanation

_MOST_PAYEES = 5
_UNITS = {86_400: "d", 3_600: "h", 60: "m"}


def payment_lines(explanation: Explanation) -> list[str]:
    """Tell what a call pays, which tier answered, and what counts its payments; nothing of a call that pays nothing."""
    if not explanation.payments:
        return []
    payees = list(dict.fromkeys(payment.payee for payment in explanation.payments))
    more = f" and {len(payees) - _MOST_PAYEES} more" if len(payees) > _MOST_PAYEES else ""
    told = f"{sums_told(totals(explanation.payments))} to {', '.join(payees[:_MOST_PAYEES])}{more}"
    lines = ["", f"what it pays: {told if told.isprintable() else told.encode('unicode_escape').decode()}"]
    if explanation.tier is not None:
        lines.append(f"  tier {explanation.tier} of rule {explanation.rule} answers")
    if explanation.budgets:
        lines.append("  counted by these budgets; what is spent of them is in the database, and not looked at here:")
        lines += [f"    {budget_told(budget)}" for budget in explanation.budgets]
    if explanation.step_up:
        lines.append(f"  one level of assurance more, if it is: {', '.join(explanation.step_up)}")
    return lines


def view_payments(explanation: Explanation) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "payments": [
            {"amount": plain(payment.amount), "currency": payment.currency, "payee": payment.payee}
            for payment in explanation.payments
        ],
        "totals": {currency: plain(amount) for currency, amount in totals(explanation.payments).items()},
        "budgets": [budget.id for budget in explanation.budgets],
        "step_up": list(explanation.step_up),
    }


def view_standing(terms: StandingTerms) -> dict[str, Any]:
    """Return what standing approvals may be at most, as JSON."""
    return {
        "lasts_seconds": int(terms.lasts.total_seconds()),
        "uses": terms.uses,
        "each": {currency: plain(amount) for currency, amount in terms.each.items()},
        "total": {currency: plain(amount) for currency, amount in terms.total.items()},
        "same": list(terms.same),
    }


def standing_told(terms: StandingTerms) -> str:
    """Tell the same in a few words."""
    told = [f"for {span_told(terms.lasts)} at most", f"{terms.uses} uses"]
    told += [f"up to {sums_told(terms.each)} each"] if terms.each else []
    told += [f"{sums_told(terms.total)} in all"] if terms.total else []
    return f"{', '.join(told)}, with the same {', '.join(terms.same)}"


def view_session(terms: SessionTerms) -> dict[str, Any]:
    """Return what one approver may allow for a session at most, as JSON."""
    return {
        "lasts_seconds": int(terms.lasts.total_seconds()),
        "uses": terms.uses,
        "each": {currency: plain(amount) for currency, amount in terms.each.items()},
        "differ": list(terms.differ),
    }


def session_told(terms: SessionTerms) -> str:
    """Tell the same in a few words."""
    told = [f"for {span_told(terms.lasts)} at most", f"{terms.uses} uses"]
    told += [f"up to {sums_told(terms.each)} each"] if terms.each else []
    told += [f"{', '.join(terms.differ)} may differ"] if terms.differ else []
    return ", ".join(told)


def budget_told(budget: Budget) -> str:
    """Tell what a budget counts, and up to what."""
    limits = [sums_told(budget.limit)] if budget.limit else []
    limits += [f"{budget.count} payments"] if budget.count is not None else []
    tools = f", of {', '.join(pattern.text for pattern in budget.tools)}" if budget.tools else ""
    unasked = ", of what ran unasked" if budget.unasked_only else ""
    return f"{budget.id}: {' and '.join(limits)} per {budget.per} within {span_told(budget.within)}{tools}{unasked}"


def span_told(span: timedelta) -> str:
    """Write a span as the file does: 7d, 12h, 90m or 45s."""
    seconds = int(span.total_seconds())
    unit = next((unit for unit in _UNITS if seconds and seconds % unit == 0), 1)
    return f"{seconds // unit}{_UNITS.get(unit, 's')}"


def sums_told(sums: Mapping[str, Decimal]) -> str:
    """Write amounts by currency."""
    return ", ".join(f"{currency} {plain(amount)}" for currency, amount in sums.items())


def policy_lines(policy: Policy) -> list[str]:
    """Tell of a file in force what is about payments, levels and permissions; nothing of a file that says nothing."""
    lines: list[str] = []
    for rule in policy.rules:
        lines += _rule_lines(rule)
    paying = [tool.name for tool in policy.tools.values() if tool.payment is not None]
    if paying:
        terms = policy.payments
        lines.append(f"payments by {', '.join(paying)}: duplicates are looked for over {span_told(terms.duplicates)}")
        kinds = ", ".join(sorted(kind.value for kind in terms.step_up)) or "nothing"
        lines.append(f"  one level of assurance more for: {kinds}")
        lines += [f"  budget {budget_told(budget)}" for budget in terms.budgets]
    enforced = [tool.name for tool in policy.tools.values() if tool.enforced]
    if enforced:
        lines.append(f"behind an executor alone: {', '.join(enforced)}")
    glass = policy.break_glass
    if glass is not None:
        tools = ", ".join(pattern.text for pattern in glass.tools)
        lines.append(
            f"the glass may be broken by two of {', '.join(glass.of)}, for {span_told(glass.lasts)}, for {tools}"
        )
        lines.append(f"  {_bounds(glass.bounds)}; reviewed by {', '.join(glass.review)}")
    return lines


def _bounds(bounds: Bounds) -> str:
    said = [f"at most {bounds.uses} uses"]
    said += [f"{currency} {plain(most)} each" for currency, most in sorted(bounds.each.items())]
    said += [f"{currency} {plain(most)} in all" for currency, most in sorted(bounds.total.items())]
    return ", ".join(said)


def _rule_lines(rule: Rule) -> list[str]:
    if rule.tiers:
        tiers = [f"  tier {at}, {_tier_told(tier)}" for at, tier in enumerate(rule.tiers, start=1)]
        return [f"rule {rule.id}, by amount:", *tiers]
    asking = rule.asking
    if asking is None or (asking.assurance is Assurance.L1 and asking.standing is None and asking.session is None):
        return []
    return [f"rule {rule.id}: asks {_asking_told(asking)}"]


def _tier_told(tier: Tier) -> str:
    upper = "all above" if tier.up_to is None else f"up to {sums_told(tier.up_to)}"
    whom = f" {_asking_told(tier.asking)}" if tier.then is Then.ASK and tier.asking is not None else ""
    return f"{upper}: {tier.then.value}{whom}"


def _asking_told(asking: Asking) -> str:
    asking = asking.as_it_holds
    who = ", then ".join(f"{stage.need} of {', '.join(stage.of)}" for stage in asking.stages)
    standing = f"; standing approvals {standing_told(asking.standing)}" if asking.standing else ""
    session = f"; for a session, beside an approval, {session_told(asking.session)}" if asking.session else ""
    return f"{who} at {asking.assurance.value}{standing}{session}"
