"""How much may be asked of people, and when: the hours of cards, the time to read one, and who no longer reads.

Approvers who are asked too often stop reading, and then the gate is open. Everything here takes work off them, and
nothing decides for them: a card that is held back goes out while at least half of the window is left, and a request
that nobody decides expires as every other does. What a rule calls a high risk is never held back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.request.request import Risk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, tzinfo

COOL_DOWN_RULE = "cool-down"
"""The id under which a call is refused that a person denied a short while ago."""

BUDGET_WINDOW = timedelta(hours=1)

LOOK_BACK = timedelta(days=7)
_AT_ONCE = timedelta(seconds=3)
_FEWEST = 20
_PERCENT = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """The file's `attention`. Times are those of the org's zone; a span of zero switches its control off."""

    cards_per_hour: int | None = None  # for each approver; None: as many as there are
    digest: tuple[time, ...] = ()  # when what may wait goes out, together
    quiet: tuple[time, time] | None = None  # begin and end; it may go over midnight
    read_for: timedelta = timedelta(seconds=3)  # how long a card of high risk is there before an approval counts
    cool_down: timedelta = timedelta(minutes=10)  # how long a denied call is not asked about again
    remember_denials: timedelta = timedelta(hours=24)  # how long cards of near copies say that it was denied
    group: timedelta | None = None  # like requests that come within this time share a card
    holds_cards: bool = field(init=False, repr=False, compare=False)  # whether any first card may ever wait

    def __post_init__(self) -> None:
        """Say once what every request would ask: most files hold nothing back."""
        held = self.cards_per_hour is not None or bool(self.digest) or self.quiet is not None
        object.__setattr__(self, "holds_cards", held)


class Held(StrEnum):
    """Why a card does not go out at once, as the trail says it."""

    QUIET = "quiet hours"
    DIGEST = "a low risk waits for the digest"
    BUDGET = "its approvers have had as many cards within an hour as they are to have"


class Posting(Struct, frozen=True, kw_only=True):
    """When a card may go out, and why not before (None: at once)."""

    at: datetime
    held: Held | None = None


def goes_out_at(
    attention: Attention,
    *,
    now: datetime,
    risk: Risk,
    expires_at: datetime,
    zone: tzinfo,
    room_in: timedelta | None = None,
) -> Posting:
    """Say when a request's first cards may go out; at least half of its window is then left.

    `room_in`: its approvers have had their cards of this hour, and after so long enough of them may have one more.
    """
    start, end = now.astimezone(UTC), expires_at.astimezone(UTC)  # spans of one zone's own times ignore its shifts
    if risk is Risk.HIGH:
        return Posting(at=start)
    at, held = start, None
    waits = Held.BUDGET if room_in is not None else Held.DIGEST if risk is Risk.LOW else None
    if waits is not None and attention.digest:
        at, held = min(_next(each, start, zone) for each in attention.digest), waits
    elif room_in is not None:
        at, held = start + room_in, waits
    if attention.quiet is not None and is_quiet(attention.quiet, at.astimezone(zone).time()):
        at, held = _next(attention.quiet[1], at, zone), Held.QUIET
    at = min(at, start + (end - start) // 2)
    return Posting(at=at, held=held) if at > start else Posting(at=start)


def is_quiet(quiet: tuple[time, time], local: time) -> bool:
    """Say whether a time of day is within quiet hours; their end is no part of them."""
    begin, end = quiet
    return begin <= local < end if begin < end else local >= begin or local < end


def reading_left(attention: Attention, *, risk: Risk, shown_at: datetime, now: datetime) -> timedelta:
    """Return how much longer a card must be there before an approval from it counts; zero: it counts."""
    if risk is not Risk.HIGH:
        return timedelta(0)
    return max(shown_at + attention.read_for - now, timedelta(0))


def _next(at: time, after: datetime, zone: tzinfo) -> datetime:
    """Return the next instant, `after` included, at which clocks of the zone show a time of day."""
    today = after.astimezone(zone).date()
    days = (today + timedelta(days=step) for step in range(3))  # a day may have no such instant behind `after`
    return min(instant for day in days for instant in _instants(day, at, zone) if instant >= after)


def _instants(day: date, at: time, zone: tzinfo) -> Iterator[datetime]:
    """Yield when clocks show this: once; twice where they are put back; later by the shift where they skip it."""
    local = datetime.combine(day, at)
    shown = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    true = [instant for instant in shown if instant.astimezone(zone).replace(tzinfo=None) == local]
    yield from true or shown[:1]


class Answer(Struct, frozen=True, kw_only=True):
    """One decision that somebody took, and how long its card had been there."""

    person: str
    approved: bool
    took: timedelta


class RubberStamp(Struct, frozen=True, kw_only=True):
    """Somebody who approves faster than anybody can read."""

    person: str
    decisions: int
    at_once: int  # how many of them were approvals within three seconds


def rubber_stamps(answers: Iterable[Answer]) -> tuple[RubberStamp, ...]:
    """Return who approved more than 95 % of at least 20 decisions within three seconds of the card's arrival."""
    by_person: dict[str, list[Answer]] = {}
    for answer in answers:
        by_person.setdefault(answer.person, []).append(answer)
    found = (
        RubberStamp(
            person=person,
            decisions=len(theirs),
            at_once=sum(answer.approved and answer.took <= _AT_ONCE for answer in theirs),
        )
        for person, theirs in sorted(by_person.items())
    )
    return tuple(one for one in found if one.decisions >= _FEWEST and one.at_once * 100 > one.decisions * _PERCENT)
