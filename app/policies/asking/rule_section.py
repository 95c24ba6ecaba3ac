"""The rules of the file: every rule can match, answers something, and its condition names what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.call.name_pattern import NamePattern
from app.domain.rules.attention import COOL_DOWN_RULE
from app.domain.rules.condition import BadConditionError, Condition, compile_condition
from app.domain.rules.condition_scope import facts_of
from app.domain.rules.dead_conditions import foresee
from app.domain.rules.meaning.condition_kinds import Arguments
from app.domain.rules.meaning.condition_misread import known_texts, refuse_misread
from app.domain.rules.policy import DEFAULT_RULE, UNKNOWN_TOOL_RULE, UnknownTools
from app.domain.rules.rule import Asking, Rule, Then
from app.domain.text.conditions.condition_parts import comparisons, packed, plain_of, text_in
from app.policies.asking.asking_section import inherited_from, read_asking, refuse_asking_keys
from app.policies.asking.condition_text import is_swallowed
from app.policies.asking.shadowed_rules import EarlierRules
from app.policies.asking.tier_section import highest_asking, read_tiers
from app.policies.marks.entries import listing, read_entry
from app.policies.marks.faults import near
from app.policies.marks.schema_paths import closed_names
from app.policies.marks.surroundings import CALENDAR
from app.policies.models.file_models import RuleEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.domain.rules.rule import Tier
    from app.domain.text.canonical import JsonValue
    from app.policies.asking.asking_section import Inherited
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path


def read_rules(marked: MarkedYaml, around: Surroundings, ask: Asking | None) -> tuple[Rule, ...]:
    """Return the rules that could be read; every fault is noted."""
    rules: list[Rule] = []
    earlier = EarlierRules()
    inherited = inherited_from(marked, ask)
    seen: dict[str, int] = {}
    for index, raw in enumerate(listing(marked, "rules")):
        path: Path = ("rules", index)
        entry = read_entry(marked, path, raw, RuleEntry, apart=("record", "requester", "standing", "session"))
        if entry is None:
            continue
        line = marked.mark(path).line
        if entry.then is None and entry.tiers is None:
            marked.report(path, '"then" is missing', "a rule has either then or tiers")
            continue
        if entry.then is not None and entry.tiers is not None:
            marked.report((*path, "then"), 'means nothing beside "tiers": each of them says what it answers')
            entry = entry.model_copy(update={"then": None})
        if entry.id in {COOL_DOWN_RULE, DEFAULT_RULE, UNKNOWN_TOOL_RULE}:
            marked.report((*path, "id"), f'"{entry.id}" is a name of our own', "choose another one")
        if entry.id in seen:
            marked.report((*path, "id"), f'the id "{entry.id}" again (first on line {seen[entry.id]})')
        seen.setdefault(entry.id, line)
        if entry.requester is not None and entry.then == "deny":
            marked.report((*path, "requester"), 'means nothing on a rule that says "then: deny"')
        asking, tiers = _answer(marked, path, entry, around, inherited)
        rule = Rule(
            id=entry.id,
            tools=tuple(map(NamePattern, entry.tools)),
            agents=tuple(map(NamePattern, entry.agents or ())),
            when=_condition(marked, (*path, "when"), entry, around),
            then=Then(entry.then or "ask"),
            reason=entry.reason if isinstance(entry.reason, str) else next(iter(_by_language(entry).values()), None),
            reasons=_by_language(entry),
            asking=asking,
            tiers=tiers,
            record=entry.record,
            proved=entry.requester is not None,
            line=line,
        )
        _refuse_unknown_tools(marked, path, rule, around)
        if rule.when is not None or entry.when is None:  # a condition that did not compile is one all the same
            if (why := earlier.shadow(rule)) is not None:
                marked.report(path, *why)
            earlier.add(rule)
            rules.append(rule)
    return tuple(rules)


def _by_language(entry: RuleEntry) -> dict[str, str]:
    """Return why a rule answers as it does, by language; one text serves none in particular."""
    return {**entry.reason} if isinstance(entry.reason, dict) else {}


def _answer(
    marked: MarkedYaml, path: Path, entry: RuleEntry, around: Surroundings, inherited: Inherited
) -> tuple[Asking | None, tuple[Tier, ...]]:
    """Return whom a rule asks, if it does, and its tiers."""
    tools = tuple(map(NamePattern, entry.tools))
    if entry.then not in {"ask", None}:
        refuse_asking_keys(marked, path, entry, f'means nothing on a rule that says "then: {entry.then}"')
        return None, ()
    if not entry.record:
        marked.report((*path, "record"), "what people are asked is always recorded")
    if entry.tiers is None:
        return read_asking(marked, path, entry, around, inherited, tools), ()
    tiers = read_tiers(marked, path, entry, around, inherited, tools)
    return highest_asking(tiers), tiers


def _condition(marked: MarkedYaml, path: Path, entry: RuleEntry, around: Surroundings) -> Condition | None:
    if entry.when is None:
        return None
    if is_swallowed(marked, path, entry.when):
        return None
    try:
        condition = compile_condition(entry.when)
    except BadConditionError as error:
        marked.report(path, error.why, error.hint)
        return None
    _refuse_senseless(marked, path, entry, condition, around)
    for name in entry.tools:
        tool = around.tools.get(name)
        for read in condition.reads if tool else ():
            _refuse_unknown_argument(marked, path, name, read, tool.schema if tool else None)
    return condition


def _refuse_senseless(
    marked: MarkedYaml, path: Path, entry: RuleEntry, condition: Condition, around: Surroundings
) -> None:
    """Note a condition that no call could make true, or that says nothing at all."""
    source = entry.when or ""
    for name in ("working_hours", "holiday"):
        if name in condition.needs and around.hours is None:
            marked.report(path, f'"{name}" means nothing without a "calendar"', CALENDAR)
            return
    for name in _tool_names(source):
        if name not in around.tools:
            marked.report(path, f'unknown tool "{name}"', near(name, around.tools, what="tools"))
            return
    listed = [around.tools[name] for name in entry.tools if name in around.tools]
    are_all = len(listed) == len(entry.tools)
    meant = Arguments(listed if are_all else around.named(map(NamePattern, entry.tools)), are_all)
    facts = [facts_of(tool, known=True) for tool in listed] if are_all else None
    try:
        refuse_misread(source, meant)
        always = foresee(source, facts, known_texts(source, meant))
    except BadConditionError as error:
        marked.report(path, error.why, error.hint)
        return
    plain = plain_of(source)
    if always is True:
        both = "; where both are meant, write && in place of ||" if "||" in plain else ""
        marked.report(path, "is always true", f'leave "when" out if the rule is meant for every call{both}')
    elif always is False:
        either = "where one of both is enough, write || in place of &&" if "&&" in plain else None
        marked.report(path, "can never match: the condition is never true", either)


def _tool_names(source: str) -> Iterator[str]:
    """Return the tools that a condition compares by name."""
    for each in comparisons(source):
        for one, other in ((each.left, each.right), (each.right, each.left)):
            if packed(one) == "tool.name" and each.operator != "in" and (name := text_in(other)) is not None:
                yield name


def _refuse_unknown_argument(
    marked: MarkedYaml, path: Path, tool: str, read: str, schema: Mapping[str, JsonValue] | None
) -> None:
    """Follow a dotted path through the schema as long as that allows no other names."""
    passed: list[str] = []
    for step in read.split("."):
        known = closed_names(schema)
        if schema is None or known is None:
            return
        if step not in known:
            where = f"{'.'.join(passed)} of {tool}" if passed else tool
            marked.report(path, f'{where} has no argument "{step}"', near(step, known, what="arguments"))
            return
        passed.append(step)
        properties = schema.get("properties")
        inner = properties.get(step) if isinstance(properties, dict) else None
        schema = inner if isinstance(inner, dict) else None


def _refuse_unknown_tools(marked: MarkedYaml, path: Path, rule: Rule, around: Surroundings) -> None:
    for index, pattern in enumerate(rule.tools):
        at: Path = (*path, "tools", index)
        if pattern.text.startswith(around.prefixes):
            continue
        if not pattern.is_glob and pattern.text not in around.tools:
            marked.report(at, f'unknown tool "{pattern.text}"', near(pattern.text, around.tools, what="tools"))
        reaches_all = around.unknown_tools is UnknownTools.RULES
        if pattern.is_glob and not reaches_all and not any(map(pattern.matches, around.tools)):
            marked.report(at, f'"{pattern.text}" matches no tool, and unknown tools never reach the rules')


def refuse_unprovable(marked: MarkedYaml, rules: Sequence[Rule], *, proves: bool) -> None:
    """Note the first rule that takes a proof which nobody can bring."""
    lines = {rule.line for rule in rules if rule.proved}
    for index, _ in enumerate(listing(marked, "rules")) if lines and not proves else ():
        if marked.mark(("rules", index)).line in lines:
            why = "nobody could be proved: no issuer under sign_in has `requesters`"
            marked.report(("rules", index, "requester"), why, "say there which tokens are taken")
            return
