"""One request's story drawn to scale: who did what when, in four lanes, and what was waited for. Pure.

A place is a share of the whole width, from the asking to the last thing that happened, or to now where something is
still owed. What would stand on top of each other is one mark, with the numbers of its rows.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.request.request import UNCERTAIN_STATES, GrantStatus, State
from app.domain.trail.audit import Kind
from app.domain.words.say import say
from app.domain.words.span_text import span_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime, timedelta

    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.language import Language
    from app.domain.trail.audit import AuditEvent

LANES = ("agent", "gateway", "people", "tool")

_FIRST, _LAST = 3.0, 97.0
_APART = 5.0  # so near marks are one: two circles of a phone
_QUIET = 0.25  # of the whole, without anything: a gap that is named
_LANE_OF = {
    Kind.CREATED: "agent",
    Kind.CANCELLED: "agent",
    Kind.VOTE: "people",
    Kind.APPROVED: "people",
    Kind.DENIED: "people",
    Kind.HANDED_OVER: "people",
    Kind.APPROVER_ADDED: "people",
    Kind.ASKED_BACK: "people",
    Kind.ANSWERED: "people",
    Kind.EXTENDED: "people",
    Kind.EDITED: "people",
    Kind.REVIEWED: "people",
    Kind.CLICK_REFUSED: "people",
    Kind.LIFTED: "people",
    Kind.RECONCILED: "people",
    Kind.CLAIMED: "tool",
    Kind.SUCCEEDED: "tool",
    Kind.FAILED: "tool",
    Kind.UNKNOWN: "tool",
    Kind.PENDING_ELSEWHERE: "tool",
}
_TONE_OF = {
    Kind.APPROVED: "good",
    Kind.SUCCEEDED: "good",
    Kind.DENIED: "bad",
    Kind.FAILED: "bad",
    Kind.UNKNOWN: "bad",
    Kind.FORGED: "bad",
    Kind.EXPIRED: "bad",
    Kind.UNDELIVERABLE: "bad",
    Kind.LAPSED: "bad",
    Kind.REVOKED: "bad",
    Kind.CARD_FAILED: "bad",
    Kind.CARD_LATE: "bad",
    Kind.CARD_MISSING: "bad",
    Kind.CLICK_REFUSED: "bad",
}
_OWED = UNCERTAIN_STATES | {State.PENDING, State.APPROVED, State.EXECUTING}


class Mark(Struct, frozen=True, kw_only=True):
    """What happened in a lane at about the same time: the numbers of its rows."""

    lane: int
    x: float
    label: str
    tone: str


class Span(Struct, frozen=True, kw_only=True):
    """What was waited for, and how long; `lane` is who was waited for, or -1 for a time in which nothing happened."""

    lane: int
    x: float
    width: float
    tone: str
    text: str


class Row(Struct, frozen=True, kw_only=True):
    """One event: how long after the asking, and in which lane."""

    number: int
    after: str
    lane: str


class Timeline(Struct, frozen=True, kw_only=True):
    """The drawing, and its rows: one for each event, in their order."""

    marks: tuple[Mark, ...]
    spans: tuple[Span, ...]
    gaps: tuple[Span, ...]
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    whole: str


def timeline_of(
    request: ConfirmationRequest, events: Sequence[AuditEvent], language: Language, *, now: datetime
) -> Timeline:
    """Draw what the trail says of a request."""
    first = min([request.created_at, *(event.at for event in events)])
    last = max([request.created_at, *(event.at for event in events)])
    last = max(last, now) if request.state in _OWED else last
    whole = max((last - first).total_seconds(), 1e-6)

    def x(at: datetime) -> float:
        share = (min(max(at, first), last) - first).total_seconds() / whole
        return round(_FIRST + share * (_LAST - _FIRST), 2)

    def span(lane: int, since: datetime, until: datetime, tone: str, key: str) -> Span:
        width = round(max(x(until) - x(since), 0.4), 2)
        text = say(language, f"story.span.{key}", span=short(until - since, language))
        return Span(lane=lane, x=x(since), width=width, tone=tone, text=text)

    waits = [(lane, since, until or last, tone, key) for lane, since, until, tone, key in _waits(request, events)]
    instants = [*(event.at for event in events), last]
    quiet = [
        (since, until)
        for since, until in itertools.pairwise(instants)
        if (until - since).total_seconds() >= _QUIET * whole and (until - since).total_seconds() >= 1
    ]
    return Timeline(
        marks=tuple(_marks(events, x)),
        spans=tuple(span(*each) for each in waits),
        gaps=tuple(span(-1, since, until, "neutral", "quiet") for since, until in quiet),
        rows=tuple(
            Row(number=number, after=f"+{short(event.at - first, language)}", lane=_lane(event))
            for number, event in enumerate(events, start=1)
        ),
        ticks=tuple(
            (_FIRST + share * (_LAST - _FIRST), f"+{short(share * (last - first), language)}") for share in (0, 0.5, 1)
        ),
        whole=short(last - first, language),
    )


def short(span: timedelta, language: Language) -> str:
    """Write a span in its two largest units; below a second, in thousandths."""
    seconds = span.total_seconds()
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} {say(language, 'unit.ms')}"
    parts = span_text(span, language).split(" ")
    return " ".join(parts[:4])


def _lane(event: AuditEvent) -> str:
    return _LANE_OF.get(event.record.kind, "gateway")


def _marks(events: Sequence[AuditEvent], x: Callable[[datetime], float]) -> Iterator[Mark]:
    for lane, name in enumerate(LANES):
        near: list[tuple[int, float, str]] = []
        for number, event in enumerate(events, start=1):
            if _lane(event) != name:
                continue
            at, tone = x(event.at), _TONE_OF.get(event.record.kind, "neutral")
            if near and at - near[0][1] >= _APART:
                yield _merged(lane, near)
                near = []
            near.append((number, at, tone))
        if near:
            yield _merged(lane, near)


def _merged(lane: int, near: list[tuple[int, float, str]]) -> Mark:
    numbers, tones = [number for number, _, _ in near], [tone for _, _, tone in near]
    together = numbers[-1] - numbers[0] == len(numbers) - 1
    label = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}{'–' if together else '…'}{numbers[-1]}"
    tone = next((each for each in ("bad", "good") if each in tones), "neutral")
    return Mark(lane=lane, x=round(sum(at for _, at, _ in near) / len(near), 2), label=label, tone=tone)


def _waits(
    request: ConfirmationRequest, events: Sequence[AuditEvent]
) -> Iterator[tuple[int, datetime, datetime | None, str, str]]:
    """Yield what was waited for: people, the claim, the tool. None: it is waited for still."""
    settled = request.settlement.at if request.settlement else None
    if request.stages and request.allowed_by is None:
        yield 2, request.created_at, settled, "waiting", "people"
    if settled is None or request.grant is None:
        return
    execution = request.execution
    ended = next((event.at for event in events if event.record.kind in {Kind.LAPSED, Kind.REVOKED}), None)
    if execution is None:
        over = ended if request.grant.status is not GrantStatus.ISSUED else None
        yield 0, settled, over, "bad" if over else "waiting", "unclaimed"
        return
    yield 0, settled, execution.started_at, "neutral", "unclaimed"
    lost = next((event.at for event in events if event.record.kind is Kind.UNKNOWN), None)
    if lost is not None:
        yield 3, execution.started_at, lost, "lost", "lost"
        yield 3, lost, execution.settled_at if request.state is not State.UNKNOWN else None, "waiting", "unsettled"
        return
    tone = {State.SUCCEEDED: "good", State.FAILED: "bad"}.get(request.state, "waiting")
    until = execution.settled_at if request.state in {State.SUCCEEDED, State.FAILED} else None
    yield 3, execution.started_at, until, tone, "ran"
