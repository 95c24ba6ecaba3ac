"""Quorum counts people, one place each, anew each time; compared with trying every seating there is."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.decision import Decision, Verdict
from app.domain.quorum import Stage, count, electorate, reachable
from tests.domain.samples import a_decision
from tests.requirements import requirement

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
