"""How people are asked: the file's `ask`, and what a rule or one of its tiers says of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.people.assurance import Assurance
from app.domain.people.people import RELATIONS
from app.domain.request.quorum import FEWEST_AT_L4, stages_at
from app.domain.rules.rule import Asking
from app.policies.asking.ladder_section import read_ladder
from app.policies.asking.stage_section import read_channel_names, read_stages
from app.policies.asking.standing_section import read_session, read_standing, refuse_session_of_more
from app.policies.marks.entries import read_entry
from app.policies.models.file_models import AskEntry, OwnAskEntry

if TYPE_CHECKING:
    from app.domain.call.name_pattern import NamePattern
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

ASKING_KEYS = (*OwnAskEntry.model_fields,)
"""What means nothing on a rule, or a tier, that does not ask."""


class Inherited(Struct, frozen=True, kw_only=True):
    """What an entry builds on. `given` are the keys that something above it has, if at fault there."""

    asking: Asking
    given: frozenset[str] = frozenset()


def read_ask(marked: MarkedYaml, around: Surroundings) -> Asking | None:
    """Return the file's `ask`, or None if it is left out or at fault."""
    raw = marked.value.get("ask") if isinstance(marked.value, dict) else None
    entry = read_entry(marked, ("ask",), raw, AskEntry) if raw is not None else None
    if entry is None:
        return None
    asking = Asking(
        stages=read_stages(marked, ("ask", "stages"), entry.stages, around.directory),
        channels=read_channel_names(marked, ("ask", "channels"), entry.channels, around.channels),
        timeout=entry.timeout,
        claim_within=entry.claim_within,
        lease=entry.lease,
        assurance=entry.assurance or Assurance.L1,
    )
    asking = read_ladder(marked, ("ask",), entry, asking, around.directory, around.channels)
    refuse_unmet(marked, ("ask",), asking, around)
    return asking


def require_ask(marked: MarkedYaml, around: Surroundings) -> None:
    """Note that a default that asks does not say whom: that is never guessed."""
    group = next(iter(around.directory.groups), "people-who-may-approve")
    channel = next((spec.name for spec in around.channels), "a-channel")
    lines = f"ask: {{stages: [{{of: [{group}], need: 1}}], channels: [{channel}], timeout: 30m}}"
    marked.report(("default",), '"ask" is missing: it says whom to ask about tools that no rule names', f"add: {lines}")


def inherited_from(marked: MarkedYaml, ask: Asking | None) -> Inherited:
    """Return what rules build on. A faulty `ask` is noted once, where it stands."""
    has_ask = isinstance(marked.value, dict) and "ask" in marked.value
    return Inherited(
        asking=ask or Asking(stages=(), channels=()),
        given=frozenset({"stages", "channels"} if has_ask else ()),
    )


def refuse_asking_keys(marked: MarkedYaml, path: Path, entry: OwnAskEntry, why: str) -> None:
    """Note every key that means nothing where nobody is asked."""
    for key in ASKING_KEYS:
        if getattr(entry, key) is not None:
            marked.report((*path, key), why)


def read_asking(  # noqa: PLR0917 - what the entry may name, and what it builds on
    marked: MarkedYaml,
    path: Path,
    entry: OwnAskEntry,
    around: Surroundings,
    inherited: Inherited,
    tools: tuple[NamePattern, ...],
) -> Asking:
    """Return how a rule, or a tier, asks about calls of `tools`; every fault is noted."""
    refuse_nobody(marked, path, entry, inherited)
    asking = merged(marked, path, entry, around, inherited, tools)
    refuse_unmet(marked, path, asking, around)
    if entry.session is not None:
        refuse_session_of_more(marked, (*path, "session"), asking)
    return asking


def refuse_nobody(marked: MarkedYaml, path: Path, entry: OwnAskEntry, inherited: Inherited) -> None:
    """Note what is neither said nor inherited."""
    for key in ("stages", "channels"):
        if getattr(entry, key) is None and key not in inherited.given:
            marked.report(path, f'asks, but has no "{key}" and there is no top-level "ask" to take them from')


def merged(  # noqa: PLR0917 - as above
    marked: MarkedYaml,
    path: Path,
    entry: OwnAskEntry,
    around: Surroundings,
    inherited: Inherited,
    tools: tuple[NamePattern, ...],
) -> Asking:
    """Return what is inherited with what the entry says; whether its level can be met is not looked at."""
    above = inherited.asking
    stages, channels = above.stages, above.channels
    if entry.stages is not None:
        stages = read_stages(marked, (*path, "stages"), entry.stages, around.directory)
    if entry.channels is not None:
        channels = read_channel_names(marked, (*path, "channels"), entry.channels, around.channels)
    standing = above.standing
    if entry.standing is not None:
        standing = read_standing(marked, (*path, "standing"), entry.standing, tools, around)
    session = above.session
    if entry.session is not None:
        session = read_session(marked, (*path, "session"), entry.session, tools, around)
    asking = replace(
        above,
        stages=stages,
        channels=channels,
        timeout=entry.timeout or above.timeout,
        claim_within=entry.claim_within or above.claim_within,
        lease=entry.lease or above.lease,
        assurance=entry.assurance or above.assurance,
        standing=standing,
        session=session,
    )
    return read_ladder(marked, path, entry, asking, around.directory, around.channels)


def refuse_unmet(marked: MarkedYaml, path: Path, asking: Asking, around: Surroundings) -> None:
    """Note a level that takes more people than there are, or less than `allow_alone` does, where either is said."""
    said = next((key for key in ("assurance", "stages") if (*path, key) in marked.marks), None)
    _refuse_alone(marked, (*path, said or "stages"), asking, around)
    if asking.assurance is not Assurance.L4 or said is None:
        return
    directory = around.directory
    for before, stage in zip(asking.stages, stages_at(asking.stages, Assurance.L4), strict=True):
        people = frozenset(person for name in stage.of for person in directory.members(name))
        whole = not any(name in directory.sources or name in RELATIONS for name in stage.of)
        if stage.need > before.need and people and whole and len(people) < stage.need:
            why = f"L4 takes {FEWEST_AT_L4} people, but {', '.join(stage.of)} has only {len(people)}"
            marked.report((*path, said), why)


def _refuse_alone(marked: MarkedYaml, path: Path, asking: Asking, around: Surroundings) -> None:
    """Note where somebody who decides alone would prove too little, or might not be alone."""
    alone = [stage for stage in asking.stages if stage.allow_alone]
    if not alone:
        return
    if asking.assurance is not Assurance.L3:
        marked.report(
            path, "allow_alone takes L3: one who decides about their own proves that it is them", "assurance: L3"
        )
    if len(asking.stages) > 1 or alone[0].need > 1:
        marked.report(path, "allow_alone takes one stage that needs one person: nobody alone fills two places")
    kept = sorted(name for name in alone[0].of if name in around.directory.sources)
    if kept:
        marked.report(
            path, f"allow_alone takes groups of this file: who else is in {', '.join(kept)}, only a platform knows"
        )
