"""Whom to ask in which order, and how many of whom must say yes.

Quorum counts *people*, never accounts, and it counts them anew each time: a vote is worth something only while its
voter is entitled. Whoever left a group between the first vote and the last no longer counts.

Stages that are `joined` are asked together, as one step: the order in which their people answer means nothing. A
person fills one place in all, whether in their own right or for somebody who is away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.request.decision import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from app.domain.request.decision import Decision
    from app.domain.request.quorum import Stage

_NOBODY: frozenset[str] = frozenset()


class Stage(Struct, frozen=True, kw_only=True):
    """`need` distinct people out of the groups `of` must approve before the next step is asked.

    `denials` people of its step must deny to end the request. `joined`: asked together with the stage before it.
    `open_to` are groups or people, besides its own, to whom a place may be handed over.
    """

    of: tuple[str, ...]
    need: int
    joined: bool = False
    denials: int = 1
    allow_requester: bool = False
    allow_owner: bool = False
    allow_editor: bool = False
    allow_alone: bool = False  # whose own it is decides, at the moments at which nobody else of the request may
    open_to: tuple[str, ...] = ()
    added_by: str | None = None  # who added this stage while the request waited

    def barred(self, *, requester: str | None, owner: str | None, editor: str | None = None) -> frozenset[str]:
        """Return who may not decide in this stage, by `email_key`. `editor`: whose the arguments are by now."""
        roles = (
            (requester, self.allow_requester),
            (owner, self.allow_owner),
            (editor, self.allow_editor),
        )
        return frozenset(email_key(who) for who, allowed in roles if who and not allowed)

    def facts(self) -> dict[str, object]:
        """Return it as the trail and the database keep it: what the file does not say is left out."""
        said: dict[str, object] = {
            "joined": self.joined,
            "denials": self.denials if self.denials > 1 else False,
            "allow_requester": self.allow_requester,
            "allow_owner": self.allow_owner,
            "allow_editor": self.allow_editor,
            "allow_alone": self.allow_alone,
            "open_to": list(self.open_to),
            "added_by": self.added_by,
        }
        return {"of": list(self.of), "need": self.need, **{key: value for key, value in said.items() if value}}


class Electorate(Struct, frozen=True, kw_only=True):
    """Who may vote right now: per stage the entitled people, with the barred already taken out.

    The e-mails of people are their ids. An unknown group, a failed look-up, an empty list: nobody.
    """

    stages: tuple[frozenset[str], ...]
    barred: frozenset[str]  # barred from every stage, by `email_key`
    over_limit: frozenset[str] = frozenset()  # may deny, but the call is above what they may approve
    acting: Mapping[tuple[str, str], frozenset[int]] = field(default_factory=dict[tuple[str, str], frozenset[int]])
    """Who may act today for whom, and in which stages: (delegate, the person away) → indices of stages."""
    alone: frozenset[str] = frozenset()  # who decides about their own, as a stage lets them: nobody else may

    def entitled(self) -> frozenset[str]:
        """Return everyone who may vote in some stage."""
        own = _NOBODY.union(*self.stages)
        return own | {delegate for (delegate, _), stages in self.acting.items() if stages}

    def is_barred(self, person: str) -> bool:
        """Say whether a person is barred from every stage."""
        return email_key(person) in self.barred

    def places_of(self, person: str, on_behalf_of: str | None) -> frozenset[int]:
        """Return the stages in which a person may vote, in their own right or for somebody who is away."""
        if on_behalf_of is not None:
            return self.acting.get((person, on_behalf_of), frozenset())
        return frozenset(index for index, people in enumerate(self.stages) if person in people)

    def may_approve(self, person: str, on_behalf_of: str | None) -> bool:
        """Say whether the call is within the limits of a person, and of whom they act for."""
        return person not in self.over_limit and on_behalf_of not in self.over_limit


class Tally(Struct, frozen=True, kw_only=True):
    """How far the stages have come. `have[i]` people of stage i have approved; `stage` is the first unmet one."""

    have: tuple[int, ...]
    stage: int
    met: bool


def electorate(
    stages: Sequence[Stage],
    members: Sequence[frozenset[str]],
    barred: Iterable[str],
    *,
    over_limit: Iterable[str] = (),
    acting: Mapping[tuple[str, str], frozenset[int]] | None = None,
    alone: frozenset[str] = frozenset(),
) -> Electorate:
    """Build the electorate of `stages` from each stage's `members`, without the barred, but with who is `alone`."""
    out = frozenset(map(email_key, barred)) - frozenset(map(email_key, alone))
    asked = [people | alone for people in members[: len(stages)]]
    pairs = (acting or {}).items()
    return Electorate(
        stages=tuple(frozenset(who for who in people if email_key(who) not in out) for people in asked),
        barred=out,
        over_limit=frozenset(over_limit),
        acting={(to, of): may for (to, of), may in pairs if not out & {email_key(to), email_key(of)}},
        alone=alone,
    )


def barred_from_all(
    stages: Sequence[Stage], *, requester: str | None, owner: str | None, editor: str | None = None
) -> frozenset[str]:
    """Return who may decide in no stage at all, by `email_key`. Without stages: all of them."""
    each = [stage.barred(requester=requester, owner=owner, editor=editor) for stage in stages]
    nobody_allowed = Stage(of=(), need=1).barred(requester=requester, owner=owner, editor=editor)
    return nobody_allowed.intersection(*each)


def count(stages: Sequence[Stage], decisions: Iterable[Decision], voters: Electorate) -> Tally:
    """Count the standing approvals of people who are entitled now. A request without stages is never met."""
    return _tally(stages, _seats([*decisions], voters, Verdict.APPROVE))


def counted(decisions: Iterable[Decision], voters: Electorate) -> frozenset[str]:
    """Return the people whose approvals are worth something now."""
    return frozenset(person for person, places in _seats([*decisions], voters, Verdict.APPROVE).items() if places)


def worth_enough(decisions: Iterable[Decision], level: Assurance) -> tuple[Decision, ...]:
    """Return the decisions without the approvals that are worth less than a level takes; a denial always counts."""
    return tuple(
        each for each in decisions if each.verdict is not Verdict.APPROVE or each.evidence.assurance.suffices_for(level)
    )


def met(stages: Sequence[Stage], decisions: Iterable[Decision], voters: Electorate, level: Assurance) -> bool:
    """Say whether the stages are met by approvals that are worth what a level takes, and at L4 by two people."""
    worth = worth_enough(decisions, level)
    enough = level is not Assurance.L4 or len(counted(worth, voters)) >= FEWEST_AT_L4
    return enough and count(stages, worth, voters).met


def reachable(stages: Sequence[Stage], voters: Electorate, *, without: Collection[str] = ()) -> bool:
    """Say whether the stages could be met at all, if everyone who is entitled, but `without` some, approved."""
    people = _NOBODY.union(*voters.stages) - voters.over_limit - frozenset(without)
    return _tally(stages, {person: voters.places_of(person, None) for person in people}).met


def denied(stages: Sequence[Stage], decisions: Sequence[Decision], voters: Electorate) -> bool:
    """Say whether the standing denials end the request: enough of one step, or too many for a quorum to be reached."""
    against = {person: places for person, places in _seats(decisions, voters, Verdict.DENY).items() if places}
    for step in steps(stages):
        if sum(bool(places & step) for places in against.values()) >= min(stages[index].denials for index in step):
            return True
    # Whoever denied for somebody who is away has not spoken for good: that person may still approve.
    spoken = {decision.person for decision in decisions if decision.verdict is Verdict.DENY}
    # Whoever was only added has one denial like the others, and no veto: without their yes the request is not approved,
    # but what ends it is what the file says.
    own = [stage if stage.added_by is None else replace(stage, need=0) for stage in stages]
    return bool(against) and not reachable(own, voters, without=spoken)


def steps(stages: Sequence[Stage]) -> tuple[frozenset[int], ...]:
    """Return the stages by what is asked together: the indices of each step, in order."""
    found: list[list[int]] = []
    for index, stage in enumerate(stages):
        if stage.joined and found:
            found[-1].append(index)
        else:
            found.append([index])
    return tuple(map(frozenset, found))


def _seats(decisions: Sequence[Decision], voters: Electorate, verdict: Verdict) -> dict[str, frozenset[int]]:
    """Return who said `verdict`, and in which stages that is worth something now.

    Whoever is acted for has one vote: their own, if they voted at all, else that of the first who acts for them.
    """
    spoken = {decision.person for decision in decisions}
    acted_for: set[str] = set()
    seats: dict[str, frozenset[int]] = {}
    for decision in decisions:
        principal = decision.on_behalf_of
        places = voters.places_of(decision.person, principal)
        if principal is not None:
            if not places or principal in spoken or principal in acted_for:
                continue
            acted_for.add(principal)
        if decision.verdict is not verdict:
            continue
        if verdict is Verdict.APPROVE and not voters.may_approve(decision.person, principal):
            continue
        seats[decision.person] = places
    return seats


def _tally(stages: Sequence[Stage], approving: Mapping[str, frozenset[int]]) -> Tally:
    """Seat people in the places of the stages.

    A person fills one place in all, so two stages are never met by one pair of eyes. Places are filled by augmenting
    paths (Kuhn's bipartite matching): someone who could serve in two stages is moved to where they are needed, and a
    place of an earlier stage, once filled, stays filled.
    """
    people = [person for person, may in approving.items() if may]
    if not people:
        return Tally(have=(0,) * len(stages), stage=0, met=False)
    if len(stages) == 1:  # nobody has to be moved
        have = min(sum(0 in may for may in approving.values()), stages[0].need)
        met = have == stages[0].need
        return Tally(have=(have,), stage=int(met), met=met)
    people.sort()
    places = [index for index, stage in enumerate(stages) for _ in range(stage.need)]
    filled: dict[str, int] = {}  # person -> index into places

    def seat(place: int, tried: set[str]) -> bool:
        for person in people:
            if person in tried or places[place] not in approving[person]:
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


FEWEST_AT_L4 = 2
"""People who must approve at the highest level, whatever the stages say."""


def stages_at(stages: Sequence[Stage], level: Assurance) -> tuple[Stage, ...]:
    """Return the stages with as many people as a level takes: at L4 a lone one stands for two."""
    whole = tuple(stages)
    if level is not Assurance.L4 or sum(stage.need for stage in whole) >= FEWEST_AT_L4 or not whole:
        return whole
    return (*whole[:-1], replace(whole[-1], need=FEWEST_AT_L4))
