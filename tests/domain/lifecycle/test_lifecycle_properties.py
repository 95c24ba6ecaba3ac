"""What no order of events can do: any story over a request keeps the promises at each of its steps."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.lifecycle.effect import IssueGrant, TellApprovers
from app.domain.lifecycle.execution import claim, issue, lapse, lose, report
from app.domain.lifecycle.lifecycle import DeadlinePassed, NobodyReachable, Step, VoteWithdrawn, Withdrawn, advance
from app.domain.people.assurance import Assurance
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import ExecutionStatus, GrantStatus, Status
from tests.domain.samples import FINANCE, OWNER, REQUESTER, START, a_request, vote
from tests.requirements import requirement

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

PEOPLE = [*sorted(FINANCE), OWNER, REQUESTER, "stranger@acme.example"]
MEMBERS = (FINANCE | {OWNER, REQUESTER},)
WORTHS = (Assurance.L1, Assurance.L2, Assurance.L3)  # of one verdict
VOTES = st.tuples(st.just("vote"), st.sampled_from(PEOPLE), st.sampled_from([*Verdict]), st.sampled_from(WORTHS))
MOSTLY_YES = st.tuples(
    st.just("vote"),
    st.sampled_from(sorted(FINANCE)),
    st.sampled_from([Verdict.APPROVE] * 5 + [Verdict.DENY]),
    st.sampled_from([*WORTHS, Assurance.L3, Assurance.L3]),
)
MOVES = st.one_of(
    VOTES,
    st.tuples(st.just("take back"), st.sampled_from(PEOPLE)),
    st.tuples(st.sampled_from(["cancel", "deadline", "nobody", "lapse", "lose"])),
    st.tuples(st.just("claim"), st.sampled_from(["c-1", "c-2"])),
    st.tuples(st.just("report"), st.sampled_from(["c-1", "c-2"]), st.sampled_from([*ExecutionStatus])),
)
# Times mostly near the deadline (1,800 s), and not always forward: clocks jump.
SECONDS = st.one_of(st.integers(0, 1_799), st.sampled_from([0, 1_799, 1_800, 1_801]), st.integers(1_800, 5_000))
STORIES = st.lists(st.tuples(MOVES, SECONDS), max_size=25)


def move(request: ConfirmationRequest, what: tuple[object, ...], now: datetime) -> Step:  # noqa: PLR0911 - a move each
    match what:
        case ("vote", str(person), Verdict() as verdict, Assurance() as worth):
            event = vote(request, person, verdict, members=MEMBERS, at=now)
            decision = replace(event.decision, evidence=Evidence(channel="api", assurance=worth))
            return advance(request, replace(event, decision=decision), now=now)
        case ("take back", str(person)):
            return advance(request, VoteWithdrawn(person=person, evidence=Evidence(channel="api")), now=now)
        case ("cancel",):
            return advance(request, Withdrawn(by="agent:payer", reason=None), now=now)
        case ("deadline",):
            return advance(request, DeadlinePassed(), now=now)
        case ("nobody",):
            return advance(request, NobodyReachable(why="gone"), now=now)
        case ("lapse",):
            return lapse(request, now=now)
        case ("lose",):
            return lose(request, now=now)
        case ("claim", str(claim_id)):
            return claim(request, execution_id=f"exe_{claim_id}", claim_id=claim_id, by="agent:payer", now=now)
        case ("report", str(claim_id), ExecutionStatus() as status):
            return report(request, claim_id=claim_id, status=status, result=None, error=None, by="a", now=now)
        case _:
            raise AssertionError(what)


def told(
    need: int,
    story: list[tuple[tuple[object, ...], int]],
    *,
    denials: int = 1,
    level: Assurance = Assurance.L1,
) -> list[tuple[ConfirmationRequest, Step]]:
    """Play a story and return (before, step) for each move, the grant of an approval issued as the use case does."""
    request = a_request(stages=(Stage(of=("finance",), need=need, denials=denials),), assurance=level)
    steps: list[tuple[ConfirmationRequest, Step]] = []
    for what, seconds in story:
        step = move(request, what, START + timedelta(seconds=seconds))
        for effect in step.effects:
            if isinstance(effect, IssueGrant):
                step = replace(step, request=issue(step.request, grant_id="gra_1", not_after=effect.not_after))
        steps.append((request, step))
        request = step.request
    return steps


@given(st.integers(1, 3), STORIES)
def test_a_settled_request_keeps_its_status_and_its_settlement(
    need: int, story: list[tuple[tuple[object, ...], int]]
) -> None:
    for before, step in told(need, story):
        if before.status.final:
            after = step.request
            assert (after.status, after.settlement, after.decisions) == (
                before.status,
                before.settlement,
                before.decisions,
            )


@given(st.integers(1, 3), STORIES)
def test_each_change_is_one_version_with_one_record_and_no_change_has_neither(
    need: int, story: list[tuple[tuple[object, ...], int]]
) -> None:
    for before, step in told(need, story):
        changed = step.request != before
        assert step.request.version == before.version + changed
        assert (step.record is not None) == changed
        assert not (step.effects and not changed)


@requirement("S-09", "S-11", "S-23")
@given(st.integers(1, 3), STORIES)
def test_approved_means_enough_distinct_entitled_people_before_the_deadline(
    need: int, story: list[tuple[tuple[object, ...], int]]
) -> None:
    for before, step in told(need, story):
        after = step.request
        if before.status is Status.PENDING and after.status is Status.APPROVED:
            yes = {d.person for d in after.decisions if d.verdict is Verdict.APPROVE}
            assert yes <= FINANCE
            assert len(yes) == len(after.decisions) == need
            assert after.settlement is not None
            assert after.settlement.at < after.expires_at


@requirement("S-29")
@given(
    st.integers(1, 3), st.sampled_from([*Assurance]), st.lists(st.tuples(MOSTLY_YES, st.integers(0, 1_799)), max_size=9)
)
def test_approved_means_that_every_vote_was_worth_what_the_level_takes_and_at_the_highest_two_people(
    need: int, level: Assurance, story: list[tuple[tuple[object, ...], int]]
) -> None:
    for before, step in told(need, story, level=level):
        after = step.request
        said_yes = [each for each in after.decisions if each.verdict is Verdict.APPROVE]
        assert all(each.evidence.assurance >= min(level, Assurance.L3) for each in said_yes)
        if before.status is Status.PENDING and after.status is Status.APPROVED:
            assert len({each.person for each in said_yes}) == max(need, 2 if level is Assurance.L4 else 1)
            told_of_it = [effect.people for effect in step.effects if isinstance(effect, TellApprovers)]
            above = level in {Assurance.L3, Assurance.L4}
            assert told_of_it == ([tuple(sorted(each.person for each in said_yes))] if above else [])
        elif level is not Assurance.L4:
            assert not (after.status is Status.PENDING and len(said_yes) >= need)


@requirement("S-24")
@given(st.integers(1, 3), STORIES)
def test_a_denial_that_counts_ends_it_and_is_always_the_last_word(
    need: int, story: list[tuple[tuple[object, ...], int]]
) -> None:
    for _, step in told(need, story):
        said_no = any(d.verdict is Verdict.DENY for d in step.request.decisions)
        assert said_no == (step.request.status is Status.DENIED)


@requirement("S-24")
@given(st.integers(1, 3), st.integers(2, 4), STORIES)
def test_with_a_threshold_a_request_is_denied_exactly_when_enough_deny_or_too_few_are_left(
    need: int, threshold: int, story: list[tuple[tuple[object, ...], int]]
) -> None:
    for _, step in told(need, story, denials=threshold):
        after = step.request
        against = {d.person for d in after.decisions if d.verdict is Verdict.DENY}
        lost = len(against) >= threshold or (bool(against) and len(FINANCE - against) < need)
        if after.status in {Status.PENDING, Status.DENIED}:
            assert lost == (after.status is Status.DENIED)
        if after.status is Status.APPROVED:
            assert len({d.person for d in after.decisions} - against) >= need


@requirement("S-01", "S-03")
@given(st.integers(1, 3), STORIES)
def test_nothing_executes_without_a_spent_grant_and_a_grant_is_spent_once(
    need: int, story: list[tuple[tuple[object, ...], int]]
) -> None:
    started: set[str] = set()
    for before, step in told(need, story):
        after = step.request
        if after.grant is not None:
            assert after.status is Status.APPROVED
        if after.execution is not None:
            assert after.grant is not None
            assert after.grant.status is GrantStatus.CONSUMED
            started.add(after.execution.id)
        if before.execution is not None:
            assert after.execution is not None
            assert after.execution.claim_id == before.execution.claim_id
    assert len(started) <= 1


@given(st.integers(1, 3), STORIES)
def test_a_known_outcome_never_changes(need: int, story: list[tuple[tuple[object, ...], int]]) -> None:
    for before, step in told(need, story):
        if before.execution and before.execution.status in {ExecutionStatus.SUCCEEDED, ExecutionStatus.FAILED}:
            assert step.request.execution == before.execution
