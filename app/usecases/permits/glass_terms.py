"""What today's file says of breaking the glass: who may, for what, what it takes, and who looks at it afterwards."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.call.name_pattern import NamePattern
from app.domain.errors import AssentError, ConflictError, InvalidError, NotEligibleError
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.rules.rule import Then

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from app.domain.rules.permits import GlassTerms
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Asking

LONGEST = timedelta(hours=1)
"""No file makes it longer."""


class Emergency(Struct, frozen=True, kw_only=True):
    """What somebody asks for. `tools` are names or patterns, as in rules; `agent` None: every agent."""

    tools: tuple[str, ...]
    agent: str | None
    minutes: int
    reason: str


def may_break(person: str, terms: GlassTerms, policy: Policy) -> bool:
    """Say whether today's file lets a person break the glass."""
    return any(person in policy.directory.members(name) for name in terms.of)


def may_review(person: str, policy: Policy) -> bool:
    """Say whether a person is among those who look at what was done; without a section any more, anybody known is."""
    terms = policy.break_glass
    if terms is None:
        return policy.directory.find(person) is not None
    return any(person in policy.directory.members(name) for name in terms.review)


def not_askable(emergency: Emergency, people: Sequence[str], policy: Policy) -> AssentError | None:
    """Say why these people, one or both of the two, may not break the glass for this; None: they may."""
    terms = policy.break_glass
    if terms is None:
        return ConflictError("the file has no `break_glass`: there is no glass to break")
    if not all(may_break(person, terms, policy) for person in people):
        return NotEligibleError("you are not among those who may break the glass")
    if not emergency.reason.strip():
        return InvalidError("breaking the glass takes a reason", path="reason")
    most = int(min(terms.lasts, LONGEST).total_seconds()) // 60
    if not 1 <= emergency.minutes <= most:
        return InvalidError(f"it lasts 1 to {most} minutes", path="minutes")
    if not emergency.tools:
        return InvalidError("say for which tools", path="tools")
    beyond = [tool for tool in emergency.tools if not _covers(terms, tool)]
    if beyond:
        permitted = ", ".join(pattern.text for pattern in terms.tools)
        return InvalidError(f"the glass is only for {permitted}, not for {', '.join(beyond)}", path="tools")
    two = {email_key(person) for person in people}
    if not {email_key(who) for name in terms.review for who in policy.directory.members(name)} - two:
        return ConflictError(
            "nobody would be left to review it: name somebody else under `review` of `break_glass` in the file"
        )
    return None


def takes_factor(tools: Iterable[str], policy: Policy) -> bool:
    """Say whether any rule about calls of these tools asks for a second factor: then so does breaking the glass."""
    return any(asking.assurance >= Assurance.L3 for asking in _askings(tuple(tools), policy))


def _askings(tools: tuple[str, ...], policy: Policy) -> Iterator[Asking]:
    """Yield every way in which people may be asked about calls of these tools, under each of their names."""
    named = {*tools, *(name for tool in tools for name in policy.names_of(tool))}
    wanted = [NamePattern(name) for name in named]
    for rule in policy.rules:
        if any(each.meets(pattern) for each in wanted for pattern in rule.tools):
            yield from (tier.asking for tier in rule.tiers if tier.then is Then.ASK and tier.asking is not None)
            if rule.asking is not None:
                yield rule.asking
    if policy.ask is not None:  # by default, or because a hook or the caller wants people to be asked
        yield policy.ask


def _covers(terms: GlassTerms, tool: str) -> bool:
    """Say whether everything that a name or pattern stands for is within the terms, as far as can be told by its text.

    At every use the call's own name is held against the terms once more.
    """
    if not NamePattern(tool).is_glob:
        return terms.names(tool)
    return not terms.tools or any(each.text in {tool, "*"} for each in terms.tools)
