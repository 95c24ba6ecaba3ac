"""Whether as many may approve what a tier is for as it needs: `limit` under people decides that, with each amount.

A call that too few may approve is denied when it is asked, so a file that says so is read, and nothing of it is laxer.
Only what the file tells is looked at: whom a platform's group has, and who somebody's manager is, may be enough.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from app.cli.doctor.payments import warning
from app.domain.people.people import RELATIONS
from app.domain.request.quorum import electorate, reachable, stages_at
from app.domain.rules.rule import Then

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from app.domain.people.people import Directory
    from app.domain.request.quorum import Stage
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Rule, Tier
    from app.ports import Finding

_WORDS = frozenset(RELATIONS)
_MEND = "raise their `limit` under people, name more people in the stage, or lower the tier's `up_to`"


def look_at_limits(policy: Policy) -> list[Finding]:
    """Warn of each tier whose highest amount, in a currency, fewer people may approve than its stages need."""
    return [warning(f"{policy.org}: {line}", _MEND) for line in limit_lines(policy)]


def limit_lines(policy: Policy) -> list[str]:
    """Say it in a line for each tier and currency."""
    if not policy.directory.limited:
        return []
    return [line for rule in policy.rules for line in _of_rule(policy.directory, rule)]


def _of_rule(directory: Directory, rule: Rule) -> Iterator[str]:
    for below, tier in pairwise((None, *rule.tiers)):
        if tier is None or tier.then is not Then.ASK or tier.asking is None:
            continue
        stages = stages_at(tier.asking.stages, tier.asking.assurance)
        for currency, amount in (tier.up_to or (below.up_to if below else None) or {}).items():
            over = _over(directory, currency, amount, above=tier.up_to is None)
            if not _can_be_met(directory, stages, over):
                yield f"{rule.id}: {_told(directory, stages, over, tier, f'{currency} {amount:f}')}"


def _over(directory: Directory, currency: str, amount: Decimal, *, above: bool) -> frozenset[str]:
    """Return who may not approve that amount; `above`: who may approve nothing that is more."""
    limits = {who.email: (who.limits or {}).get(currency) for who in directory.limited}
    return frozenset(
        email for email, most in limits.items() if most is None or most < amount or (above and most == amount)
    )


def _can_be_met(directory: Directory, stages: tuple[Stage, ...], over: frozenset[str]) -> bool:
    known = tuple(stage for stage in stages if _is_known(directory, stage))
    voters = electorate(known, [_members(directory, each) for each in known], (), over_limit=over)
    return not known or reachable(known, voters)


def _is_known(directory: Directory, stage: Stage) -> bool:
    return _WORDS.isdisjoint(stage.of) and directory.sources.keys().isdisjoint(stage.of)


def _members(directory: Directory, stage: Stage) -> frozenset[str]:
    return frozenset(who for name in stage.of for who in directory.members(name))


def _told(directory: Directory, stages: tuple[Stage, ...], over: frozenset[str], tier: Tier, amount: str) -> str:
    named = f"tier up to {amount}" if tier.up_to is not None else f"highest tier, above {amount},"
    for stage in stages:
        may = _members(directory, stage) - over
        if _is_known(directory, stage) and len(may) < stage.need:
            few = f"{len(may)} may approve as much ({', '.join(sorted(may))})" if may else "nobody may approve as much"
            return f"the {named} needs {stage.need} of {', '.join(stage.of)}, and {few}: such a call is denied"
    return f"the {named} needs more people than may approve as much: such a call is denied"
