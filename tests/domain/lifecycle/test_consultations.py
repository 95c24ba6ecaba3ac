"""Hand-overs, added people and questions, row by row: who may, what it changes, and what it never does."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.lifecycle.effect import AskRequester, IssueGrant, Notify, PostMore
from app.domain.lifecycle.lifecycle import advance
from app.domain.lifecycle.step import Refusal
from app.domain.lifecycle.wishes import MOST, MOST_OF_ONE, may_answer, with_added
from app.domain.request.action import Action
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Electorate, Stage, electorate
from app.domain.request.request import Status
from app.domain.trail.audit import Kind
from tests.domain.lifecycle.people_then import PeopleThen, wished
from tests.domain.samples import OWNER, REQUESTER, START, a_decision, a_request, vote
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.lifecycle.step import Step
    from app.domain.lifecycle.wishes import Wished
    from app.domain.request.request import ConfirmationRequest

ANN, BOB, CHO, DAN = (f"{name}@acme.example" for name in ("ann", "bob", "cho", "dan"))
NOW = START + timedelta(minutes=7)
TEAM = frozenset({ANN, BOB, CHO})
TWO = (Stage(of=("finance",), need=2),)


def hand_over(
    request: ConfirmationRequest,
    by: str,
    to: str,
    *,
    before: Sequence[frozenset[str]] = (TEAM,),
    after: Sequence[frozenset[str]] | None = None,
    allowed: Sequence[frozenset[str]] = (TEAM,),
    **more: Any,
) -> Step:
    """Hand over; who may vote afterwards follows from it unless it is said."""
    later = [people - {by} | ({to} if by in people else frozenset()) for people in before] if after is None else after
    people = PeopleThen(
        electorate(request.stages, before, request.barred, **more),
        electorate(request.stages, later, request.barred, **more),
        dict(zip(request.stages, allowed, strict=False)),
    )
    event = wished(Action.HAND_OVER, by, people, whom=to, text="n", facts={"channel": "chat"})
    return advance(request, event, now=NOW)


def add(
    request: ConfirmationRequest, by: str, person: str, *, members: Sequence[frozenset[str]] = (TEAM,), **more: Any
) -> Step:
    """Add a person, who is entitled to the place that is made for them unless they are barred."""
    voters = electorate(request.stages, members, request.barred)
    stages = with_added(request, person, by=by, voters=voters)
    at = next(index for index, stage in enumerate(stages) if stage not in request.stages)
    then = [*members[:at], frozenset({person}), *members[at:]]
    after = electorate(stages, then, request.barred, **more)
    event = wished(Action.ADD, by, PeopleThen(voters, after), whom=person)
    return advance(request, event, now=NOW)


def team(request: ConfirmationRequest, **more: Any) -> Electorate:
    return electorate(request.stages, (TEAM,), request.barred, **more)


def asking(request: ConfirmationRequest, by: str, text: str, *, id_: str) -> Wished:
    return wished(Action.ASK, by, PeopleThen(team(request)), text=text, id_=id_)


def answering(request: ConfirmationRequest, by: str, text: str, *, question_id: str | None = None) -> Wished:
    return wished(Action.ANSWER, by, PeopleThen(team(request)), text=text, question_id=question_id)


# --- hand over --------------------------------------------------------------------------------------------------------


def test_a_hand_over_is_one_event_of_one_version_and_brings_the_other_a_card() -> None:
    step = hand_over(a_request(), ANN, BOB)
    assert (step.refusal, step.request.version) == (None, 2)
    assert step.request.handovers == (HandOver(by=ANN, to=BOB, at=NOW, note="n"),)
    assert PostMore(people=(BOB,)) in step.effects
    assert step.record is not None
    assert (step.record.kind, step.record.actor) == (Kind.HANDED_OVER, ANN)
    assert step.record.facts == {"channel": "chat", "to": BOB, "note": "n"}


@requirement("S-09", "S-23")
@pytest.mark.parametrize(
    ("to", "more"),
    [
        (ANN, {}),
        (DAN, {}),  # the file does not let him
        (REQUESTER, {"allowed": (TEAM | {REQUESTER},)}),
        (OWNER, {"allowed": (TEAM | {OWNER},)}),
        (BOB, {"over_limit": [BOB]}),
    ],
)
def test_a_place_goes_only_to_whom_the_file_lets_take_it_and_who_could_approve(to: str, more: dict[str, Any]) -> None:
    step = hand_over(a_request(), ANN, to, **more)
    assert (step.refusal, step.request.version, step.record) == (Refusal.UNSUITABLE, 1, None)


@requirement("S-23")
def test_whoever_holds_places_in_two_stages_hands_over_only_to_one_who_may_take_both() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=1), Stage(of=("legal",), need=1)))
    before = (frozenset({ANN, BOB}), frozenset({ANN, DAN}))
    one = hand_over(request, ANN, CHO, before=before, allowed=(frozenset({CHO}), frozenset[str]()))
    both = hand_over(request, ANN, CHO, before=before, allowed=(frozenset({CHO}), frozenset({CHO})))
    assert (one.refusal, both.refusal) == (Refusal.UNSUITABLE, None)


@requirement("S-23")
def test_nobody_is_handed_a_place_that_leaves_the_request_without_enough_people() -> None:
    pair = frozenset({ANN, BOB})
    step = hand_over(a_request(stages=TWO), ANN, BOB, before=(pair,), allowed=(pair,))
    assert step.refusal is Refusal.UNSUITABLE


@requirement("S-06", "S-09")
@pytest.mark.parametrize(("by", "why"), [(DAN, Refusal.NOT_ELIGIBLE), (REQUESTER, Refusal.BARRED)])
def test_whoever_has_no_place_has_none_to_hand_over(by: str, why: Refusal) -> None:
    step = hand_over(a_request(), by, BOB, after=(TEAM,))
    assert (step.refusal, step.request) == (why, a_request())


def test_a_delegate_hands_over_no_place_of_whom_they_act_for() -> None:
    acting = {(DAN, ANN): frozenset({0})}
    step = hand_over(a_request(), DAN, BOB, after=(TEAM,), acting=acting)
    assert step.refusal is Refusal.NOT_ELIGIBLE


@requirement("S-23")
def test_the_givers_vote_is_taken_back_also_the_one_that_a_delegate_cast_for_them() -> None:
    request = a_request(
        stages=TWO,
        decisions=(
            a_decision(ANN),
            replace(a_decision(DAN), on_behalf_of=ANN),
            a_decision(CHO, Verdict.DENY),
        ),
    )
    assert [each.person for each in hand_over(request, ANN, BOB).request.decisions] == [CHO]


@requirement("S-23")
def test_a_hand_over_never_completes_a_quorum_whoever_got_the_place_says_so_once_more() -> None:
    stages = (Stage(of=("finance",), need=1), Stage(of=("legal",), need=1, open_to=(CHO,)))
    request = a_request(stages=stages, decisions=(a_decision(BOB), a_decision(CHO)))
    before, after = (frozenset({BOB, CHO}), frozenset({ANN})), (frozenset({BOB, CHO}), frozenset({CHO}))
    step = hand_over(request, ANN, CHO, before=before, after=after, allowed=(TEAM, frozenset({CHO})))
    assert (step.request.status, step.refusal) == (Status.PENDING, None)
    assert [each.person for each in step.request.decisions] == [BOB]
    done = advance(step.request, vote(step.request, CHO, members=after), now=NOW)
    assert done.request.status is Status.APPROVED


@requirement("S-23")
def test_a_hand_over_completes_no_quorum_with_the_approval_of_a_delegate_of_whoever_got_the_place_either() -> None:
    stages = (Stage(of=("finance",), need=1, open_to=(CHO,)), Stage(of=("legal",), need=1))
    request = a_request(stages=stages, decisions=(a_decision(BOB), replace(a_decision(DAN), on_behalf_of=CHO)))
    before, after = (frozenset({ANN}), frozenset({BOB, CHO})), (frozenset({CHO}), frozenset({BOB, CHO}))
    people = PeopleThen(
        electorate(stages, before, request.barred, acting={(DAN, CHO): frozenset({1})}),
        electorate(stages, after, request.barred, acting={(DAN, CHO): frozenset({0, 1})}),
        dict(zip(stages, (frozenset({ANN, CHO}), TEAM), strict=True)),
    )
    step = advance(request, wished(Action.HAND_OVER, ANN, people, whom=CHO), now=NOW)
    assert step.refusal is None
    assert [each.person for each in step.request.decisions] == [BOB]


@requirement("S-24")
def test_a_hand_over_wipes_no_denial_of_whoever_gets_the_place() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=1, denials=2),), decisions=(a_decision(BOB, Verdict.DENY),))
    assert hand_over(request, ANN, BOB).request.decisions == request.decisions


def test_ten_hand_overs_are_enough_and_the_same_again_is_none() -> None:
    over = HandOver(by=BOB, to=CHO, at=START)
    full = tuple(HandOver(by=f"{n}@acme.example", to=CHO, at=START) for n in range(MOST))
    assert hand_over(a_request(handovers=full), ANN, CHO).refusal is Refusal.TOO_OFTEN
    again = hand_over(a_request(handovers=(over,)), BOB, CHO, before=(TEAM - {BOB},), after=(TEAM - {BOB},))
    assert again.refusal is Refusal.REPEATED


# --- add --------------------------------------------------------------------------------------------------------------


def test_a_person_is_added_to_the_step_that_is_asked_now() -> None:
    stages = (Stage(of=("finance",), need=1), Stage(of=("legal",), need=1))
    request = a_request(stages=stages)
    first = add(request, ANN, DAN, members=(TEAM, frozenset({BOB})))
    assert [(stage.of, stage.joined) for stage in first.request.stages] == [
        (("finance",), False),
        ((DAN,), True),
        (("legal",), False),
    ]
    voted = replace(request, decisions=(a_decision(ANN),))
    second = add(voted, ANN, DAN, members=(TEAM, frozenset({BOB})))
    assert [stage.of for stage in second.request.stages] == [("finance",), ("legal",), (DAN,)]
    assert second.record is not None
    assert (second.record.kind, second.record.facts["person"]) == (Kind.APPROVER_ADDED, DAN)
    assert PostMore(people=(DAN,)) in second.effects


@requirement("S-09")
@pytest.mark.parametrize(
    ("person", "members", "more"),
    [
        (REQUESTER, (TEAM,), {}),
        (OWNER, (TEAM,), {}),
        (DAN, (TEAM,), {"over_limit": [DAN]}),
        (BOB, (frozenset({ANN, BOB}),), {}),  # then needed twice: one of two, and by name
    ],
)
def test_nobody_is_added_who_could_not_decide_or_whose_place_nobody_else_could_fill(
    person: str, members: tuple[frozenset[str], ...], more: dict[str, Any]
) -> None:
    stages = TWO if person == BOB else a_request().stages
    step = add(a_request(stages=stages), ANN, person, members=members, **more)
    assert (step.refusal, step.request.version) == (Refusal.UNSUITABLE, 1)


def test_nobody_over_their_limit_is_added_also_where_too_few_could_approve_before() -> None:
    step = add(a_request(stages=TWO), ANN, DAN, members=(frozenset({ANN}),), over_limit=[DAN])
    assert step.refusal is Refusal.UNSUITABLE


def test_a_person_is_added_once_and_ten_at_most() -> None:
    request = add(a_request(), ANN, DAN).request
    assert add(request, BOB, DAN, members=(TEAM, frozenset({DAN}))).refusal is Refusal.REPEATED
    many = tuple(Stage(of=(f"{n}@acme.example",), need=1, joined=True, added_by=f"{n}") for n in range(MOST))
    full = a_request(stages=(*a_request().stages, *many))
    members = (TEAM, *(frozenset(stage.of) for stage in many))
    assert add(full, ANN, DAN, members=members).refusal is Refusal.TOO_OFTEN


@requirement("S-24")
def test_as_many_denials_as_before_end_a_step_to_which_a_person_was_added_and_theirs_is_one_of_them() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=1, denials=2),), decisions=(a_decision(BOB, Verdict.DENY),))
    added = add(request, ANN, DAN).request
    members = (TEAM, frozenset({DAN}))
    again = advance(added, vote(added, BOB, Verdict.DENY, members=members), now=NOW)
    assert (again.refusal, again.request.status) == (Refusal.REPEATED, Status.PENDING)
    assert advance(added, vote(added, DAN, Verdict.DENY, members=members), now=NOW).request.status is Status.DENIED


@requirement("S-79")
def test_the_denial_of_somebody_who_was_only_added_is_no_veto_and_their_silence_no_yes() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2, denials=2),), decisions=(a_decision(ANN),))
    added = add(request, ANN, DAN).request
    members = (TEAM, frozenset({DAN}))
    refused = advance(added, vote(added, DAN, Verdict.DENY, members=members), now=NOW).request
    assert (refused.status, len(refused.decisions)) == (Status.PENDING, 2)
    agreed = advance(refused, vote(refused, BOB, members=members), now=NOW).request
    assert agreed.status is Status.PENDING  # the quorum is there, and the one who was added said no
    ended = advance(agreed, vote(agreed, CHO, Verdict.DENY, members=members), now=NOW).request
    assert ended.status is Status.DENIED
    changed = advance(agreed, vote(agreed, DAN, members=members), now=NOW).request
    assert changed.status is Status.APPROVED


@requirement("S-79")
def test_nobody_uses_up_what_others_may_hand_over_or_add() -> None:
    handovers = (HandOver(by=ANN, to=CHO, at=START),) * MOST_OF_ONE
    request = a_request(handovers=handovers)
    assert hand_over(request, ANN, BOB).refusal is Refusal.TOO_OFTEN
    assert hand_over(request, CHO, BOB).refusal is None
    stages = tuple(Stage(of=(f"{n}@acme.example",), need=1, joined=True, added_by=ANN) for n in range(MOST_OF_ONE))
    full = a_request(stages=(*a_request().stages, *stages))
    members = (TEAM, *(frozenset(stage.of) for stage in stages))
    assert add(full, ANN, DAN, members=members).refusal is Refusal.TOO_OFTEN
    assert add(full, BOB, DAN, members=members).refusal is None


@requirement("S-06", "S-09")
@pytest.mark.parametrize(("by", "why"), [(DAN, Refusal.NOT_ELIGIBLE), (REQUESTER, Refusal.BARRED)])
def test_whoever_may_not_decide_adds_nobody_and_asks_nothing(by: str, why: Refusal) -> None:
    request = a_request()
    asked = asking(request, by, "?", id_="que_1")
    assert add(request, by, CHO).refusal is why
    assert advance(request, asked, now=NOW).refusal is why


# --- ask, answer, remind ----------------------------------------------------------------------------------------------


def test_a_question_is_asked_of_the_requester_and_answered_once() -> None:
    request = a_request()
    asked = advance(request, asking(request, ANN, "Why?", id_="que_1"), now=NOW)
    assert AskRequester() in asked.effects
    assert asked.request.questions == (Question(id="que_1", by=ANN, text="Why?", at=NOW),)
    answer = answering(request, REQUESTER, "because")
    done = advance(asked.request, answer, now=NOW)
    assert (done.request.version, done.request.open_question) == (3, None)
    assert Notify(note="answer:que_1") in done.effects
    again = answering(request, REQUESTER, "because", question_id="que_1")
    other = answering(request, REQUESTER, "other", question_id="que_1")
    assert advance(done.request, again, now=NOW).refusal is Refusal.REPEATED
    assert advance(done.request, other, now=NOW).refusal is Refusal.NO_QUESTION
    assert advance(done.request, answer, now=NOW).refusal is Refusal.NO_QUESTION


@requirement("S-48")
@pytest.mark.parametrize(
    ("who", "may"),
    [
        (REQUESTER, True),
        (REQUESTER.upper(), True),
        ("agent:payer", True),
        ("agent:other", False),
        (ANN, False),
        ("key:ak_1", False),
        ("", False),
    ],
)
def test_only_the_requester_and_the_agent_answer(who: str, *, may: bool) -> None:
    request = a_request(questions=(Question(id="que_1", by=ANN, text="Why?", at=START),))
    assert may_answer(request, who) is may
    step = advance(request, answering(request, who, "because"), now=NOW)
    assert step.refusal is (None if may else Refusal.NOT_ELIGIBLE)


def test_ten_questions_are_enough() -> None:
    questions = tuple(Question(id=f"que_{n}", by=f"{n}", text=f"{n}?", at=START) for n in range(MOST))
    request = a_request(questions=questions)
    asked = asking(request, ANN, "?", id_="que_x")
    assert advance(request, asked, now=NOW).refusal is Refusal.TOO_OFTEN


def test_the_same_question_of_the_same_person_is_open_once() -> None:
    open_one = Question(id="que_1", by=ANN, text="Why?", at=START)
    request = a_request(questions=(open_one,))
    again = asking(request, ANN, "Why?", id_="que_2")
    assert advance(request, again, now=NOW).refusal is Refusal.REPEATED
    assert advance(request, asking(request, ANN, "How?", id_="que_2"), now=NOW).refusal is None
    answered = replace(open_one, answer="so", answered_by=REQUESTER, answered_at=START)
    assert advance(replace(request, questions=(answered,)), again, now=NOW).refusal is None


@pytest.mark.parametrize(
    ("reminded_at", "after", "refusal"),
    [
        (None, timedelta(minutes=4, seconds=59), Refusal.TOO_SOON),
        (None, timedelta(minutes=5), None),
        (START + timedelta(minutes=9), timedelta(minutes=13), Refusal.TOO_SOON),
        (START + timedelta(minutes=9), timedelta(minutes=14), None),
    ],
)
def test_people_are_reminded_at_most_every_five_minutes(
    reminded_at: Any, after: timedelta, refusal: Refusal | None
) -> None:
    request = a_request(reminded_at=reminded_at)
    reminder = wished(Action.REMIND, ANN, PeopleThen(team(request)))
    step = advance(request, reminder, now=START + after)
    assert step.refusal is refusal
    assert (Notify(note="reminder") in step.effects) is (refusal is None)


def test_no_aside_ever_grants_anything() -> None:
    request = a_request()
    asked = asking(request, ANN, "?", id_="q")
    for step in (hand_over(request, ANN, BOB), add(request, ANN, DAN), advance(request, asked, now=NOW)):
        assert step.request.status is Status.PENDING
        assert not any(isinstance(effect, IssueGrant) for effect in step.effects)
