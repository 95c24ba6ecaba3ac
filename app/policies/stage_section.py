"""Whom a rule asks, and where: names that lead to people, stages that can be met, channels that exist."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from app.domain.quorum import Stage
from app.domain.request import API
from app.policies.faults import near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.people import Directory
    from app.domain.policy import ChannelSpec
    from app.policies.file_models import StageEntry
    from app.policies.yaml_marks import MarkedYaml, Path

MOST_STAGES = 8


def read_stages(
    marked: MarkedYaml, path: Path, entries: Sequence[StageEntry], directory: Directory
) -> tuple[Stage, ...]:
    """Return the stages; noted is every stage that could never be met."""
    if not entries:
        marked.report(path, "is empty: nobody could approve")
    if len(entries) > MOST_STAGES:
        marked.report(path, f"has more than {MOST_STAGES} stages")
    people: list[frozenset[str]] = []
    faultless = True
    for index, entry in enumerate(entries):
        here: Path = (*path, index)
        members = frozenset[str]().union(*(directory.members(name) for name in entry.of))
        unknown = [name for name in entry.of if not _is_known(name, directory)]
        if not entry.of:
            marked.report((*here, "of"), "is empty: nobody could approve")
        for name in unknown:
            kind, known = ("person", directory.people) if "@" in name else ("group", directory.groups)
            at: Path = (*here, "of", entry.of.index(name))
            marked.report(at, f'unknown {kind} "{name}"', near(name, known, what=f"{kind}s"))
        short = len(members) < entry.need
        if entry.of and not unknown and short and all("@" in name or directory.groups[name] for name in entry.of):
            marked.report((*here, "need"), f"needs {entry.need} people, but there are only {len(members)}")
        faultless = faultless and bool(entry.of) and not unknown and not short
        people.append(members)
    if faultless and len(entries) <= MOST_STAGES:
        _refuse_unfillable(marked, path, entries, people)
    return tuple(Stage(of=tuple(entry.of), need=entry.need) for entry in entries)


def _refuse_unfillable(
    marked: MarkedYaml, path: Path, entries: Sequence[StageEntry], people: Sequence[frozenset[str]]
) -> None:
    """A person fills one place in all: by Hall's theorem, any set of stages needs as many people as places."""
    for size in range(2, len(entries) + 1):
        for chosen in combinations(range(len(entries)), size):
            places = sum(entries[index].need for index in chosen)
            there = len(frozenset[str]().union(*(people[index] for index in chosen)))
            if there < places:
                which = " and ".join(str(index + 1) for index in chosen)
                why = f"stages {which} need {places} different people together, but there are only {there}"
                marked.report(path, why)
                return


def _is_known(name: str, directory: Directory) -> bool:
    return directory.find(name) is not None if "@" in name else name in directory.groups


def read_channel_names(
    marked: MarkedYaml, path: Path, names: Sequence[str], known: Sequence[ChannelSpec]
) -> tuple[str, ...]:
    """Return the channels that are named; noted is every one that is not configured."""
    if not names:
        marked.report(path, "is empty: nobody could be reached")
    valid = [*(spec.name for spec in known), API]
    for index, name in enumerate(names):
        if name not in valid:
            marked.report((*path, index), f'unknown channel "{name}"', near(name, valid, what="channels"))
        elif name in names[:index]:
            marked.report((*path, index), f'"{name}" again')
    return tuple(names)
