"""What happens to a request while it waits, besides votes: hand over, add, ask, answer, remind, escalate, extend, edit.

None of it can approve. What widens who may decide (a hand-over, an escalation) is bounded by the file; what anybody
entitled may do (add a person who must agree as well, ask) only makes it stricter. Each is one event of the trail.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from app.domain.lifecycle.effect import AskRequester, Effect, Notify, PostMore, RefreshCards, Wake
from app.domain.lifecycle.step import Refusal, Step
from app.domain.people.people import email_key
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Electorate, Stage, count, reachable, steps
from app.domain.request.timetable import Act, in_order
from app.domain.trail.audit import Kind, Record
from app.domain.trail.notes import answer_note, question_note, reminder_note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.request.timetable import Timer

MOST = 10
"""Hand-overs, added people and questions that one request takes, each."""

MOST_EXTENSIONS = 3
LONGEST = timedelta(days=30)
"""How long a request may wait in all, extensions included."""

REMINDED_AGAIN = timedelta(minutes=5)
"""How long after a reminder, or after it was asked, a request may be brought up again by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """`by` wants `to` to decide instead. `allowed`: whom the file lets take a place, stage by stage."""

    by: str
    to: str
    note: str | None
    allowed: tuple[frozenset[str], ...]
    voters: Electorate
    after: Electorate  # who may vote once it has happened
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproverAdded:
    """`by` wants `person` to agree as well, in the step that is asked now."""

    by: str
    person: str
    note: str | None
    voters: Electorate
    stages: tuple[Stage, ...]  # as they will be: see `with_added`
    after: Electorate
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """An approver wants to know something first."""

    id: str
    by: str
    text: str
    voters: Electorate
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered:
    """The requester, or the agent, answers. `question_id` None: the one that is open. Nobody else's word is one."""

    question_id: str | None
    by: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminded:
    """Somebody wants those who have not decided yet to hear of it again."""

    by: str
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """Somebody wants people to have until `until`. `timers` are what is to happen in the time that is added."""

    by: str
    until: datetime
    timers: tuple[Timer, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class TimersDue:
    """The clock has made a timer due. `voters`: who may vote at this instant; `people`: whom each name stands for.

    Whoever is barred is not among `people`: they are brought in nowhere.
    """

    voters: Electorate
    people: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """Other arguments are to be approved: judged anew, with the people whom *they* need. All votes are void."""

    by: str
    changed: ConfirmationRequest  # as it will stand: see `app.usecases.deciding.edited_request`
    voters: Electorate  # by the stages as they were: whether this person may decide at all
    after: Electorate  # who may vote once it has happened
    facts: Mapping[str, object]


Consulting = HandedOver | ApproverAdded | QuestionAsked | QuestionAnswered | Reminded | Extended | TimersDue | Edited


def consulted(request: ConfirmationRequest, event: Consulting, *, now: datetime) -> Step:
    """Apply what people do besides voting to a request that is pending and in time."""
    match event:
        case HandedOver():
            return _hand_over(request, event, now)
        case ApproverAdded():
            return _add(request, event)
        case QuestionAsked():
            return _ask(request, event, now)
        case QuestionAnswered():
            return _answer(request, event, now)
        case Reminded():
            return _remind(request, event, now)
        case Extended():
            return _extend(request, event)
        case TimersDue():
            return _due(request, event, now)
        case Edited():
            return _edit(request, event)
        case _:
            assert_never(event)


def with_added(request: ConfirmationRequest, person: str, *, by: str, voters: Electorate) -> tuple[Stage, ...]:
    """Return the stages with one more, for one person, at the end of the step that is asked now."""
    at = count(request.stages, request.decisions, voters).stage
    step = next((each for each in steps(request.stages) if at in each), frozenset({len(request.stages) - 1}))
    end = max(step) + 1
    # As many denials as before end the step; that of the person added always does, for nobody else has their place.
    denials = min(request.stages[index].denials for index in step)
    added = Stage(of=(person,), need=1, joined=True, denials=denials, added_by=by)
    return (*request.stages[:end], added, *request.stages[end:])


def may_answer(request: ConfirmationRequest, who: str) -> bool:
    """Say whether somebody (an e-mail, or "agent:<name>") is the requester or the agent, who answer questions."""
    requester = request.call.requester
    asked = requester is not None and email_key(who) == email_key(requester)
    return asked or who == f"agent:{request.call.agent}"


def _entitled(person: str, voters: Electorate) -> Refusal | None:
    if voters.is_barred(person):
        return Refusal.BARRED
    return None if person in voters.entitled() else Refusal.NOT_ELIGIBLE


def _hand_over(request: ConfirmationRequest, event: HandedOver, now: datetime) -> Step:
    own = event.voters.places_of(event.by, None)
    if not own:
        done = any((over.by, over.to) == (event.by, event.to) for over in request.handovers)
        refusal = Refusal.REPEATED if done else _entitled(event.by, event.voters) or Refusal.NOT_ELIGIBLE
        return Step(request=request, refusal=refusal)
    if not _suits(request, event, own):
        return Step(request=request, refusal=Refusal.UNSUITABLE)
    if len(request.handovers) >= MOST:
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    over = HandOver(by=event.by, to=event.to, at=now, note=event.note)
    kept = tuple(each for each in request.decisions if event.by not in {each.person, each.on_behalf_of})
    if count(request.stages, kept, event.after).met:
        # A place that changes hands approves nothing: whoever got it, or acts for them, says so once more. A denial
        # of theirs stands.
        kept = tuple(
            each
            for each in kept
            if event.to not in {each.person, each.on_behalf_of} or each.verdict is not Verdict.APPROVE
        )
    changed = replace(request, handovers=(*request.handovers, over), decisions=kept)
    facts = {**event.facts, "to": event.to, "note": event.note}
    void = sorted({each.person for each in request.decisions} - {each.person for each in kept})
    facts |= {"void": void} if void else {}
    return _next(changed, Kind.HANDED_OVER, event.by, facts, PostMore(people=(event.to,)))


def _suits(request: ConfirmationRequest, event: HandedOver, own: frozenset[int]) -> bool:
    """Say whether `to` may take every place of `by`, could then approve, and leaves the request one that can be."""
    takes = all(event.to in event.allowed[index] for index in own) and own <= event.after.places_of(event.to, None)
    still = reachable(request.stages, event.after) or not reachable(request.stages, event.voters)
    return event.to != event.by and takes and event.after.may_approve(event.to, None) and still


def _add(request: ConfirmationRequest, event: ApproverAdded) -> Step:
    refusal = _entitled(event.by, event.voters)
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    if any(stage.of == (event.person,) for stage in request.stages):
        return Step(request=request, refusal=Refusal.REPEATED)
    placed = any(
        stage.of == (event.person,) and index in event.after.places_of(event.person, None)
        for index, stage in enumerate(event.stages)
    )
    placed = placed and event.after.may_approve(event.person, None)
    still = reachable(event.stages, event.after) or not reachable(request.stages, event.voters)
    if not placed or not still:
        return Step(request=request, refusal=Refusal.UNSUITABLE)
    if sum(stage.added_by is not None for stage in request.stages) >= MOST:
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    facts = {**event.facts, "person": event.person, "note": event.note}
    facts["stages"] = [stage.facts() for stage in event.stages]
    changed = replace(request, stages=event.stages)
    return _next(changed, Kind.APPROVER_ADDED, event.by, facts, PostMore(people=(event.person,)))


def _ask(request: ConfirmationRequest, event: QuestionAsked, now: datetime) -> Step:
    refusal = _entitled(event.by, event.voters)
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    if any((each.by, each.text, each.answer) == (event.by, event.text, None) for each in request.questions):
        return Step(request=request, refusal=Refusal.REPEATED)
    if len(request.questions) >= MOST:
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    question = Question(id=event.id, by=event.by, text=event.text, at=now)
    changed = replace(request, questions=(*request.questions, question))
    facts = {**event.facts, "question": event.id, "text": event.text}
    return _next(changed, Kind.ASKED_BACK, event.by, facts, AskRequester(), Notify(note=question_note(event.id)))


def _answer(request: ConfirmationRequest, event: QuestionAnswered, now: datetime) -> Step:
    if not may_answer(request, event.by):
        return Step(request=request, refusal=Refusal.NOT_ELIGIBLE)
    wanted = event.question_id or (request.open_question.id if request.open_question else None)
    asked = next((each for each in request.questions if each.id == wanted), None)
    if asked is not None and (asked.answer, asked.answered_by) == (event.text, event.by):
        return Step(request=request, refusal=Refusal.REPEATED)
    if asked is None or asked.answer is not None:
        return Step(request=request, refusal=Refusal.NO_QUESTION)
    answered = replace(asked, answer=event.text, answered_by=event.by, answered_at=now)
    questions = tuple(answered if each.id == asked.id else each for each in request.questions)
    facts = {**event.facts, "question": asked.id, "text": event.text}
    changed = replace(request, questions=questions)
    return _next(changed, Kind.ANSWERED, event.by, facts, Notify(note=answer_note(asked.id)))


def _remind(request: ConfirmationRequest, event: Reminded, now: datetime) -> Step:
    if now - (request.reminded_at or request.created_at) < REMINDED_AGAIN:
        return Step(request=request, refusal=Refusal.TOO_SOON)
    changed = replace(request, reminded_at=now)
    return _next(changed, Kind.REMINDED, event.by, {**event.facts, "by_hand": True}, Notify(note=reminder_note()))


def _extend(request: ConfirmationRequest, event: Extended) -> Step:
    if request.extensions >= MOST_EXTENSIONS or event.until - request.created_at > LONGEST:
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    if event.until <= request.expires_at:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    changed = replace(
        request,
        expires_at=event.until,
        extensions=request.extensions + 1,
        timers=in_order((*request.timers, *event.timers)),
    )
    facts = {**event.facts, "from": request.expires_at.isoformat(), "until": event.until.isoformat()}
    return _next(changed, Kind.EXTENDED, event.by, facts)


def _due(request: ConfirmationRequest, event: TimersDue, now: datetime) -> Step:
    """Do what is due first. Of several reminders that are due (the gateway was down) one is enough."""
    due = [timer for timer in request.timers if timer.at <= now]
    if not due:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    first, left = due[0], request.timers[1:]
    if first.act is Act.REMIND:
        left = tuple(timer for timer in left if timer.act is not Act.REMIND or timer.at > now)
        changed = replace(request, timers=left, reminded_at=now)
        return _next(changed, Kind.REMINDED, "system", {"by_hand": False}, Notify(note=reminder_note()))
    at = count(request.stages, request.decisions, event.voters).stage
    asked = next((step for step in steps(request.stages) if at in step), frozenset[int]())
    stages = tuple(
        replace(stage, of=(*stage.of, *(name for name in first.to if name not in stage.of)))
        if index in asked and stage.added_by is None
        else stage
        for index, stage in enumerate(request.stages)
    )
    channels = tuple(name for name in first.channels if name not in request.channels)
    changed = replace(request, timers=left, stages=stages, channels=(*request.channels, *channels))
    people = frozenset[str]().union(*(event.people.get(name, frozenset()) for name in first.to))
    facts = {"to": list(first.to), "channels": list(first.channels), "stages": [stage.facts() for stage in stages]}
    more = PostMore(channels=channels, people=tuple(sorted(people)))
    return _next(changed, Kind.ESCALATED, "system", facts, more)


def _edit(request: ConfirmationRequest, event: Edited) -> Step:
    refusal = _entitled(event.by, event.voters)
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    changed = replace(event.changed, decisions=(), version=request.version)
    if not reachable(changed.stages, event.after):
        return Step(request=request, refusal=Refusal.UNSUITABLE)
    channels = tuple(name for name in changed.channels if name not in request.channels)
    more = (PostMore(channels=channels),) if channels else ()
    facts = {**event.facts, "digest": changed.digest, "before": request.digest, "code": changed.code}
    facts |= {"stages": [stage.facts() for stage in changed.stages], "rule": changed.rule_id}
    facts |= {"policy_version": changed.policy_version, "channels": list(changed.channels)}
    return _next(changed, Kind.EDITED, event.by, facts, *more)


def _next(changed: ConfirmationRequest, kind: Kind, actor: str, facts: Mapping[str, object], *effects: Effect) -> Step:
    return Step(
        request=replace(changed, version=changed.version + 1),
        effects=(*effects, RefreshCards(), Wake()),
        record=Record(kind=kind, actor=actor, facts=facts),
    )
