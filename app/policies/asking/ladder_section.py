"""How people are reminded, who else is brought in as time passes, and where a card goes that nobody can take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.people.people import MANAGER, OWNER
from app.domain.request.request import API
from app.domain.request.timetable import Rung
from app.policies.asking.stage_section import read_channel_names, refuse_unknown_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.people.people import Directory
    from app.domain.rules.policy import ChannelSpec
    from app.domain.rules.rule import Asking
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.policies.models.file_models import LadderEntry, RungEntry


def read_ladder(  # noqa: PLR0917 - what the entry may name, and what it builds on
    marked: MarkedYaml,
    path: Path,
    entry: LadderEntry,
    asking: Asking,
    directory: Directory,
    channels: Sequence[ChannelSpec],
) -> Asking:
    """Return `asking` with what the entry says of reminders, escalation, other channels, whom it tells, and risk.

    `asking` has the entry's own stages, channels and timeout already; what the entry leaves out stays as it is.
    """
    fallback = asking.fallback
    if entry.fallback is not None:
        fallback = _fallback(marked, (*path, "fallback"), entry.fallback, asking, channels)
    if entry.escalate is None:
        _refuse_too_late(marked, path, asking)
        escalate = asking.escalate
    else:
        escalate = _rungs(marked, (*path, "escalate"), entry.escalate, asking, directory, channels)
    return replace(
        asking,
        remind=asking.remind if entry.remind is None else tuple(sorted(set(entry.remind))),
        escalate=escalate,
        fallback=tuple(name for name in fallback if name not in asking.channels),
        cc=asking.cc if entry.cc is None else _cc(marked, (*path, "cc"), entry.cc, directory),
        risk=entry.risk or asking.risk,
    )


def _cc(marked: MarkedYaml, path: Path, names: Sequence[str], directory: Directory) -> tuple[str, ...]:
    """Return who hears how it ends: the agent's owner, the requester's manager, groups, people."""
    refuse_unknown_names(marked, path, names, directory, besides=(OWNER, MANAGER))
    for index, name in enumerate(names):
        if name in names[:index]:
            marked.report((*path, index), f'"{name}" again')
    return tuple(names)


def _fallback(
    marked: MarkedYaml, path: Path, names: Sequence[str], asking: Asking, channels: Sequence[ChannelSpec]
) -> tuple[str, ...]:
    for index, name in enumerate(names):
        if name == API:
            marked.report((*path, index), f'"{API}" carries no cards: nobody would be reached')
        elif name in asking.channels:
            marked.report((*path, index), f'"{name}" is asked from the beginning')
    return read_channel_names(marked, path, names, channels) if names else ()


def _rungs(  # noqa: PLR0917 - what a ladder may name, and what it climbs from
    marked: MarkedYaml,
    path: Path,
    entries: Sequence[RungEntry],
    asking: Asking,
    directory: Directory,
    channels: Sequence[ChannelSpec],
) -> tuple[Rung, ...]:
    rungs: list[Rung] = []
    there = [_people(stage.of, directory) for stage in asking.stages]
    carrying = set(asking.channels)
    for index, entry in enumerate(entries):
        here: Path = (*path, index)
        rung = Rung(after=entry.after, to=tuple(entry.to), channels=tuple(entry.channels))
        if rung.within(asking.timeout) >= asking.timeout:
            marked.report((*here, "after"), "is not before the timeout")
            continue  # a rule that inherits the ladder is not told so again
        rungs.append(rung)
        if not rung.to and not rung.channels:
            marked.report(here, 'brings in nobody: it has neither "to" nor "channels"')
        if API in rung.channels:
            marked.report((*here, "channels", rung.channels.index(API)), f'"{API}" carries no cards')
        elif rung.channels:
            read_channel_names(marked, (*here, "channels"), rung.channels, channels)
        if refuse_unknown_names(marked, (*here, "to"), rung.to, directory) or not rung.to:
            continue
        more = _people(rung.to, directory)
        known = not any(name in directory.sources for name in rung.to)
        if known and more and there and all(more <= people for people in there) and carrying.issuperset(rung.channels):
            marked.report((*here, "to"), "brings in nobody: all of them are asked already, in the same channels")
        there = [people | more for people in there]
        carrying.update(rung.channels)
    return tuple(rungs)


def _refuse_too_late(marked: MarkedYaml, path: Path, asking: Asking) -> None:
    """A rule with a shorter time of its own takes the ladder of `ask` over, whole or not at all."""
    if (*path, "timeout") not in marked.marks:
        return  # noted where the time is said
    for rung in asking.escalate:
        if rung.within(asking.timeout) >= asking.timeout:
            hint = 'write an "escalate" for this rule; "escalate: []" is none'
            marked.report((*path, "timeout"), 'is over before the "escalate" of "ask" is through', hint)
            return


def _people(names: Sequence[str], directory: Directory) -> frozenset[str]:
    return frozenset(person for name in names for person in directory.members(name))
