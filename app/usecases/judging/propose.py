"""Rules that approvals suggest, each narrower than what people approved. None of them comes into force by itself.

People approved a call again and again: the same agent, tool, requester and arguments, but for one that was one of a few
values, or an amount between two that they approved. A rule for just that is written as the file has it, for whoever
keeps the file to copy. What was denied, warned of, changed by people, of high risk, at L3 or above, or went wrong is
never among what it rests on, and a rule that would have covered any such call is not proposed.

Pure, and the same requests propose the same rules.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.domain.call.name_pattern import NamePattern
from app.domain.money.payment import plain
from app.domain.people.assurance import Assurance
from app.domain.request.decision import Verdict
from app.domain.request.request import Risk, State, Status
from app.domain.rules.condition import BadConditionError, compile_condition
from app.domain.rules.policy import Allow, Ask, judge, rulings_of
from app.domain.rules.rule import Rule, Then
from app.domain.text.paths import DECIMAL
from app.usecases.judging.judge_call import CALLER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue

FEWEST = 5
"""Approvals that a rule rests on."""
OCCASIONS = 2
"""Days, in the org's zone, on which they were given."""
MOST_PROPOSED = 10
_MOST_VALUES = 5  # of the one argument that was not always the same
_MOST_ARGUMENTS = 12
_LONGEST = 200  # characters of a text
_PLAIN = range(0x20, 0x10000)  # what a condition may have between quotes, and a reader sees
_GOOD = frozenset({State.APPROVED, State.EXECUTING, State.SUCCEEDED})
_MISFIT = frozenset({State.FAILED, State.UNKNOWN, State.DENIED, State.PENDING_ELSEWHERE})

Kind = tuple[str, str, str | None, str, frozenset[str]]


class ProposedRule(Struct, frozen=True, kw_only=True):
    """One of them: what the file would say, above which rule, and the approvals that it rests on, the newest first."""

    id: str
    above: str  # the rule that asks about such calls
    when: str
    yaml: str
    covers: tuple[ConfirmationRequest, ...]
    days: int
    people: tuple[str, ...]


def propose(requests: Sequence[ConfirmationRequest], policy: Policy, *, now: datetime) -> tuple[ProposedRule, ...]:
    """Return the rules that these requests suggest, what most approvals rest on first."""
    kinds = defaultdict[Kind, list["ConfirmationRequest"]](list)
    for request in requests:
        if _counts(request):
            kinds[_kind(request)].append(request)
    against = [request for request in requests if _speaks_against(request)]
    found = [_proposed(kind, alike, against, policy, now) for kind, alike in kinds.items() if len(alike) >= FEWEST]
    good = sorted((each for each in found if each is not None), key=lambda each: (-len(each.covers), each.id))
    return tuple(good[:MOST_PROPOSED])


def _counts(request: ConfirmationRequest) -> bool:
    """Say whether people approved it as it was asked, and nothing spoke against it."""
    return (
        request.status is Status.APPROVED
        and request.state in _GOOD
        and request.allowed_by is None
        and any(each.verdict is Verdict.APPROVE for each in request.decisions)
        and not _is_marked(request)
        and not (request.rule_id or "").startswith("hook:")
        and request.rule_id not in {None, CALLER}
    )


def _speaks_against(request: ConfirmationRequest) -> bool:
    denied = any(each.verdict is Verdict.DENY for each in request.decisions)
    return denied or request.state in _MISFIT or request.by_broken_glass or _is_marked(request)


def _is_marked(request: ConfirmationRequest) -> bool:
    return bool(
        request.cautions
        or request.risk is not Risk.NORMAL
        or request.assurance >= Assurance.L3
        or request.edited_by is not None
        or request.proposed is not None
        or request.by_broken_glass
    )


def _kind(request: ConfirmationRequest) -> Kind:
    call = request.call
    return call.agent, call.tool, call.requester, request.rule_id or "", frozenset(call.arguments)


def _proposed(
    kind: Kind,
    alike: Sequence[ConfirmationRequest],
    against: Iterable[ConfirmationRequest],
    policy: Policy,
    now: datetime,
) -> ProposedRule | None:
    agent, tool, requester, above, names = kind
    days = {request.created_at.astimezone(policy.zone).date() for request in alike}
    entry = policy.whole_tool(tool) if tool in policy.tools else None
    if entry is None or len(days) < OCCASIONS or not 0 < len(names) <= _MOST_ARGUMENTS:
        return None
    hides = any(entry.hides(name) for name in names) or any(request.sensitive for request in alike)
    if hides or entry.irreversible or entry.requires_confirmation or _is_pattern(agent, tool):
        return None
    when = _condition(alike, requester, frozenset(entry.money))
    rule = _rule(when, agent, tool) if when else None
    if rule is None or not _is_still_asked(alike, above, policy, now):
        return None
    alone = replace(policy, rules=(rule,), default=Then.DENY)
    if not all(_allows(alone, request, now) for request in alike):
        return None
    if any(_allows(alone, request, now) for request in against):
        return None
    newest = tuple(sorted(alike, key=lambda each: (each.created_at, each.id), reverse=True))
    who = Counter(each.person for request in alike for each in request.decisions if each.verdict is Verdict.APPROVE)
    yaml = _yaml(rule, agent, tool, len(alike), len(days))
    people = tuple(sorted(who))
    return ProposedRule(
        id=rule.id, above=above, when=when or "", yaml=yaml, covers=newest, days=len(days), people=people
    )


def _is_pattern(*names: str) -> bool:
    return any(NamePattern(name).is_glob or not _quotable(name) for name in names)


def _is_still_asked(alike: Sequence[ConfirmationRequest], above: str, policy: Policy, now: datetime) -> bool:
    """Say whether today's file asks about all of them by the same rule, below a second factor and at no high risk."""
    for request in alike:
        (_, ruling), *others = rulings_of(policy, request.call, now=now)
        if others or not isinstance(ruling, Ask) or ruling.rule_id != above:
            return False
        if ruling.asking.assurance >= Assurance.L3 or ruling.asking.risk is not Risk.NORMAL:
            return False
    return True


def _allows(alone: Policy, request: ConfirmationRequest, now: datetime) -> bool:
    return isinstance(judge(alone, request.call, now=now), Allow)


def _condition(alike: Sequence[ConfirmationRequest], requester: str | None, money: frozenset[str]) -> str | None:
    """Write what all of them were; None where more than one argument was not always the same."""
    parts = [f"user == {_quoted(requester)}" if requester is not None else "user == null"]
    names = sorted(alike[0].call.arguments)
    parts.append(f"size(args) == {len(names)}")
    varied = 0
    for name in names:
        values = [request.call.arguments[name] for request in alike]
        said = _same(name, values) or _varying(name, values, is_money=name in money)
        varied += _same(name, values) is None
        if said is None or varied > 1 or not name.isidentifier() or not name.isascii():
            return None
        parts.append(said)
    return " && ".join(parts) if requester is None or _quotable(requester) else None


def _same(name: str, values: Sequence[JsonValue]) -> str | None:
    first = values[0]
    if any(type(value) is not type(first) or value != first for value in values):
        return None
    literal = _literal(first)
    return f"args.{name} == {literal}" if literal else None


def _varying(name: str, values: Sequence[JsonValue], *, is_money: bool) -> str | None:
    if is_money and all(isinstance(value, str) and DECIMAL.fullmatch(value) for value in values):
        amounts = sorted(Decimal(cast("str", value)) for value in values)
        low, high = plain(amounts[0]), plain(amounts[-1])
        return f'amount(args.{name}) >= amount("{low}") && amount(args.{name}) <= amount("{high}")'
    if all(type(value) is int for value in values):
        numbers = sorted(cast("list[int]", list(values)))
        if is_money:
            return f"args.{name} >= {numbers[0]} && args.{name} <= {numbers[-1]}"
    literals = sorted({literal for value in values if (literal := _literal(value))})
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not all(map(_literal, values)) or len(literals) > _MOST_VALUES:
        return None
    return f"args.{name} in [{', '.join(literals)}]"


def _literal(value: JsonValue) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str() if _quotable(value):
            return _quoted(value)
        case _:
            return None


def _quotable(text: str) -> bool:
    return len(text) <= _LONGEST and all(ord(char) in _PLAIN and char.isprintable() for char in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _rule(when: str, agent: str, tool: str) -> Rule | None:
    name = hashlib.sha256(f"{agent}\n{tool}\n{when}".encode()).hexdigest()[:10]
    try:
        condition = compile_condition(when)
    except BadConditionError:
        return None
    return Rule(
        id=f"proposed-{name}",
        tools=(NamePattern(tool),),
        agents=(NamePattern(agent),),
        when=condition,
        then=Then.ALLOW,
    )


def _yaml(rule: Rule, agent: str, tool: str, count: int, days: int) -> str:
    """Write it as the file has it: each text in quotes, as JSON, which YAML reads as well."""
    when = rule.when.source if rule.when else ""
    reason = f"People approved such calls {count} times on {days} days."
    return "\n".join(
        (
            f"  - id: {rule.id}",
            f"    tools: [{_quoted(tool)}]",
            f"    agents: [{_quoted(agent)}]",
            f"    when: {_quoted(when)}",
            "    then: allow",
            f"    reason: {_quoted(reason)}",
            "",
        )
    )
