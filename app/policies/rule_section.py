"""The rules of the file, and the `ask` that they inherit: every rule can match, and who is asked can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.condition import BadConditionError, Condition, compile_condition
from app.domain.policy import DEFAULT_RULE, UNKNOWN_TOOL_RULE, UnknownTools
from app.domain.rule import Asking, NamePattern, Rule, Then
from app.policies.entries import listing, read_entry
from app.policies.faults import near
from app.policies.file_models import AskEntry, RuleEntry
from app.policies.stage_section import read_channel_names, read_stages
from app.policies.tool_section import closed_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.people import Directory
    from app.domain.policy import ChannelSpec
    from app.domain.tool import Tool
    from app.policies.yaml_marks import MarkedYaml, Path

_ASKING_KEYS = ("stages", "channels", "timeout", "claim_within", "lease")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the rules may name."""

    directory: Directory
    channels: Sequence[ChannelSpec]
    tools: Mapping[str, Tool]
    unknown_tools: UnknownTools


def read_ask(marked: MarkedYaml, around: Surroundings) -> Asking | None:
    """Return the file's `ask`, or None if it is left out or at fault."""
    raw = marked.value.get("ask") if isinstance(marked.value, dict) else None
    entry = read_entry(marked, ("ask",), raw, AskEntry) if raw is not None else None
    if entry is None:
        return None
    return Asking(
        stages=read_stages(marked, ("ask", "stages"), entry.stages, around.directory),
        channels=read_channel_names(marked, ("ask", "channels"), entry.channels, around.channels),
        timeout=entry.timeout,
        claim_within=entry.claim_within,
        lease=entry.lease,
    )


def require_ask(marked: MarkedYaml, around: Surroundings) -> None:
    """Note that a default that asks does not say whom: that is never guessed."""
    group = next(iter(around.directory.groups), "people-who-may-approve")
    channel = next((spec.name for spec in around.channels), "a-channel")
    lines = f"ask: {{stages: [{{of: [{group}], need: 1}}], channels: [{channel}], timeout: 30m}}"
    marked.report(("default",), '"ask" is missing: it says whom to ask about tools that no rule names', f"add: {lines}")


def read_rules(marked: MarkedYaml, around: Surroundings, ask: Asking | None) -> tuple[Rule, ...]:
    """Return the rules that could be read; every fault is noted."""
    rules: list[Rule] = []
    certain: list[Rule] = []
    seen: dict[str, int] = {}
    for index, raw in enumerate(listing(marked, "rules")):
        path: Path = ("rules", index)
        entry = read_entry(marked, path, raw, RuleEntry)
        if entry is None:
            continue
        line = marked.mark(path).line
        if entry.id in {DEFAULT_RULE, UNKNOWN_TOOL_RULE}:
            marked.report((*path, "id"), f'"{entry.id}" is a name of our own', "choose another one")
        if entry.id in seen:
            marked.report((*path, "id"), f'the id "{entry.id}" again (first on line {seen[entry.id]})')
        seen.setdefault(entry.id, line)
        rule = Rule(
            id=entry.id,
            tools=tuple(map(NamePattern, entry.tools)),
            agents=tuple(map(NamePattern, entry.agents or ())),
            when=_condition(marked, (*path, "when"), entry, around),
            then=Then(entry.then),
            reason=entry.reason,
            asking=_asking(marked, path, entry, around, ask),
            record=entry.record,
            line=line,
        )
        _refuse_unknown_tools(marked, path, rule, around)
        _refuse_shadowed(marked, path, rule, certain)
        rules.append(rule)
        if entry.when is None:  # a condition that did not compile is a condition all the same
            certain.append(rule)
    return tuple(rules)


def _asking(
    marked: MarkedYaml, path: Path, entry: RuleEntry, around: Surroundings, ask: Asking | None
) -> Asking | None:
    if entry.then != "ask":
        for key in _ASKING_KEYS:
            if getattr(entry, key) is not None:
                marked.report((*path, key), f'means nothing on a rule that says "then: {entry.then}"')
        return None
    if not entry.record:
        marked.report((*path, "record"), "what people are asked is always recorded")
    has_ask = isinstance(marked.value, dict) and "ask" in marked.value  # a faulty `ask` is noted once, where it stands
    for key in ("stages", "channels"):
        if getattr(entry, key) is None and not has_ask:
            marked.report(path, f'asks, but has no "{key}" and there is no top-level "ask" to take them from')
    inherited = ask or Asking(stages=(), channels=())
    stages, channels = inherited.stages, inherited.channels
    if entry.stages is not None:
        stages = read_stages(marked, (*path, "stages"), entry.stages, around.directory)
    if entry.channels is not None:
        channels = read_channel_names(marked, (*path, "channels"), entry.channels, around.channels)
    return Asking(
        stages=stages,
        channels=channels,
        timeout=entry.timeout or inherited.timeout,
        claim_within=entry.claim_within or inherited.claim_within,
        lease=entry.lease or inherited.lease,
    )


def _condition(marked: MarkedYaml, path: Path, entry: RuleEntry, around: Surroundings) -> Condition | None:
    if entry.when is None:
        return None
    try:
        condition = compile_condition(entry.when)
    except BadConditionError as error:
        marked.report(path, error.why, error.hint)
        return None
    for name in entry.tools:
        tool = around.tools.get(name)
        known = closed_names(tool.schema) if tool else None
        for read in condition.reads if known is not None else ():
            first = read.split(".", maxsplit=1)[0]
            if known is not None and first not in known:
                marked.report(path, f'{name} has no argument "{first}"', near(first, known, what="arguments"))
    return condition


def _refuse_unknown_tools(marked: MarkedYaml, path: Path, rule: Rule, around: Surroundings) -> None:
    for index, pattern in enumerate(rule.tools):
        at: Path = (*path, "tools", index)
        if not pattern.is_glob and pattern.text not in around.tools:
            marked.report(at, f'unknown tool "{pattern.text}"', near(pattern.text, around.tools, what="tools"))
        reaches_all = around.unknown_tools is UnknownTools.RULES
        if pattern.is_glob and not reaches_all and not any(map(pattern.matches, around.tools)):
            marked.report(at, f'"{pattern.text}" matches no tool, and unknown tools never reach the rules')


def _refuse_shadowed(marked: MarkedYaml, path: Path, rule: Rule, certain: Sequence[Rule]) -> None:
    """`certain` are the earlier rules without a condition: nothing that one of them covers gets past it."""
    before = [other for other in certain if _covers(other.agents, rule.agents, empty_is_all=True)]
    covering = [next((other for other in before if _covers(other.tools, (pattern,))), None) for pattern in rule.tools]
    if covering and all(covering):
        first = min((other for other in covering if other), key=lambda other: other.line)
        marked.report(
            path, f'can never match: rule "{first.id}" on line {first.line} answers first, without a condition'
        )


def _covers(outer: Sequence[NamePattern], inner: Sequence[NamePattern], *, empty_is_all: bool = False) -> bool:
    """Whether everything `inner` matches is matched by `outer`; a glob covers a glob whose very text it matches."""
    if empty_is_all and (not outer or not inner):
        return not outer
    return all(any(pattern.text == other.text or pattern.matches(other.text) for pattern in outer) for other in inner)
