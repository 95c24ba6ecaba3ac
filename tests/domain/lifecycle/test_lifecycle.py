"""The four machines, row by row: from which state which event leads where, and what it leaves undone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.lifecycle.effect import IssueGrant, PostCards, RefreshCards, Wake
from app.domain.lifecycle.execution import claim, lapse, lose, reconcile, report, revoke
from app.domain.lifecycle.lifecycle import (
    DeadlinePassed,
    NobodyReachable,
    Refusal,
    Vote,
    VoteWithdrawn,
    Withdrawn,
    advance,
    opened,
    permitted,
)
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.elsewhere import Elsewhere
from app.domain.request.quorum import Stage, electorate
from app.domain.request.request import ExecutionStatus, GrantStatus, State, Status
from app.domain.trail.audit import Kind
from tests.domain.samples import (
    FINANCE,
    OWNER,
    REQUESTER,
    START,
    a_call,
    a_decision,
    a_request,
    approved,
    claimed,
    settled,
    vote,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.lifecycle.lifecycle import Event, Step
    from app.domain.request.request import ConfirmationRequest

ANN, BOB = "ann@acme.example", "bob@acme.example"
LATER = START + timedelta(minutes=31)
FINAL = [status for status in Status if status.final]
WITHDRAWN = Withdrawn(by="agent:payer", reason="no longer needed")
NOBODY = NobodyReachable(why="no such chat")


def events(request: ConfirmationRequest) -> list[Event]:
    return [vote(request, ANN), vote(request, ANN, Verdict.DENY), WITHDRAWN, DeadlinePassed(), NOBODY]


def test_opening_posts_the_cards_and_says_who_asked_for_what() -> None:
    step = opened(a_request())
    assert step.effects == (PostCards(),)
    assert step.record is not None
    assert step.record.kind is Kind.CREATED
    assert step.record.actor == "agent:payer"
    assert step.record.facts["digest"] == a_request().digest
    assert "6222-0001" not in str(step.record.facts)


@pytest.mark.parametrize(
    ("event", "status", "kind", "by"),
    [
        (vote(a_request(), ANN), Status.APPROVED, Kind.APPROVED, ANN),
        (vote(a_request(), ANN, Verdict.DENY), Status.DENIED, Kind.DENIED, ANN),
        (WITHDRAWN, Status.CANCELLED, Kind.CANCELLED, "agent:payer"),
        (NOBODY, Status.UNDELIVERABLE, Kind.UNDELIVERABLE, "system"),
    ],
)
def test_a_pending_request_is_settled_once_by_each_event(event: Event, status: Status, kind: Kind, by: str) -> None:
    step = advance(a_request(), event, now=START)
    assert step.refusal is None
    assert (step.request.status, step.request.version) == (status, 2)
    assert step.request.settlement is not None
    assert (step.request.settlement.at, step.request.settlement.by) == (START, by)
    assert step.record is not None
    assert (step.record.kind, step.record.actor) == (kind, by)
    assert Wake() in step.effects
    assert RefreshCards() in step.effects
    assert any(isinstance(effect, IssueGrant) for effect in step.effects) == (status is Status.APPROVED)


def test_an_approval_grants_for_a_limited_time_from_now() -> None:
    step = advance(a_request(), vote(a_request(), ANN), now=START + timedelta(minutes=3))
    assert IssueGrant(not_after=START + timedelta(minutes=13)) in step.effects


@pytest.mark.parametrize("status", FINAL)
@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("now", [START, LATER])
def test_a_final_state_never_changes(status: Status, index: int, now: object) -> None:
    request = settled(status)
    step = advance(request, events(request)[index], now=LATER)
    assert step.request is request
    assert step.refusal is Refusal.SETTLED
    assert (step.effects, step.record) == ((), None)


@requirement("S-11", "S-54")
@pytest.mark.parametrize("late", [timedelta(0), timedelta(microseconds=1), timedelta(days=400)])
@pytest.mark.parametrize("index", range(5))
def test_whatever_comes_at_or_after_the_deadline_can_only_expire(late: timedelta, index: int) -> None:
    request = a_request()
    step = advance(request, events(request)[index], now=request.expires_at + late)
    assert step.request.status is Status.EXPIRED
    assert step.request.settlement is not None
    assert step.request.settlement.by == "system"
    assert step.request.decisions == ()
    assert step.record is not None
    assert (step.record.kind, step.record.actor) == (Kind.EXPIRED, "system")
    assert not any(isinstance(effect, IssueGrant) for effect in step.effects)
    assert step.refusal is (None if index == 3 else Refusal.SETTLED)


@requirement("S-11")
def test_the_last_microsecond_still_counts() -> None:
    request = a_request()
    step = advance(request, vote(request, ANN), now=request.expires_at - timedelta(microseconds=1))
    assert step.request.status is Status.APPROVED


def test_the_deadline_is_not_called_before_its_time() -> None:
    step = advance(a_request(), DeadlinePassed(), now=START)
    assert (step.request, step.refusal) == (a_request(), Refusal.TOO_EARLY)


@requirement("S-09")
@pytest.mark.parametrize("person", [OWNER, REQUESTER])
@pytest.mark.parametrize("verdict", Verdict)
def test_the_requester_and_the_owner_decide_nothing_even_as_members(person: str, verdict: Verdict) -> None:
    request = a_request()
    step = advance(request, vote(request, person, verdict, members=(FINANCE | {person},)), now=START)
    assert (step.request, step.refusal, step.record) == (request, Refusal.BARRED, None)


@requirement("S-07")
@pytest.mark.parametrize("members", [(), (frozenset[str](),)])
@pytest.mark.parametrize("verdict", Verdict)
def test_without_members_nobody_may_vote(members: tuple[frozenset[str], ...], verdict: Verdict) -> None:
    request = a_request()
    step = advance(request, vote(request, ANN, verdict, members=members), now=START)
    assert (step.request, step.refusal) == (request, Refusal.NOT_ELIGIBLE)


@requirement("S-07")
def test_a_request_without_stages_is_never_approved() -> None:
    request = a_request(stages=())
    assert advance(request, vote(request, ANN), now=START).request.status is Status.PENDING


@requirement("S-23")
def test_a_second_approval_of_the_same_person_adds_nothing() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2),))
    once = advance(request, vote(request, ANN), now=START).request
    assert (once.status, once.version) == (Status.PENDING, 2)
    twice = advance(once, vote(once, ANN), now=START)
    assert (twice.request, twice.refusal) == (once, Refusal.REPEATED)


def test_a_counted_vote_that_does_not_settle_is_recorded_and_shown() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2),))
    step = advance(request, vote(request, ANN), now=START)
    assert step.effects == (RefreshCards(), Wake())
    assert step.record is not None
    assert step.record.kind is Kind.VOTE
    assert step.record.facts["digest"] == request.digest


@requirement("S-24")
def test_whoever_approved_may_still_deny_and_that_ends_it() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2),))
    once = advance(request, vote(request, ANN), now=START).request
    denied = advance(once, vote(once, ANN, Verdict.DENY), now=START).request
    assert denied.status is Status.DENIED
    assert [(d.person, d.verdict) for d in denied.decisions] == [(ANN, Verdict.DENY)]
    after = advance(denied, vote(denied, BOB), now=START)
    assert (after.request, after.refusal) == (denied, Refusal.SETTLED)


@requirement("S-24")
def test_with_a_threshold_one_denial_waits_for_the_others_and_may_be_changed() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=1, denials=2),))
    once = advance(request, vote(request, ANN, Verdict.DENY), now=START)
    assert (once.request.status, once.record and once.record.kind) == (Status.PENDING, Kind.VOTE)
    denied = advance(once.request, vote(once.request, BOB, Verdict.DENY), now=START).request
    assert (denied.status, denied.settlement and denied.settlement.by) == (Status.DENIED, BOB)
    changed = advance(once.request, vote(once.request, ANN), now=START).request
    assert [(d.person, d.verdict) for d in changed.decisions] == [(ANN, Verdict.APPROVE)]
    assert changed.status is Status.APPROVED


@requirement("S-24")
def test_once_approval_can_no_longer_be_reached_the_request_is_denied_at_once() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=3, denials=3),))
    step = advance(request, vote(request, ANN, Verdict.DENY), now=START)
    assert step.request.status is Status.DENIED


@requirement("S-23")
@pytest.mark.parametrize("verdict", Verdict)
def test_a_withdrawn_vote_counts_no_longer_and_both_stand_in_the_trail(verdict: Verdict) -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2, denials=2),))
    voted = advance(request, vote(request, ANN, verdict), now=START).request
    step = advance(voted, VoteWithdrawn(person=ANN, evidence=Evidence(channel="api")), now=START)
    assert (step.request.decisions, step.request.status, step.request.version) == ((), Status.PENDING, 3)
    assert step.record is not None
    assert (step.record.kind, step.record.actor) == (Kind.VOTE, ANN)
    assert (step.record.facts["verdict"], step.record.facts["withdrew"]) == ("withdraw", verdict.value)
    assert step.effects == (RefreshCards(), Wake())
    after = advance(step.request, vote(step.request, BOB, verdict), now=START).request
    assert after.status is Status.PENDING


def test_who_has_no_vote_withdraws_none() -> None:
    step = advance(a_request(), VoteWithdrawn(person=ANN, evidence=Evidence(channel="api")), now=START)
    assert (step.request, step.refusal, step.record) == (a_request(), Refusal.NO_VOTE, None)


@requirement("S-06")
def test_above_their_limit_a_person_may_deny_but_not_approve() -> None:
    request = a_request()
    voters = electorate(request.stages, [FINANCE], (), over_limit={ANN})
    refused = advance(request, Vote(decision=a_decision(ANN), voters=voters), now=START)
    assert (refused.request, refused.refusal) == (request, Refusal.OVER_LIMIT)
    denied = advance(request, Vote(decision=a_decision(ANN, Verdict.DENY), voters=voters), now=START)
    assert denied.request.status is Status.DENIED


@requirement("S-09")
@pytest.mark.parametrize(("stage", "person", "may"), [
    (Stage(of=("finance",), need=1, allow_requester=True), REQUESTER, True),
    (Stage(of=("finance",), need=1, allow_requester=True), OWNER, False),
    (Stage(of=("finance",), need=1, allow_owner=True), OWNER, True),
    (Stage(of=("finance",), need=1, allow_owner=True), REQUESTER, False),
])  # fmt: skip
def test_only_what_a_rule_says_in_writing_lets_the_requester_or_the_owner_decide(
    stage: Stage, person: str, *, may: bool
) -> None:
    request = a_request(stages=(stage,))
    step = advance(request, vote(request, person, members=(FINANCE | {OWNER, REQUESTER},)), now=START)
    assert (step.request.status is Status.APPROVED, step.refusal) == (may, None if may else Refusal.BARRED)
    record = opened(request).record
    assert record is not None
    assert record.facts["stages"] == [stage.facts()]
    assert True in stage.facts().values()


def test_an_allowance_for_one_part_of_two_roles_is_none() -> None:
    both = a_request(call=a_call(requester=OWNER), stages=(Stage(of=("finance",), need=1, allow_requester=True),))
    assert both.barred == {OWNER}


# --- grant and execution ----------------------------------------------------------------------------------------------


def take(request: ConfirmationRequest, *, claim_id: str = "c-1", after: timedelta = timedelta(minutes=1)) -> Step:
    return claim(request, execution_id="exe_1", claim_id=claim_id, by="agent:payer", now=START + after)


@requirement("S-01")
@pytest.mark.parametrize("status", [status for status in Status if status is not Status.APPROVED])
def test_only_an_approval_can_be_claimed(status: Status) -> None:
    request = settled(status) if status.final else a_request()
    step = take(request)
    assert (step.request, step.refusal, step.effects) == (request, Refusal.NOT_APPROVED, ())


@requirement("S-01", "S-03")
def test_a_claim_spends_the_grant_and_starts_the_execution() -> None:
    step = take(approved())
    assert step.refusal is None
    assert step.request.grant is not None
    assert step.request.execution is not None
    assert step.request.grant.status is GrantStatus.CONSUMED
    assert step.request.execution.status is ExecutionStatus.STARTED
    assert step.request.execution.lease_until == START + timedelta(minutes=6)
    assert step.request.version == 3
    assert step.record is not None
    assert step.record.kind is Kind.CLAIMED
    assert step.record.facts["digest"] == step.request.digest


@requirement("S-03")
def test_the_same_claim_again_gets_the_same_answer_and_another_none() -> None:
    once = take(approved()).request
    again, other = take(once), take(once, claim_id="c-2")
    assert (again.request, again.refusal, again.record) == (once, None, None)
    assert (other.request, other.refusal, other.record) == (once, Refusal.CLAIMED, None)


@pytest.mark.parametrize("status", [status for status in ExecutionStatus if status is not ExecutionStatus.STARTED])
def test_a_settled_execution_is_not_handed_out_again_even_to_its_claimer(status: ExecutionStatus) -> None:
    request = claimed(status)
    step = take(request)
    assert (step.request, step.refusal) == (request, Refusal.CLAIMED)


@pytest.mark.parametrize("status", [GrantStatus.LAPSED, GrantStatus.REVOKED, GrantStatus.CONSUMED])
def test_a_grant_that_is_not_issued_cannot_be_claimed(status: GrantStatus) -> None:
    request = approved(grant=status)
    step = take(request)
    assert (step.request, step.refusal) == (request, Refusal.LAPSED)


@pytest.mark.parametrize(
    ("after", "refusal", "grant"),
    [
        (timedelta(minutes=10) - timedelta(microseconds=1), None, GrantStatus.CONSUMED),
        (timedelta(minutes=10), Refusal.LAPSED, GrantStatus.LAPSED),
        (timedelta(days=3), Refusal.LAPSED, GrantStatus.LAPSED),
    ],
)
def test_a_grant_has_its_own_deadline(after: timedelta, refusal: Refusal | None, grant: GrantStatus) -> None:
    step = take(approved(), after=after)
    assert step.refusal is refusal
    assert step.request.grant is not None
    assert step.request.grant.status is grant
    assert (step.request.execution is None) == (refusal is not None)


@requirement("S-27")
def test_taking_a_grant_back_spends_nothing_and_says_why() -> None:
    step = revoke(approved(), why="Ann left", lost={ANN}, now=START)
    assert step.refusal is Refusal.REVOKED
    assert (step.request.state, step.request.revoked_why, step.request.execution) == (State.LAPSED, "Ann left", None)
    assert step.record is not None
    assert (step.record.kind, step.record.facts["lost"]) == (Kind.REVOKED, [ANN])
    assert take(step.request).refusal is Refusal.LAPSED
    for request in (claimed(), a_request(), approved(grant=GrantStatus.LAPSED)):
        assert revoke(request, why="x", lost=(), now=START).request is request
    late = revoke(approved(), why="x", lost=(), now=START + timedelta(minutes=10))
    assert (late.refusal, late.request.revoked_why) == (Refusal.LAPSED, None)


def test_lapsing_takes_only_issued_grants_past_their_time() -> None:
    over = START + timedelta(minutes=10)
    assert lapse(approved(), now=over).request.state is State.LAPSED
    for request, now in [(approved(), over - timedelta(microseconds=1)), (claimed(), over), (a_request(), over)]:
        step = lapse(request, now=now)
        assert (step.request, step.refusal) == (request, Refusal.TOO_EARLY)


@requirement("F-10")
def test_losing_takes_only_started_executions_past_their_lease() -> None:
    over = START + timedelta(minutes=5)
    lost = lose(claimed(), now=over)
    assert lost.request.state is State.UNKNOWN
    assert lost.record is not None
    assert lost.record.kind is Kind.UNKNOWN
    untouched = [claimed(status) for status in ExecutionStatus if status is not ExecutionStatus.STARTED]
    for request, now in [(claimed(), over - timedelta(microseconds=1)), *((each, over) for each in untouched)]:
        step = lose(request, now=now)
        assert (step.request, step.refusal) == (request, Refusal.TOO_EARLY)


STARTED, SUCCEEDED, FAILED, UNKNOWN, ELSEWHERE = ExecutionStatus
PLACE = Elsewhere(id="apr_1", link="https://bank.example/apr_1")
OUTCOMES = [
    (STARTED, SUCCEEDED, Kind.SUCCEEDED, None),
    (STARTED, FAILED, Kind.FAILED, None),
    (STARTED, UNKNOWN, Kind.UNKNOWN, None),
    (UNKNOWN, SUCCEEDED, Kind.RECONCILED, None),
    (UNKNOWN, FAILED, Kind.RECONCILED, None),
    (UNKNOWN, UNKNOWN, None, Refusal.REPEATED),
    (SUCCEEDED, FAILED, None, Refusal.OUTCOME_CONFLICT),
    (SUCCEEDED, UNKNOWN, None, Refusal.OUTCOME_CONFLICT),
    (FAILED, SUCCEEDED, None, Refusal.OUTCOME_CONFLICT),
    (FAILED, UNKNOWN, None, Refusal.OUTCOME_CONFLICT),
    (UNKNOWN, STARTED, None, Refusal.OUTCOME_CONFLICT),
    (SUCCEEDED, STARTED, None, Refusal.OUTCOME_CONFLICT),
    (STARTED, ELSEWHERE, Kind.PENDING_ELSEWHERE, None),
    (UNKNOWN, ELSEWHERE, Kind.PENDING_ELSEWHERE, None),
    (ELSEWHERE, SUCCEEDED, Kind.RECONCILED, None),
    (ELSEWHERE, FAILED, Kind.RECONCILED, None),
    (ELSEWHERE, ELSEWHERE, None, Refusal.REPEATED),
    (ELSEWHERE, UNKNOWN, None, Refusal.OUTCOME_CONFLICT),  # what is known of it stays
    (ELSEWHERE, STARTED, None, Refusal.OUTCOME_CONFLICT),
    (SUCCEEDED, ELSEWHERE, None, Refusal.OUTCOME_CONFLICT),
    (FAILED, ELSEWHERE, None, Refusal.OUTCOME_CONFLICT),
]


def placed(status: ExecutionStatus) -> Elsewhere | None:
    return PLACE if status is ELSEWHERE else None


@pytest.mark.parametrize(("before", "said", "kind", "refusal"), OUTCOMES)
def test_outcomes(before: ExecutionStatus, said: ExecutionStatus, kind: Kind | None, refusal: Refusal | None) -> None:
    request = claimed(before)
    place = placed(said)
    step = report(
        request, claim_id="c-1", status=said, result=None, error=None, by="agent:payer", now=START, elsewhere=place
    )
    assert step.refusal is refusal
    assert (step.record.kind if step.record else None) is kind
    assert step.request.execution is not None
    assert step.request.execution.status is (before if refusal else said)


@requirement("S-72")
def test_the_matrix_names_every_pair_that_waiting_elsewhere_is_part_of() -> None:
    said = {(before, said) for before, said, *_ in OUTCOMES if ELSEWHERE in {before, said}}
    assert said == {(each, ELSEWHERE) for each in ExecutionStatus} | {(ELSEWHERE, each) for each in ExecutionStatus}


@requirement("S-72")
@pytest.mark.parametrize(("before", "said", "kind", "refusal"), OUTCOMES)
def test_evidence_settles_what_is_uncertain_and_nothing_else(
    before: ExecutionStatus, said: ExecutionStatus, kind: Kind | None, refusal: Refusal | None
) -> None:
    request, place = claimed(before), placed(said)
    step = reconcile(request, status=said, result=None, error=None, note="n", by="x", now=START, elsewhere=place)
    if before is STARTED:
        kind, refusal = None, Refusal.OUTCOME_CONFLICT
    elif before is UNKNOWN and said is UNKNOWN:
        refusal = Refusal.REPEATED
    assert step.refusal is refusal
    assert (step.record.kind if step.record else None) is (kind if refusal is None else None)


@requirement("S-72")
def test_what_waits_elsewhere_keeps_its_place_says_it_in_the_trail_and_is_never_handed_out_again() -> None:
    def say(request: ConfirmationRequest, place: Elsewhere | None, status: ExecutionStatus = ELSEWHERE) -> Step:
        return report(
            request, claim_id="c-1", status=status, result=None, error=None, by="key:1", now=START, elsewhere=place
        )

    waits = say(claimed(), PLACE)
    assert waits.record is not None
    assert (waits.record.facts["elsewhere"], waits.record.facts["link"]) == (PLACE.id, PLACE.link)
    assert say(waits.request, PLACE).refusal is Refusal.REPEATED
    assert say(waits.request, replace(PLACE, id="apr_2")).refusal is Refusal.OUTCOME_CONFLICT
    assert say(claimed(), None).refusal is Refusal.OUTCOME_CONFLICT, "it waits somewhere"
    assert say(claimed(), PLACE, SUCCEEDED).refusal is Refusal.OUTCOME_CONFLICT, "what is done waits nowhere"
    again = claim(waits.request, execution_id="exe_2", claim_id="c-1", by="key:1", now=START)
    assert again.refusal is Refusal.CLAIMED
    assert lose(waits.request, now=LATER).refusal is Refusal.TOO_EARLY
    done = say(waits.request, None, SUCCEEDED).request
    assert done.execution is not None
    assert (done.state, done.execution.elsewhere) == (State.SUCCEEDED, PLACE)


def test_the_same_outcome_again_is_a_repetition_and_another_result_a_conflict() -> None:
    def say(request: ConfirmationRequest, result: str) -> Step:
        return report(request, claim_id="c-1", status=SUCCEEDED, result=result, error=None, by="agent:payer", now=START)

    once = say(claimed(), "1").request
    assert say(once, "1").refusal is Refusal.REPEATED
    assert say(once, "2").refusal is Refusal.OUTCOME_CONFLICT


@pytest.mark.parametrize("request_", [a_request(), approved()])
def test_without_a_claim_there_is_no_outcome(request_: ConfirmationRequest) -> None:
    step = report(request_, claim_id="c-1", status=SUCCEEDED, result=None, error=None, by="x", now=START)
    assert step.refusal is Refusal.NOT_STARTED
    mine = report(claimed(), claim_id="c-2", status=SUCCEEDED, result=None, error=None, by="x", now=START)
    assert mine.refusal is Refusal.CLAIMED


@pytest.mark.parametrize(
    ("request_", "state"),
    [
        (a_request(), State.PENDING),
        (approved(), State.APPROVED),
        (approved(grant=GrantStatus.LAPSED), State.LAPSED),
        (approved(grant=GrantStatus.REVOKED), State.LAPSED),
        (claimed(), State.EXECUTING),
        *((claimed(status), State(status.value)) for status in (SUCCEEDED, FAILED, UNKNOWN, ELSEWHERE)),
        *((settled(status), State(status.value)) for status in FINAL),
    ],
)
def test_people_read_one_state(request_: ConfirmationRequest, state: State) -> None:
    assert request_.state is state
    assert request_.attachable == (state in {State.PENDING, State.APPROVED})


@requirement("S-01")
def test_what_asks_people_is_never_let_through_without_them() -> None:
    by_rule = a_request(allowed_by="rule:small")
    assert permitted(by_rule, reason="small", now=START).refusal is Refusal.NOT_APPROVED
    unasked = a_request(stages=(), allowed_by="rule:small")
    assert permitted(unasked, reason="small", now=START).request.status is Status.APPROVED
    assert permitted(a_request(stages=()), reason="?", now=START).refusal is Refusal.NOT_APPROVED
    assert permitted(unasked, reason="small", now=unasked.expires_at).refusal is Refusal.NOT_APPROVED


@requirement("S-01")
@pytest.mark.parametrize("status", [status for status in Status if status is not Status.APPROVED])
def test_a_grant_of_a_request_that_is_not_approved_is_worth_nothing(status: Status) -> None:
    """No event makes one; who writes into the database might."""
    assert take(replace(approved(), status=status)).refusal is Refusal.NOT_APPROVED
