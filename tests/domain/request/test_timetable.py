"""What is to happen while a request waits: always in order, always in time, never lost, and nothing after the end."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.card.card_for import message_for_model
from app.domain.lifecycle.consultations import Extended, TimersDue
from app.domain.lifecycle.lifecycle import DeadlinePassed, Refusal, advance
from app.domain.request.decision import Verdict
from app.domain.request.request import GrantStatus, Status
from app.domain.request.timetable import Act, Rung, Timer, in_order, reminders, timetable
from app.domain.trail.audit import Kind
from tests.domain.samples import FINANCE, START, a_request, approved, vote, voters

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest

MANAGERS = frozenset({"meg@acme.example"})
PEOPLE = {"managers": MANAGERS}
FRACTIONS = st.floats(0, 1, exclude_min=True, exclude_max=True)
SPANS = st.timedeltas(timedelta(seconds=10), timedelta(days=30))
RUNGS = st.builds(
    lambda after, to, channels: Rung(after=after, to=to, channels=channels),
    st.one_of(FRACTIONS, SPANS),
    st.sampled_from([(), ("managers",)]),
    st.sampled_from([(), ("hall",)]),
)


@given(SPANS, st.lists(FRACTIONS, max_size=5), st.lists(RUNGS, max_size=5))
def test_all_of_a_timetable_is_due_in_order_and_before_the_deadline(
    window: timedelta, remind: list[float], escalate: list[Rung]
) -> None:
    timers = timetable(START, window, remind=remind, escalate=escalate)
    assert timers == in_order(timers)
    assert [timer.at for timer in timers] == sorted(timer.at for timer in timers)
    assert all(START < timer.at < START + window for timer in timers)
    kept = [timer for timer in timers if timer.act is Act.ESCALATE]
    assert len(kept) == sum(timedelta(0) < rung.within(window) < window for rung in escalate)
    assert len(timers) - len(kept) <= len(set(remind))


def test_people_are_brought_in_before_all_are_reminded() -> None:
    window = timedelta(minutes=30)
    timers = timetable(START, window, remind=[0.5], escalate=[Rung(after=timedelta(minutes=15), to=("managers",))])
    assert [timer.act for timer in timers] == [Act.ESCALATE, Act.REMIND]


def due(request: ConfirmationRequest, now: datetime) -> ConfirmationRequest:
    """Do everything that is due at an instant, as the sweep does."""
    while True:
        members = tuple(FINANCE | (MANAGERS if "managers" in stage.of else frozenset()) for stage in request.stages)
        step = advance(request, TimersDue(voters=voters(request.stages, members), people=PEOPLE), now=now)
        if step.refusal is not None:
            return step.request
        request = step.request


STORIES = st.lists(
    st.tuples(st.sampled_from(["look", "vote", "extend", "deadline"]), st.integers(0, 1200)), min_size=1, max_size=12
)


@given(st.lists(FRACTIONS, max_size=3), st.lists(RUNGS, max_size=3), STORIES)
def test_a_request_loses_no_timer_and_nothing_happens_after_its_end(
    remind: list[float], escalate: list[Rung], story: list[tuple[str, int]]
) -> None:
    window = timedelta(minutes=30)
    request = a_request(timers=timetable(START, window, remind=remind, escalate=escalate))
    now, planned, done = START, list(request.timers), list[Timer]()
    for what, seconds in story:
        now += timedelta(seconds=seconds)
        before = request
        match what:
            case "vote":
                request = advance(request, vote(request, "ann@acme.example", Verdict.APPROVE, at=now), now=now).request
            case "extend":
                until = request.expires_at + window
                added = reminders(request.expires_at, window, remind)
                step = advance(request, Extended(by="ann@acme.example", until=until, timers=added), now=now)
                request = step.request
                planned += added if step.refusal is None else ()
            case "deadline":
                request = advance(request, DeadlinePassed(), now=now).request
            case _:
                request = due(request, now)
                if not request.status.final:
                    done += [timer for timer in before.timers if timer.at <= now]
                    assert not any(timer.at <= now for timer in request.timers)
        if before.status.final:
            assert request == before
        assert in_order((*done, *request.timers)) == in_order(planned)
        assert request.timers == in_order(request.timers)
    for timer in done:
        if timer.act is Act.ESCALATE:
            assert set(timer.to) <= set(request.stages[0].of)
            assert set(timer.channels) <= set(request.channels)


def test_a_timer_that_comes_late_for_the_deadline_only_expires_the_request() -> None:
    request = a_request(timers=(Timer(at=START + timedelta(minutes=15), act=Act.REMIND),))
    event = TimersDue(voters=voters(request.stages), people={})
    step = advance(request, event, now=START + timedelta(minutes=30))
    assert (step.request.status, step.refusal) == (Status.EXPIRED, Refusal.SETTLED)
    assert step.record is not None
    assert step.record.kind is Kind.EXPIRED


def test_the_model_is_told_why_an_approval_was_taken_back_and_by_nobodys_name() -> None:
    request = approved(grant=GrantStatus.REVOKED)
    why = "the approval no longer stands: ann@acme.example, bob@acme.example may not approve this any more; ask again"
    told = message_for_model(replace(request, revoked_why=why))
    assert "the approval no longer stands: somebody who approved may not approve this any more; ask again" in told
    assert "@" not in told
