"""What `assent doctor` looks at where money is paid: the file, without asking anybody. See docs/payments.md.

Each function looks at one thing and says how it stands; `records.py` looks at what the database says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.people.assurance import Assurance
from app.domain.request.caution import CautionKind
from app.domain.rules.rule import Then
from app.ports import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.call.tool import Tool
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Asking, Rule

PAGE = "see docs/payments.md"
_FEWEST = 2  # people who break the glass


def ok(what: str) -> Finding:
    """Say that something stands as it should."""
    return Finding(severity=Severity.OK, what=what)


def warning(what: str, mend: str) -> Finding:
    """Say that something is weaker than it could be."""
    return Finding(severity=Severity.WARNING, what=what, mend=mend)


def error(what: str, mend: str) -> Finding:
    """Say that something is wrong."""
    return Finding(severity=Severity.ERROR, what=what, mend=mend)


def paying_tools(policy: Policy) -> tuple[Tool, ...]:
    """Return the tools that pay, in the file's order."""
    return tuple(tool for tool in policy.tools.values() if tool.payment is not None)


def askings(policy: Policy, tool: Tool) -> tuple[tuple[Rule | None, Asking], ...]:
    """Return every way in which people may be asked about a tool, with its rule; None: by the file's default."""
    found: list[tuple[Rule | None, Asking]] = []
    for rule in policy.rules_for(tool.name):
        found += [(rule, tier.asking) for tier in rule.tiers if tier.then is Then.ASK and tier.asking is not None]
        if not rule.tiers and rule.then is Then.ASK and rule.asking is not None:
            found.append((rule, rule.asking))
    if policy.default is Then.ASK and policy.ask is not None:
        found.append((None, policy.ask))
    return tuple(found)


def look_at_file(policy: Policy) -> list[Finding]:
    """Look at what the file says of payments; nothing where no tool pays."""
    tools = paying_tools(policy)
    found = [finding for tool in tools for finding in _of_tool(policy, tool)]
    if tools:
        found += [*_off_hours(policy), *_page(policy)]
    return [*found, *_glass(policy)]


def _of_tool(policy: Policy, tool: Tool) -> Iterator[Finding]:
    yield _enforced(policy, tool)
    yield from _amounts(policy, tool)
    yield from _levels(policy, tool)
    yield from _alone(policy, tool)


def _enforced(policy: Policy, tool: Tool) -> Finding:
    if tool.enforced:
        return ok(f"{policy.org}: {tool.name} is enforced: only an executor runs it")
    what = f"{policy.org}: {tool.name} pays and is advisory: whoever controls the agent can leave the asking out"
    return warning(what, f"tools.{tool.name}: {{enforced: true}}, and an executor: see docs/executor.md")


def _amounts(policy: Policy, tool: Tool) -> Iterator[Finding]:
    """What is allowed must be counted; what is asked should know small from large."""
    counted = any(
        budget.limit is not None and (not budget.tools or any(each.matches(tool.name) for each in budget.tools))
        for budget in policy.payments.budgets
    )
    rules = policy.rules_for(tool.name)
    lax = [rule.id for rule in rules if rule.then is Then.ALLOW or any(t.then is Then.ALLOW for t in rule.tiers)]
    lax += ["default"] if policy.default is Then.ALLOW else []
    if lax and not counted:
        what = f"{policy.org}: {tool.name} is allowed without people (by {', '.join(lax)}) and no budget counts it"
        yield error(what, f"payments.budgets: [{{id: day, per: agent, within: 1d, limit: …}}]: {PAGE}")
    elif counted or any(rule.tiers for rule in rules):
        yield ok(f"{policy.org}: amounts of {tool.name} have {'a budget' if counted else 'tiers'}")
    else:
        what = f"{policy.org}: {tool.name} has neither tiers nor a budget: a large payment is asked like a small one"
        yield warning(what, f"rules[].tiers or payments.budgets: {PAGE}")


def _levels(policy: Policy, tool: Tool) -> Iterator[Finding]:
    asked = askings(policy, tool)
    if not asked:
        return
    highest = max(asking.assurance for _, asking in asked)
    if highest >= Assurance.L2:
        yield ok(f"{policy.org}: the highest tier of {tool.name} takes {highest}")
    else:
        but = ", but for " + ", ".join(sorted(policy.payments.step_up)) if policy.payments.step_up else ""
        what = f"{policy.org}: one click in a chat, or one call with a personal key, approves any {tool.name}{but}"
        yield warning(what, f"assurance: L2 (or L3) on the highest tier: {PAGE}")


def _alone(policy: Policy, tool: Tool) -> Iterator[Finding]:
    """Where one person asks and approves, only what the person proves stands between an agent and the money."""
    for rule, asking in askings(policy, tool):
        if any(stage.allow_alone for stage in asking.stages):
            where = f"the rule {rule.id}" if rule else "`ask`"
            what = f"{policy.org}: {where} lets whoever asks for {tool.name} approve it alone where nobody else may"
            yield warning(what, f"leave allow_alone out once there are two of you: {PAGE}")


def _off_hours(policy: Policy) -> Iterator[Finding]:
    if CautionKind.OFF_HOURS not in policy.payments.step_up:
        return
    if policy.hours is None:
        what = f"{policy.org}: a payment at night takes no more than one by day: there is no calendar"
        yield warning(what, "calendar: {timezone: …, work: …}: see docs/configuration.md")
    else:
        yield ok(f"{policy.org}: outside of working hours a payment takes one level more")


def _page(policy: Policy) -> Iterator[Finding]:
    if policy.url is None:
        what = f"{policy.org}: no url: people cannot open the page that shows a large batch whole"
        yield warning(what, "url: https://… at the top of the file")
    else:
        yield ok(f"{policy.org}: people review on {policy.url}")


def _glass(policy: Policy) -> Iterator[Finding]:
    terms = policy.break_glass
    if terms is None:
        return
    directory = policy.directory
    people = {person for name in terms.of for person in directory.members(name)}
    reviewers = {person for name in terms.review for person in directory.members(name)}
    if not reviewers - people and len(reviewers) <= _FEWEST:
        what = f"{policy.org}: whether somebody is left to review a broken glass, only the platform can say"
        yield warning(what, "name somebody of the file under break_glass.review")
    kept = [name for name in terms.of if name in directory.sources]
    if len(people) >= _FEWEST:
        yield ok(f"{policy.org}: {len(people)} people may break the glass, two at a time")
    elif kept:
        what = f"{policy.org}: whether two people may break the glass, only the platform's {', '.join(kept)} can say"
        yield warning(what, "name two people, or a group of the file, under break_glass.of")
    else:
        what = f"{policy.org}: {len(people)} may break the glass, and it takes two"
        yield error(what, "name two people under break_glass.of")
