"""What is to happen while a request waits: reminders and the rungs of the escalation ladder, as rows of a column."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

REMINDERS = (0.5, 0.9)
"""When people are reminded, as fractions of their time, unless the file says otherwise."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""When a timetable begins that is worked out before anybody asks."""


class Act(StrEnum):
    """What a timer does."""

    REMIND = "remind"
    ESCALATE = "escalate"


class Timer(Struct, frozen=True, kw_only=True):
    """One thing that is due at an instant. `to` (groups or people) and `channels` are those of an escalation."""

    at: datetime
    act: Act
    to: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


class Rung(Struct, frozen=True, kw_only=True):
    """One step of the escalation ladder as the file writes it: after a span, or a fraction of the time to decide."""

    after: timedelta | float
    to: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    def within(self, window: timedelta) -> timedelta:
        """Return how long after the beginning of a window it is due."""
        return self.after if isinstance(self.after, timedelta) else window * self.after


def timetable(
    start: datetime, window: timedelta, *, remind: Iterable[float], escalate: Iterable[Rung]
) -> tuple[Timer, ...]:
    """Return what is to happen between `start` and the end of the window, the next first.

    Who is brought in at an instant is also reminded at it. A rung that is not reached in time is left out.
    """
    rungs = [
        Timer(at=start + rung.within(window), act=Act.ESCALATE, to=rung.to, channels=rung.channels)
        for rung in escalate
        if timedelta(0) < rung.within(window) < window
    ]
    return in_order((*rungs, *reminders(start, window, remind)))


def reminders(start: datetime, window: timedelta, remind: Iterable[float]) -> tuple[Timer, ...]:
    """Return the reminders of a window, the next first; equal instants give one."""
    instants = {start + window * fraction for fraction in remind}
    return tuple(Timer(at=at, act=Act.REMIND) for at in sorted(instants) if start < at < start + window)


def in_order(timers: Iterable[Timer]) -> tuple[Timer, ...]:
    """Sort timers as they come due; at the same instant people are brought in before anybody is reminded."""
    return tuple(sorted(timers, key=lambda timer: (timer.at, timer.act is Act.REMIND)))
