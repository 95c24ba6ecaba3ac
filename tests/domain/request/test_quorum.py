"""Quorum counts people, one place each, anew each time; compared with trying every seating there is."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.people.assurance import Assurance
from app.domain.request.decision import Decision, Verdict
from app.domain.request.quorum import Stage, count, counted, denied, electorate, met, reachable, steps
from tests.domain.samples import a_decision
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.request.quorum import Electorate

CROWD = ["a", "b", "c", "d", "e"]
GROUPS = st.frozensets(st.sampled_from(CROWD))
STAGES = st.lists(st.tuples(GROUPS, st.integers(1, 3)), max_size=3)
VOTES = st.dictionaries(st.sampled_from(CROWD), st.sampled_from([*Verdict]))


def stages_of(shape: list[tuple[frozenset[str], int]]) -> tuple[Stage, ...]:
    return tuple(Stage(of=(f"g{index}",), need=need) for index, (_, need) in enumerate(shape))


def members_of(shape: list[tuple[frozenset[str], int]]) -> list[frozenset[str]]:
    return [members for members, _ in shape]


def decisions_of(votes: dict[str, Verdict]) -> list[Decision]:
    return [a_decision(person, verdict) for person, verdict in votes.items()]


def can_all_be_seated(shape: list[tuple[frozenset[str], int]], approving: set[str]) -> bool:
    """Try every way to put distinct approving people into all places of all stages."""
    places = [members for members, need in shape for _ in range(need)]
    if not places or len(places) > len(approving):
        return False
    return any(
        all(person in members for person, members in zip(order, places, strict=True))
        for order in permutations(sorted(approving), len(places))
    )


@requirement("S-23")
@given(STAGES, VOTES, st.frozensets(st.sampled_from(CROWD)))
def test_a_quorum_is_met_exactly_when_distinct_people_can_fill_every_place(
    shape: list[tuple[frozenset[str], int]], votes: dict[str, Verdict], barred: frozenset[str]
) -> None:
    stages = stages_of(shape)
    tally = count(stages, decisions_of(votes), electorate(stages, members_of(shape), barred))
    approving = {person for person, verdict in votes.items() if verdict is Verdict.APPROVE} - barred
    assert tally.met == can_all_be_seated(shape, approving)
    assert all(have <= stage.need for have, stage in zip(tally.have, stages, strict=True))
    assert sum(tally.have) <= len(approving)
    assert tally.stage == next((i for i, stage in enumerate(stages) if tally.have[i] < stage.need), len(stages))


@requirement("S-09")
@given(STAGES, VOTES, st.frozensets(st.sampled_from(CROWD)))
def test_the_barred_never_count(
    shape: list[tuple[frozenset[str], int]], votes: dict[str, Verdict], barred: frozenset[str]
) -> None:
    stages = stages_of(shape)
    voters = electorate(stages, members_of(shape), barred)
    assert not voters.entitled() & barred
    without = {person: verdict for person, verdict in votes.items() if person not in barred}
    assert count(stages, decisions_of(votes), voters) == count(stages, decisions_of(without), voters)


@requirement("S-23")
@given(STAGES, VOTES)
def test_voting_twice_counts_once_and_order_does_not_matter(
    shape: list[tuple[frozenset[str], int]], votes: dict[str, Verdict]
) -> None:
    stages = stages_of(shape)
    voters = electorate(stages, members_of(shape), ())
    decisions = decisions_of(votes)
    expected = count(stages, decisions, voters)
    assert count(stages, [*reversed(decisions), *decisions], voters) == expected


@given(STAGES, VOTES, st.sampled_from(CROWD))
def test_one_more_approval_never_sets_a_quorum_back(
    shape: list[tuple[frozenset[str], int]], votes: dict[str, Verdict], person: str
) -> None:
    stages = stages_of(shape)
    voters = electorate(stages, members_of(shape), ())
    before = count(stages, decisions_of(votes), voters)
    after = count(stages, decisions_of({**votes, person: Verdict.APPROVE}), voters)
    assert after.met or not before.met
    assert sum(after.have) >= sum(before.have)


@given(STAGES, st.frozensets(st.sampled_from(CROWD)))
def test_reachable_means_that_everyone_together_could(
    shape: list[tuple[frozenset[str], int]], barred: frozenset[str]
) -> None:
    stages = stages_of(shape)
    voters = electorate(stages, members_of(shape), barred)
    everyone = decisions_of(dict.fromkeys(CROWD, Verdict.APPROVE))
    assert reachable(stages, voters) == count(stages, everyone, voters).met


@requirement("S-07")
@pytest.mark.parametrize("members", [[], [frozenset[str]()]])
def test_nobody_is_nobody(members: list[frozenset[str]]) -> None:
    stages = (Stage(of=("ghosts",), need=1),)
    voters = electorate(stages, members, ())
    assert voters.entitled() == frozenset()
    assert not reachable(stages, voters)
    assert not count(stages, [a_decision("a")], voters).met


@requirement("S-07")
def test_no_stages_are_never_met() -> None:
    assert not count((), [a_decision("a")], electorate((), [], ())).met


# --- people away, denials, votes taken back --------------------------------------------------------------------------

DELEGATIONS = st.dictionaries(st.sampled_from(CROWD), st.sampled_from(CROWD))  # who is away → who acts for them
SPOKEN = st.dictionaries(
    st.sampled_from(CROWD), st.tuples(st.sampled_from([*Verdict]), st.none() | st.sampled_from(CROWD))
)


def with_delegates(
    shape: list[tuple[frozenset[str], int]], delegations: dict[str, str], barred: frozenset[str]
) -> Electorate:
    acting = {
        (to, of): frozenset(index for index, (members, _) in enumerate(shape) if of in members)
        for of, to in delegations.items()
        if of != to
    }
    return electorate(stages_of(shape), members_of(shape), barred, acting=acting)


def spoken_of(spoken: dict[str, tuple[Verdict, str | None]]) -> list[Decision]:
    return [
        replace(a_decision(person, verdict), on_behalf_of=principal if principal != person else None)
        for person, (verdict, principal) in spoken.items()
    ]


@requirement("S-09", "S-23")
@given(STAGES, SPOKEN, DELEGATIONS, st.frozensets(st.sampled_from(CROWD)))
def test_a_quorum_needs_as_many_distinct_entitled_people_as_places_and_as_many_rights(
    shape: list[tuple[frozenset[str], int]],
    spoken: dict[str, tuple[Verdict, str | None]],
    delegations: dict[str, str],
    barred: frozenset[str],
) -> None:
    stages, voters, decisions = stages_of(shape), with_delegates(shape, delegations, barred), spoken_of(spoken)
    tally = count(stages, decisions, voters)
    worth = counted(decisions, voters)
    rights = [d.on_behalf_of or d.person for d in decisions if d.person in worth]
    assert not barred & ({*rights} | worth)
    assert len(set(rights)) == len(rights) == len(worth)  # nobody's right is used twice
    assert all(right in voters.entitled() for right in rights)
    assert sum(tally.have) <= len(worth)
    if tally.met:
        assert can_all_be_seated(shape, set(rights))


@requirement("S-23")
@given(STAGES, SPOKEN, DELEGATIONS, st.sampled_from(CROWD))
def test_taking_an_approval_back_never_helps(
    shape: list[tuple[frozenset[str], int]],
    spoken: dict[str, tuple[Verdict, str | None]],
    delegations: dict[str, str],
    person: str,
) -> None:
    stages, voters = stages_of(shape), with_delegates(shape, delegations, frozenset())
    spoken = {**spoken, person: (Verdict.APPROVE, spoken.get(person, (None, None))[1])}
    decisions = spoken_of(spoken)
    before = count(stages, decisions, voters)
    after = count(stages, [d for d in decisions if d.person != person], voters)
    assert sum(after.have) <= sum(before.have)
    assert before.met or not after.met


@requirement("S-24")
@given(STAGES, VOTES, st.integers(1, 3), st.frozensets(st.sampled_from(CROWD)))
def test_denials_end_a_request_at_the_threshold_or_when_nobody_is_left_to_approve(
    shape: list[tuple[frozenset[str], int]], votes: dict[str, Verdict], threshold: int, barred: frozenset[str]
) -> None:
    stages = tuple(replace(stage, denials=threshold) for stage in stages_of(shape))
    voters = electorate(stages, members_of(shape), barred)
    against = {person for person, verdict in votes.items() if verdict is Verdict.DENY} - barred
    of_a_stage = [against & members for members in members_of(shape)]
    enough = any(len(people) >= threshold for people in of_a_stage)
    lost = any(of_a_stage) and not can_all_be_seated(shape, {*CROWD} - barred - against)
    assert denied(stages, decisions_of(votes), voters) == (enough or lost)


def test_joined_stages_are_one_step_for_denials() -> None:
    parts = (Stage(of=("f",), need=1, denials=2), Stage(of=("s",), need=1, denials=2, joined=True))
    apart = (parts[0], replace(parts[1], joined=False))
    members = [frozenset({"a", "b", "c"}), frozenset({"c", "d", "e"})]
    votes = [a_decision("a", Verdict.DENY), a_decision("d", Verdict.DENY)]
    assert steps(parts) == ({0, 1},)
    assert denied(parts, votes, electorate(parts, members, ()))
    assert not denied(apart, votes, electorate(apart, members, ()))


@requirement("S-06")
@given(STAGES, VOTES, st.frozensets(st.sampled_from(CROWD)))
def test_who_is_above_their_limit_fills_no_place(
    shape: list[tuple[frozenset[str], int]], votes: dict[str, Verdict], over: frozenset[str]
) -> None:
    stages = stages_of(shape)
    limited = electorate(stages, members_of(shape), (), over_limit=over)
    barred = electorate(stages, members_of(shape), over)
    assert count(stages, decisions_of(votes), limited) == count(stages, decisions_of(votes), barred)
    assert reachable(stages, limited) == reachable(stages, barred)


@requirement("S-09")
@pytest.mark.parametrize(
    ("member", "requester"), [("straße@a.example", "STRASSE@a.example"), ("A@a.example", "a@A.example")]
)
def test_the_barred_are_known_in_every_spelling(member: str, requester: str) -> None:
    stages = (Stage(of=("finance",), need=1),)
    voters = electorate(stages, [frozenset({member})], stages[0].barred(requester=requester, owner=None))
    assert voters.entitled() == frozenset()
    assert voters.is_barred(member)


def test_someone_who_could_serve_twice_is_moved_to_where_they_are_needed() -> None:
    stages = (Stage(of=("finance",), need=1), Stage(of=("board",), need=1))
    voters = electorate(stages, [frozenset({"a", "b"}), frozenset({"a"})], ())
    assert count(stages, [a_decision("a"), a_decision("b")], voters).met
    assert not count(stages, [a_decision("a")], voters).met


def test_whoever_left_the_group_no_longer_counts() -> None:
    stages = (Stage(of=("finance",), need=2),)
    votes = [a_decision("a"), a_decision("b")]
    assert count(stages, votes, electorate(stages, [frozenset({"a", "b"})], ())).met
    assert count(stages, votes, electorate(stages, [frozenset({"b", "c"})], ())).have == (1,)


def acting(person: str, absent: str) -> Decision:
    return replace(a_decision(person), on_behalf_of=absent)


@requirement("S-09")
def test_nobody_acts_for_the_barred_and_the_barred_act_for_nobody() -> None:
    stages = (Stage(of=("finance",), need=1),)
    pairs = {("ann", "req"): frozenset({0}), ("req", "bob"): frozenset({0}), ("ann", "bob"): frozenset({0})}
    voters = electorate(stages, [frozenset({"req", "bob"})], ["req"], acting=pairs)
    assert voters.acting == {("ann", "bob"): frozenset({0})}
    assert not count(stages, [acting("ann", "req")], voters).met
    assert not count(stages, [acting("req", "bob")], voters).met


def test_a_delegate_who_may_act_no_longer_takes_nobody_s_place() -> None:
    stages = (Stage(of=("finance",), need=1),)
    voters = electorate(stages, [frozenset({"bob"})], (), acting={("cyd", "bob"): frozenset({0})})
    assert count(stages, [acting("ann", "bob"), acting("cyd", "bob")], voters).met  # ann acted before cyd did


@requirement("S-29")
def test_a_vote_below_the_level_counts_for_nothing() -> None:
    stages = (Stage(of=("finance",), need=2),)
    voters = electorate(stages, [frozenset({"ann", "bob"})], ())
    clicked = a_decision("ann")
    typed = replace(clicked, evidence=replace(clicked.evidence, assurance=Assurance.L2))
    other = replace(typed, person="bob")
    assert met(stages, [clicked, other], voters, Assurance.L1)
    assert not met(stages, [clicked, other], voters, Assurance.L2)
    assert met(stages, [typed, other], voters, Assurance.L2)
