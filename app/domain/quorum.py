"""Whom to ask in which order, and how many of whom must say yes.

Quorum counts *people*, never accounts, and it counts them anew each time: a vote is worth something only while its
voter is entitled. Whoever left a group between the first vote and the last no longer counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.decision import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from app.domain.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`need` distinct people out of the groups `of` must approve before the next stage is asked."""

    of: tuple[str, ...]
    need: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Electorate:
    """Who may vote right now: per stage the entitled people, with the barred already taken out.

    The e-mails of people are their ids. An unknown group, a failed look-up, an empty list: nobody.
    """

    stages: tuple[frozenset[str], ...]
    barred: frozenset[str]

    def entitled(self) -> frozenset[str]:
        """Return everyone who may vote in some stage."""
        return frozenset[str]().union(*self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How far the stages have come. `have[i]` people of stage i have approved; `stage` is the first unmet one."""

    have: tuple[int, ...]
    stage: int
    met: bool


def electorate(stages: Sequence[Stage], members: Sequence[frozenset[str]], barred: Iterable[str]) -> Electorate:
    """Build the electorate of `stages` from each stage's `members`, without the barred."""
    out = frozenset(barred)
    return Electorate(stages=tuple(people - out for people in members[: len(stages)]), barred=out)


def count(stages: Sequence[Stage], decisions: Iterable[Decision], voters: Electorate) -> Tally:
    """Count the standing approvals of people who are entitled now. A request without stages is never met."""
    return _tally(stages, {d.person for d in decisions if d.verdict is Verdict.APPROVE}, voters)


def reachable(stages: Sequence[Stage], voters: Electorate) -> bool:
    """Say whether the stages could be met at all, if everyone who is entitled approved."""
    return _tally(stages, voters.entitled(), voters).met


def _tally(stages: Sequence[Stage], approving: Collection[str], voters: Electorate) -> Tally:
    """Seat people in the places of the stages.

    A person fills one place in all, so two stages are never met by one pair of eyes. Places are filled by augmenting
    paths (Kuhn's bipartite matching): someone who could serve in two stages is moved to where they are needed, and a
    place of an earlier stage, once filled, stays filled.
    """
    if not approving:
        return Tally(have=(0,) * len(stages), stage=0, met=False)
    places = [index for index, stage in enumerate(stages) for _ in range(stage.need)]
    people = sorted(set(approving) & voters.entitled())
    filled: dict[str, int] = {}  # person -> index into places

    def seat(place: int, tried: set[str]) -> bool:
        for person in people:
            if person in tried or person not in voters.stages[places[place]]:
                continue
            tried.add(person)
            if person not in filled or seat(filled[person], tried):
                filled[person] = place
                return True
        return False

    for place in range(len(places)):
        seat(place, set())
    seats = [places[place] for place in filled.values()]
    have = tuple(seats.count(index) for index in range(len(stages)))
    unmet = [index for index, stage in enumerate(stages) if have[index] < stage.need]
    return Tally(have=have, stage=unmet[0] if unmet else len(stages), met=bool(stages) and not unmet)
