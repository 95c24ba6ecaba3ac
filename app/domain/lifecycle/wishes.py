"""What people wish about a request that waits: hand over, add somebody, ask, answer, remind. Each verb is one function.

None of it can approve. What widens who may decide (a hand-over) is bounded by the file; what anybody entitled may do
(add a person who must agree as well, ask) only makes it stricter. Each is one event of the trail.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from app.domain.lifecycle.effect import AskRequester, Effect, Notify, PostMore, RefreshCards, Wake
from app.domain.lifecycle.step import Refusal, Step, no_place
from app.domain.people.people import email_key
from app.domain.request.action import VERB_OF, Action, Who
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage, count, reachable, steps
from app.domain.trail.audit import Kind, Record
from app.domain.trail.notes import answer_note, question_note, reminder_note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from app.domain.request.quorum import Electorate
    from app.domain.request.request import ConfirmationRequest

MOST = 10
"""Hand-overs, added people and questions that one request takes, each."""

MOST_OF_ONE = 3
"""Hand-overs and added people of one person, each: nobody uses them up for the others."""

REMINDED_AGAIN = timedelta(minutes=5)
"""How long after a reminder, or after it was asked, a request may be brought up again by hand."""


class Wish(Struct, frozen=True, kw_only=True):
    """What somebody wants done. `text` is the note, the question or the answer."""

    action: Action
    whom: str = ""  # e-mail of the person to hand over to, or to be added
    text: str = ""
    question_id: str | None = None  # None: the one that is open


class People(Protocol):
    """Who may what, by the file of this instant."""

    def voters(self) -> Electorate:
        """Return who may vote on the request as it stands."""
        ...

    def after(self, changed: ConfirmationRequest, /) -> Electorate:
        """Return who may vote on it once it is changed."""
        ...

    def may_take(self, stage: Stage, /) -> frozenset[str]:
        """Return everyone whom the file lets take a place of a stage."""
        ...


class Wished(Struct, frozen=True, kw_only=True):
    """`by` (an e-mail, "agent:<name>", or "key:<id>" of an administrator) wants something done. `facts`: by what door.

    `new_id` makes the id of what comes to be, from its prefix.
    """

    wish: Wish
    by: str
    people: People
    new_id: Callable[[str], str]
    facts: Mapping[str, object]

    def done(self, changed: ConfirmationRequest, facts: Mapping[str, object], *effects: Effect) -> Step:
        """Return the step to the next version, which the trail tells as the verb's row says."""
        kind = VERB_OF[self.wish.action].kinds[0]
        return next_version(changed, kind, self.by, {**self.facts, **facts}, *effects)


def carried_out(request: ConfirmationRequest, wished: Wished, *, now: datetime) -> Step:
    """Carry a wish out on a request that is pending and in time. A verb that no function carries out is a KeyError."""
    return _UNITS[wished.wish.action](request, wished, now)


def may_begin(request: ConfirmationRequest, action: Action, by: str, people: People) -> Refusal | None:
    """Say why somebody may not do this at all, whatever they would put into its form; None: they may."""
    who = VERB_OF[action].who
    if not (Who.REQUESTER in who and may_answer(request, by)) and not (Who.ADMIN in who and by.startswith("key:")):
        refusal = entitled(request, by, people.voters()) if Who.APPROVER in who else Refusal.NOT_ELIGIBLE
        if refusal is not None:
            return refusal
    if action is Action.HAND_OVER and not people.voters().places_of(by, None):
        return Refusal.NOT_ELIGIBLE
    return Refusal.NO_QUESTION if action is Action.ANSWER and not request.open_question else None


def may_answer(request: ConfirmationRequest, who: str) -> bool:
    """Say whether somebody (an e-mail, or "agent:<name>") is the requester or the agent, who answer questions."""
    requester = request.call.requester
    asked = requester is not None and email_key(who) == email_key(requester)
    return asked or who == f"agent:{request.call.agent}"


def entitled(request: ConfirmationRequest, person: str, voters: Electorate) -> Refusal | None:
    """Say why somebody may not decide; None: they may."""
    barred = voters.is_barred(person)
    if person in voters.entitled() and not barred:
        return None
    return no_place(request, person, barred=barred)


def next_version(
    changed: ConfirmationRequest, kind: Kind, actor: str, facts: Mapping[str, object], *effects: Effect
) -> Step:
    """Return the step to a request's next version: one event of the trail, and everybody sees it."""
    return Step(
        request=replace(changed, version=changed.version + 1),
        effects=(*effects, RefreshCards(), Wake()),
        record=Record(kind=kind, actor=actor, facts=facts),
    )


def _hand_over(request: ConfirmationRequest, wished: Wished, now: datetime) -> Step:
    """Let somebody else decide instead."""
    by, to, note = wished.by, wished.wish.whom, wished.wish.text or None
    voters = wished.people.voters()
    own = voters.places_of(by, None)
    if not own:
        done = any((over.by, over.to) == (by, to) for over in request.handovers)
        refusal = Refusal.REPEATED if done else entitled(request, by, voters) or Refusal.NOT_ELIGIBLE
        return Step(request=request, refusal=refusal)
    changed = replace(request, handovers=(*request.handovers, HandOver(by=by, to=to, at=now, note=note)))
    after = wished.people.after(changed)
    # They must be able to take every place of `by`, to approve then, and to leave the request one that can be approved.
    takes = all(to in wished.people.may_take(request.stages[index]) for index in own)
    takes = takes and own <= after.places_of(to, None) and after.may_approve(to, None)
    if to == by or not takes or not _stays_reachable(request, voters, changed, after):
        return Step(request=request, refusal=Refusal.UNSUITABLE)
    if _used_up([over.by for over in request.handovers], by):
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    kept = tuple(each for each in request.decisions if by not in {each.person, each.on_behalf_of})
    if count(request.stages, kept, after).met:
        # A place that changes hands approves nothing: whoever got it, or acts for them, says so once more. A denial
        # of theirs stands.
        kept = tuple(
            each for each in kept if to not in {each.person, each.on_behalf_of} or each.verdict is not Verdict.APPROVE
        )
    void = sorted({each.person for each in request.decisions} - {each.person for each in kept})
    facts = {"to": to, "note": note, **({"void": void} if void else {})}
    return wished.done(replace(changed, decisions=kept), facts, PostMore(people=(to,)))


def _add(request: ConfirmationRequest, wished: Wished, now: datetime) -> Step:
    """Have somebody agree as well, in the step that is asked now."""
    del now
    person, voters = wished.wish.whom, wished.people.voters()
    refusal = entitled(request, wished.by, voters)
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    if any(stage.of == (person,) for stage in request.stages):
        return Step(request=request, refusal=Refusal.REPEATED)
    changed = replace(request, stages=with_added(request, person, by=wished.by, voters=voters))
    after = wished.people.after(changed)
    places = after.places_of(person, None)
    placed = any(stage.of == (person,) and index in places for index, stage in enumerate(changed.stages))
    suits = placed and after.may_approve(person, None)
    if not suits or not _stays_reachable(request, voters, changed, after):
        return Step(request=request, refusal=Refusal.UNSUITABLE)
    if _used_up([stage.added_by for stage in request.stages if stage.added_by is not None], wished.by):
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    stages = [stage.facts() for stage in changed.stages]
    facts = {"person": person, "note": wished.wish.text or None, "stages": stages}
    return wished.done(changed, facts, PostMore(people=(person,)))


def with_added(request: ConfirmationRequest, person: str, *, by: str, voters: Electorate) -> tuple[Stage, ...]:
    """Return the stages with one more, for one person, at the end of the step that is asked now."""
    at = count(request.stages, request.decisions, voters).stage
    step = next((each for each in steps(request.stages) if at in each), frozenset({len(request.stages) - 1}))
    end = max(step) + 1
    # As many denials as before end the step; that of the person added is one of them.
    denials = min(request.stages[index].denials for index in step)
    added = Stage(of=(person,), need=1, joined=True, denials=denials, added_by=by)
    return (*request.stages[:end], added, *request.stages[end:])


def _stays_reachable(
    request: ConfirmationRequest, voters: Electorate, changed: ConfirmationRequest, after: Electorate
) -> bool:
    return reachable(changed.stages, after) or not reachable(request.stages, voters)


def _used_up(before: Sequence[str], by: str) -> bool:
    """Say whether a request has had its share of something, in all or from this one person."""
    return len(before) >= MOST or before.count(by) >= MOST_OF_ONE


def _ask(request: ConfirmationRequest, wished: Wished, now: datetime) -> Step:
    """Let an approver know something first."""
    by, text = wished.by, wished.wish.text
    refusal = entitled(request, by, wished.people.voters())
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    if any((each.by, each.text, each.answer) == (by, text, None) for each in request.questions):
        return Step(request=request, refusal=Refusal.REPEATED)
    if len(request.questions) >= MOST:
        return Step(request=request, refusal=Refusal.TOO_OFTEN)
    question = Question(id=wished.new_id("que"), by=by, text=text, at=now)
    changed = replace(request, questions=(*request.questions, question))
    facts = {"question": question.id, "text": text}
    return wished.done(changed, facts, AskRequester(), Notify(note=question_note(question.id)))


def _answer(request: ConfirmationRequest, wished: Wished, now: datetime) -> Step:
    """Let the requester, or the agent, answer. Nobody else's word is an answer."""
    by, text = wished.by, wished.wish.text
    if not may_answer(request, by):
        return Step(request=request, refusal=Refusal.NOT_ELIGIBLE)
    wanted = wished.wish.question_id or (request.open_question.id if request.open_question else None)
    asked = next((each for each in request.questions if each.id == wanted), None)
    if asked is not None and (asked.answer, asked.answered_by) == (text, by):
        return Step(request=request, refusal=Refusal.REPEATED)
    if asked is None or asked.answer is not None:
        return Step(request=request, refusal=Refusal.NO_QUESTION)
    answered = replace(asked, answer=text, answered_by=by, answered_at=now)
    questions = tuple(answered if each.id == asked.id else each for each in request.questions)
    changed = replace(request, questions=questions)
    return wished.done(changed, {"question": asked.id, "text": text}, Notify(note=answer_note(asked.id)))


def _remind(request: ConfirmationRequest, wished: Wished, now: datetime) -> Step:
    """Let those who have not decided yet hear of it again."""
    refusal = may_begin(request, Action.REMIND, wished.by, wished.people)
    if refusal is not None:
        return Step(request=request, refusal=refusal)
    if now - (request.reminded_at or request.created_at) < REMINDED_AGAIN:
        return Step(request=request, refusal=Refusal.TOO_SOON)
    return wished.done(replace(request, reminded_at=now), {"by_hand": True}, Notify(note=reminder_note()))


_UNITS = {
    Action.HAND_OVER: _hand_over,
    Action.ADD: _add,
    Action.ASK: _ask,
    Action.ANSWER: _answer,
    Action.REMIND: _remind,
}
