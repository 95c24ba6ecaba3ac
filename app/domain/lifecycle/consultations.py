"""What happens to a request while it waits, besides votes: what people wish (`wishes`), escalate, extend, edit.

None of it can approve. What widens who may decide (a hand-over, an escalation) is bounded by the file; what anybody
entitled may do (add a person who must agree as well, ask) only makes it stricter. Each is one event of the trail.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from app.domain.lifecycle.effect import Notify, PostMore
from app.domain.lifecycle.step import Refusal, Step
from app.domain.lifecycle.wishes import Wished, carried_out, entitled, next_version
from app.domain.request.quorum import Electorate, count, reachable, steps
from app.domain.request.timetable import Act, in_order
from app.domain.trail.audit import Kind
from app.domain.trail.notes import reminder_note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.request.timetable import Timer

MOST_EXTENSIONS = 3
LONGEST = timedelta(days=30)
"""How long a request may wait in all, extensions included."""


class Extended(Struct, frozen=True, kw_only=True):
    """Somebody wants people to have until `until`. `timers` are what is to happen in the time that is added."""

    by: str
    until: datetime
    timers: tuple[Timer, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


class TimersDue(Struct, frozen=True, kw_only=True):
    """The clock has made a timer due. `voters`: who may vote at this instant; `people`: whom each name stands for.

    Whoever is barred is not among `people`: they are brought in nowhere.
    """

    voters: Electorate
    people: Mapping[str, frozenset[str]]


class Edited(Struct, frozen=True, kw_only=True):
    """Other arguments are to be approved: judged anew, with the people whom *they* need. All votes are void."""

    by: str
    changed: ConfirmationRequest  # as it will stand: see `app.usecases.deciding.edited_request`
    voters: Electorate  # by the stages as they were: whether this person may decide at all
    after: Electorate  # who may vote once it has happened
    facts: Mapping[str, object]


Consulting = Wished | Extended | TimersDue | Edited


def consulted(request: ConfirmationRequest, event: Consulting, *, now: datetime) -> Step:
    """Apply what people do besides voting to a request that is pending and in time."""
    match event:
        case Wished():
            return carried_out(request, event, now=now)
        case Extended():
            return _extend(request, event)
        case TimersDue():
            return _due(request, event, now)
        case Edited():
            return _edit(request, event)
        case _:
            assert_never(event)


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
    return next_version(changed, Kind.EXTENDED, event.by, facts)


def _due(request: ConfirmationRequest, event: TimersDue, now: datetime) -> Step:
    """Do what is due first. Of several reminders that are due (the gateway was down) one is enough."""
    due = [timer for timer in request.timers if timer.at <= now]
    if not due:
        return Step(request=request, refusal=Refusal.TOO_EARLY)
    first, left = due[0], request.timers[1:]
    if first.act is Act.REMIND:
        left = tuple(timer for timer in left if timer.act is not Act.REMIND or timer.at > now)
        changed = replace(request, timers=left, reminded_at=now)
        return next_version(changed, Kind.REMINDED, "system", {"by_hand": False}, Notify(note=reminder_note()))
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
    return next_version(changed, Kind.ESCALATED, "system", facts, more)


def _edit(request: ConfirmationRequest, event: Edited) -> Step:
    refusal = entitled(replace(request, edited_by=None), event.by, event.voters)  # who changed it may change it again
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
    return next_version(changed, Kind.EDITED, event.by, facts, *more)
