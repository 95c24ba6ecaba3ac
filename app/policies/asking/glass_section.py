"""The section `break_glass`: who may break the glass, who looks at what was done, and within which bounds."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.call.name_pattern import NamePattern
from app.domain.rules.permits import Bounds, GlassTerms
from app.policies.asking.stage_section import read_channel_names, refuse_unknown_names
from app.policies.asking.standing_section import refuse_disproportion
from app.policies.marks.entries import read_entry
from app.policies.marks.faults import near
from app.policies.marks.spans import span_within
from app.policies.models.amount_models import Sums
from app.policies.models.file_models import Name, Pattern

if TYPE_CHECKING:
    from app.domain.rules.rule import Asking
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_KEY = "break_glass"
_FEWEST = 2  # people who break the glass
_LONGEST = timedelta(hours=1)
_USES = 20
_MEND = "each: {CNY: 5000}, total: {CNY: 20000}"


class GlassEntry(BaseModel):
    """The section `break_glass`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    of: list[Name]
    review: list[Name]
    lasts: Annotated[timedelta, BeforeValidator(span_within(timedelta(minutes=1), _LONGEST, "from 1m to 1h"))] = (
        _LONGEST
    )
    uses: int = Field(default=_USES, ge=1, le=1_000)
    each: Sums | None = None
    total: Sums | None = None
    tools: list[Pattern] = Field(default=["*"], min_length=1)
    channels: list[Name] | None = None


def read_glass(marked: MarkedYaml, around: Surroundings, ask: Asking | None) -> GlassTerms | None:
    """Return who may break the glass; None if the file has no `break_glass`, or it is at fault."""
    path: Path = (_KEY,)
    raw = marked.value.get(_KEY) if isinstance(marked.value, dict) else None
    entry = read_entry(marked, path, raw, GlassEntry, apart=("lasts", "uses")) if raw is not None else None
    if entry is None:
        return None
    _refuse_nobody(marked, path, entry, around)
    tools = tuple(map(NamePattern, entry.tools))
    for index, pattern in enumerate(tools):
        if not pattern.is_glob and pattern.text not in around.tools:
            hint = near(pattern.text, around.tools, what="tools")
            marked.report((*path, "tools", index), f'unknown tool "{pattern.text}"', hint)
    _refuse_boundless(marked, path, entry, around, tools)
    if entry.channels is not None:
        read_channel_names(marked, (*path, "channels"), entry.channels, around.channels)
    elif ask is None and isinstance(marked.value, dict) and "ask" not in marked.value:
        marked.report(path, 'has no "channels", and there is no top-level "ask": nobody would be told')
    return GlassTerms(
        of=tuple(entry.of),
        lasts=entry.lasts,
        review=tuple(entry.review),
        bounds=Bounds(uses=entry.uses, each=entry.each or {}, total=entry.total or {}),
        tools=tools,
        channels=tuple(entry.channels or ()),
    )


def _refuse_nobody(marked: MarkedYaml, path: Path, entry: GlassEntry, around: Surroundings) -> None:
    """Note that fewer than two could break it, or that nobody else would be left to look at what they did."""
    directory = around.directory
    unknown = refuse_unknown_names(marked, (*path, "of"), entry.of, directory)
    stranger = refuse_unknown_names(marked, (*path, "review"), entry.review, directory)
    people = frozenset(person for name in entry.of for person in directory.members(name))
    reviewers = frozenset(person for name in entry.review for person in directory.members(name))
    whole = not any(name in directory.sources for name in entry.of)
    if not unknown and whole and len(people) < _FEWEST:
        there = f"there is only {len(people)}" if people else "there is nobody"
        marked.report((*path, "of"), f"takes {_FEWEST} people, but {there}")
    if unknown or stranger or any(name in directory.sources for name in (*entry.of, *entry.review)):
        return  # who is in a platform's group, only the platform can say: it is looked at when somebody asks
    if not reviewers:
        marked.report((*path, "review"), "is nobody: somebody has to look at what was done", 'add: review: ["a group"]')
    elif not reviewers - people and len(reviewers) <= _FEWEST:
        who = " and ".join(sorted(reviewers))
        why = f"could be {who} alone, who may break it themselves: nobody else would look at what they did"
        marked.report((*path, "review"), why, "name somebody who is not under of, or three people")


def _refuse_boundless(
    marked: MarkedYaml, path: Path, entry: GlassEntry, around: Surroundings, tools: tuple[NamePattern, ...]
) -> None:
    """Note that money could go without a bound, and a bound that is none."""
    paying = [tool.name for tool in around.named(tools) if tool.payment is not None]
    said = [key for key in ("each", "total") if getattr(entry, key) is not None]
    if not paying:
        for key in said:
            marked.report((*path, key), 'means nothing: no tool that it covers has a "payment"')
        return
    lacking = [f'"{key}"' for key in ("each", "total") if key not in said]
    if lacking:
        missing = " and ".join(lacking)
        are = "are" if len(lacking) > 1 else "is"
        marked.report(path, f"{missing} {are} missing: it covers payments ({', '.join(paying)})", f"add {_MEND}")
    refuse_disproportion(marked, path, entry.each or {}, entry.total or {})
