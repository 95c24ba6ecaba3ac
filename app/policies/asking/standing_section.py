"""Permissions given beforehand: what standing approvals of a rule may be at most, and who may break the glass."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.call.name_pattern import NamePattern
from app.domain.rules.permits import GlassTerms, StandingTerms
from app.policies.asking.stage_section import read_channel_names, refuse_unknown_names
from app.policies.marks.entries import read_entry
from app.policies.marks.faults import near
from app.policies.marks.schema_paths import closed_names, place_of
from app.policies.marks.spans import span_within
from app.policies.models.file_models import Name, Pattern, StandingEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.call.tool import Tool
    from app.domain.rules.rule import Asking
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_GLASS_KEY = "break_glass"
_FEWEST = 2  # people who break the glass
_LONGEST_GLASS = timedelta(hours=1)
_PARTS = ("amount", "currency", "payee", "account", "reference")


class GlassEntry(BaseModel):
    """The section `break_glass`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    of: list[Name]
    lasts: Annotated[timedelta, BeforeValidator(span_within(timedelta(minutes=1), _LONGEST_GLASS, "from 1m to 1h"))] = (
        _LONGEST_GLASS
    )
    tools: list[Pattern] = Field(default=["*"], min_length=1)
    channels: list[Name] | None = None


def read_standing(
    marked: MarkedYaml,
    path: Path,
    raw: dict[str, JsonValue],
    tools: Sequence[NamePattern],
    around: Surroundings,
) -> StandingTerms | None:
    """Return what standing approvals of calls of `tools` may be at most; None if that is at fault."""
    entry = read_entry(marked, path, raw, StandingEntry)
    if entry is None:
        return None
    for pattern in tools:
        if pattern.is_glob:
            why = f'needs its tools by name: "{pattern.text}" could come to mean others'
            marked.report(path, why)
    listed = around.named(tools)
    for tool in listed:
        if tool.irreversible:
            marked.report(path, f'there is never a standing approval of "{tool.name}": it is irreversible')
    _refuse_loose(marked, path, entry, listed)
    for index, dotted in enumerate(entry.same):
        if dotted in entry.same[:index]:
            marked.report((*path, "same", index), f'"{dotted}" again')
        for tool in listed:
            _refuse_absent(marked, (*path, "same", index), dotted, tool)
    return StandingTerms(
        lasts=entry.lasts, uses=entry.uses, each=entry.each or {}, total=entry.total or {}, same=tuple(entry.same)
    )


def read_glass(marked: MarkedYaml, around: Surroundings, ask: Asking | None) -> GlassTerms | None:
    """Return who may break the glass; None if the file has no `break_glass`, or it is at fault."""
    path: Path = (_GLASS_KEY,)
    raw = marked.value.get(_GLASS_KEY) if isinstance(marked.value, dict) else None
    entry = read_entry(marked, path, raw, GlassEntry) if raw is not None else None
    if entry is None:
        return None
    directory = around.directory
    unknown = refuse_unknown_names(marked, (*path, "of"), entry.of, directory)
    people = frozenset(person for name in entry.of for person in directory.members(name))
    whole = not any(name in directory.sources for name in entry.of)
    if not unknown and whole and len(people) < _FEWEST:
        there = f"there is only {len(people)}" if people else "there is nobody"
        marked.report((*path, "of"), f"takes {_FEWEST} people, but {there}")
    tools = tuple(map(NamePattern, entry.tools))
    for index, pattern in enumerate(tools):
        if not pattern.is_glob and pattern.text not in around.tools:
            hint = near(pattern.text, around.tools, what="tools")
            marked.report((*path, "tools", index), f'unknown tool "{pattern.text}"', hint)
    if entry.channels is not None:
        read_channel_names(marked, (*path, "channels"), entry.channels, around.channels)
    elif ask is None and isinstance(marked.value, dict) and "ask" not in marked.value:
        marked.report(path, 'has no "channels", and there is no top-level "ask": nobody would be told')
    return GlassTerms(of=tuple(entry.of), lasts=entry.lasts, tools=tools, channels=tuple(entry.channels or ()))


def _refuse_loose(marked: MarkedYaml, path: Path, entry: StandingEntry, listed: Sequence[Tool]) -> None:
    """Note terms that leave open how much, or to whom."""
    paying = [tool for tool in listed if tool.payment is not None]
    if not entry.same:
        marked.report((*path, "same"), "is empty: a standing approval of any call at all is no approval")
    if not paying:
        for key in ("each", "total"):
            if getattr(entry, key) is not None:
                marked.report((*path, key), 'means nothing: no tool of the rule has a "payment"')
        return
    for tool in paying:
        payee = tool.payment.payee if tool.payment else ""
        if entry.same and payee not in entry.same:
            why = f"does not name the payee of {tool.name}: money could go to anybody"
            marked.report((*path, "same"), why, f'add "{payee}"')
    for key in ("each", "total"):
        if getattr(entry, key) is None:
            marked.report(path, f'"{key}" is missing: the rule is about payments')
    _refuse_disproportion(marked, path, entry)


def _refuse_disproportion(marked: MarkedYaml, path: Path, entry: StandingEntry) -> None:
    if entry.each is None or entry.total is None:
        return
    for currency in entry.each.keys() ^ entry.total.keys():
        lacking = "total" if currency in entry.each else "each"
        marked.report((*path, lacking), f"lacks {currency}: no payment in it could be within both")
    for currency in entry.each.keys() & entry.total.keys():
        if entry.each[currency] > entry.total[currency]:
            marked.report((*path, "each"), f"is more {currency} than the total")


def _refuse_absent(marked: MarkedYaml, path: Path, dotted: str, tool: Tool) -> None:
    """Note what the tool's calls do not have, and a part of its payments that is an argument of another name."""
    meant = getattr(tool.payment, dotted) if tool.payment is not None and dotted in _PARTS else None
    if meant not in {None, dotted} and dotted not in (closed_names(tool.schema) or ()):
        marked.report(
            path, f"is the name of an argument, and {tool.name} has its {dotted} elsewhere", f'write "{meant}"'
        )
        return
    place = place_of(dotted, tool.schema, tool.name)
    if place.fault is not None:
        marked.report(path, place.fault, place.hint)
