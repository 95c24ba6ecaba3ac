"""Whom a rule asks, and where: names that lead to people, stages that can be met, channels that exist."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.people.people import OWNER, RELATIONS, REQUESTER
from app.domain.request.quorum import Stage, steps
from app.domain.request.request import API
from app.policies.marks.faults import near
from app.policies.models.file_models import PartEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from app.domain.people.people import Directory
    from app.domain.rules.policy import ChannelSpec
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.policies.models.file_models import StageEntry

MOST_STAGES = 8


class _Part(Struct, frozen=True, kw_only=True):
    """One stage of the file, or one part of a stage whose groups must all agree, with its place there."""

    path: Path
    stage: Stage
    people: frozenset[str]  # of the file; whoever a platform's own group has is not known here
    whole: bool


def read_stages(
    marked: MarkedYaml, path: Path, entries: Sequence[StageEntry], directory: Directory
) -> tuple[Stage, ...]:
    """Return the stages, the parts of an `all` one by one; noted is every stage that could never be met."""
    if not entries:
        marked.report(path, "is empty: nobody could approve")
    parts = [part for index, entry in enumerate(entries) for part in _parts(marked, (*path, index), entry, directory)]
    if len(parts) > MOST_STAGES:
        marked.report(path, f"has more than {MOST_STAGES} stages")
    faultless = [_is_fillable(marked, part, directory) for part in parts]
    for step in steps([part.stage for part in parts]):
        _refuse_too_many_denials(marked, [parts[index] for index in sorted(step)])
    if all(faultless) and len(parts) <= MOST_STAGES:
        _refuse_unfillable(marked, path, parts)
    return tuple(part.stage for part in parts)


def _parts(marked: MarkedYaml, path: Path, entry: StageEntry, directory: Directory) -> Iterator[_Part]:
    if (entry.of is None) == (entry.parts is None):
        marked.report(path, '"of" is missing' if entry.of is None else 'has "of" and "all": one of them says who')
        return
    if entry.parts is not None and entry.need is not None:
        marked.report((*path, "need"), 'stands in each part of "all"')
    single = [PartEntry(of=entry.of or [], need=entry.need or 1)]
    for index, part in enumerate(entry.parts or single):
        stage = Stage(
            of=tuple(part.of),
            need=part.need,
            joined=index > 0,
            denials=entry.denials,
            allow_requester=entry.allow_requester,
            allow_owner=entry.allow_owner,
            allow_editor=entry.allow_editor,
            allow_alone=entry.allow_alone,
            open_to=tuple(entry.open_to),
        )
        # Whoever a word stands for is somebody else with each call: one person at most.
        people = frozenset[str]().union(
            *(frozenset({name}) if name in RELATIONS else directory.members(name) for name in part.of)
        )
        here: Path = (*path, "all", index) if entry.parts else path
        if index == 0:
            _read_open_to(marked, (*path, "open_to"), stage, directory)
        whole = not any(name in directory.sources or name in RELATIONS for name in part.of)
        yield _Part(path=here, stage=stage, people=people, whole=whole)


def _read_open_to(marked: MarkedYaml, path: Path, stage: Stage, directory: Directory) -> None:
    refuse_unknown_names(marked, path, stage.open_to, directory)
    for index, name in enumerate(stage.open_to):
        if name in stage.of:
            marked.report((*path, index), f'"{name}" is asked already')


def _is_fillable(marked: MarkedYaml, part: _Part, directory: Directory) -> bool:
    of, need = part.stage.of, part.stage.need
    if not of:
        marked.report((*part.path, "of"), "is empty: nobody could approve")
    unknown = refuse_unknown_names(marked, (*part.path, "of"), of, directory, besides=RELATIONS)
    for name, key in ((REQUESTER, "allow_requester"), (OWNER, "allow_owner")):
        if name in of and not getattr(part.stage, key):
            what = f'"{name}" may not decide about what is their own'
            marked.report((*part.path, "of", of.index(name)), what, f"{key}: true, if that is meant")
    short = len(part.people) < need
    if of and not unknown and short and all("@" in name or name in RELATIONS or directory.groups[name] for name in of):
        marked.report((*part.path, "need"), f"needs {need} people, but there are only {len(part.people)}")
    return bool(of) and not unknown and not short


def refuse_unknown_names(
    marked: MarkedYaml, path: Path, names: Sequence[str], directory: Directory, *, besides: Collection[str] = ()
) -> list[str]:
    """Note and return the names of a list that lead to no group and to no person; `besides` are other words."""
    unknown = [name for name in names if name not in besides and not _is_known(name, directory)]
    for name in unknown:
        kind, known = ("person", directory.people) if "@" in name else ("group", directory.groups)
        hint = near(name, known, what="people" if kind == "person" else "groups")
        marked.report((*path, names.index(name)), f'unknown {kind} "{name}"', hint)
    return unknown


def _refuse_too_many_denials(marked: MarkedYaml, step: Sequence[_Part]) -> None:
    people = frozenset[str]().union(*(part.people for part in step))
    path, wanted = step[0].path, step[0].stage.denials
    if people and wanted > len(people) and all(part.whole for part in step):
        at: Path = (*(path[:-2] if len(step) > 1 else path), "denials")
        marked.report(at, f"wants {wanted} people to deny, but there are only {len(people)}")


def _refuse_unfillable(marked: MarkedYaml, path: Path, parts: Sequence[_Part]) -> None:
    """A person fills one place in all: by Hall's theorem, any set of stages needs as many people as places."""
    for size in range(2, len(parts) + 1):
        for chosen in combinations(parts, size):
            places = sum(part.stage.need for part in chosen)
            there = len(frozenset[str]().union(*(part.people for part in chosen)))
            if there < places:
                which = " and ".join(_number(part.path, len(path)) for part in chosen)
                why = f"stages {which} need {places} different people together, but there are only {there}"
                marked.report(path, why)
                return


def _number(path: Path, depth: int) -> str:
    """Return a part's number as people count: ``2``, or ``2.1`` for the first part of the second stage."""
    return ".".join(str(step + 1) for step in path[depth:] if isinstance(step, int))


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
