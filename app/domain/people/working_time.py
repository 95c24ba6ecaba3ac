"""When people of an org are at work: hours of the week, holidays, and days that are worked all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo

Spans = tuple[tuple[int, int], ...]
"""Spans of one day in minutes after midnight; the end of each is no part of it."""


class WorkingTime(Struct, frozen=True, kw_only=True):
    """The working hours, in `zone`. `week` has the spans of seven days, Monday first.

    A holiday has no working hours. One of the `workdays` has those of its weekday or, where that has none, those of
    the first day of the week that has some: China's make-up Saturdays are worked like a Monday.
    """

    zone: tzinfo
    week: tuple[Spans, ...]
    holidays: frozenset[date] = frozenset()
    workdays: frozenset[date] = frozenset()

    def is_holiday(self, at: datetime) -> bool:
        """Say whether an instant is on a holiday of the list."""
        return at.astimezone(self.zone).date() in self.holidays

    def is_working(self, at: datetime) -> bool:
        """Say whether an instant is within working hours."""
        local = at.astimezone(self.zone)
        day = local.date()
        if day in self.holidays:
            return False
        spans = self.week[local.weekday()]
        if not spans and day in self.workdays:
            spans = next(filter(None, self.week), ())
        minute = local.hour * 60 + local.minute
        return any(start <= minute < end for start, end in spans)
