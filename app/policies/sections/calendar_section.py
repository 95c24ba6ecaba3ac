"""The time of the file: the org's zone, its working hours and its holidays."""

from __future__ import annotations

import re
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from app.domain.people.working_time import WorkingTime
from app.policies.marks.entries import read_entry
from app.policies.models.file_models import CalendarEntry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from app.domain.people.working_time import Spans
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN = re.compile(r"([0-2][0-9]):([0-5][0-9])\s*-\s*([0-2][0-9]):([0-5][0-9])")
_APART = ("timezone", "holidays", "workdays")
_WEEK: dict[str, JsonValue] = {"work": {"mon-fri": "09:00-18:00"}}
_MIDNIGHT = 24 * 60
_LONGEST_RANGE = 366  # days


def read_zone(marked: MarkedYaml, path: Path, name: str | None) -> tzinfo:
    """Return a zone by its IANA name, UTC where there is no name; an unknown one is noted."""
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        from app.policies.sections.zone_hints import zone_hint

        marked.report(path, f'unknown time zone "{name}"', zone_hint(name))
        return UTC


def read_calendar(marked: MarkedYaml, zone: tzinfo) -> WorkingTime | None:
    """Return the calendar, or None if it is left out or at fault. `zone` is the org's."""
    raw = marked.value.get("calendar") if isinstance(marked.value, dict) else None
    entry = (
        read_entry(marked, ("calendar",), raw, CalendarEntry, apart=_APART, instead=_WEEK) if raw is not None else None
    )
    if entry is None:
        return None
    holidays = _dates(marked, ("calendar", "holidays"), entry.holidays)
    workdays = _dates(marked, ("calendar", "workdays"), entry.workdays)
    for day in sorted(holidays & workdays):
        marked.report(("calendar", "workdays"), f"{day} is a holiday too")
    return WorkingTime(
        zone=read_zone(marked, ("calendar", "timezone"), entry.timezone) if entry.timezone else zone,
        week=_week(marked, entry.work),
        holidays=holidays,
        workdays=workdays,
    )


def _week(marked: MarkedYaml, work: dict[str, str]) -> tuple[Spans, ...]:
    week: dict[int, Spans] = {}
    if not work:
        marked.report(("calendar", "work"), "is empty: nobody would ever be at work")
    for key, hours in work.items():
        path: Path = ("calendar", "work", key)
        days = _days(key)
        if days is None:
            marked.report(path, "is no day", f"write mon-fri, sat or mon,wed with {', '.join(DAYS)}")
            continue
        spans = _spans(marked, path, hours)
        for day in days:
            if day in week:
                marked.report(path, f"{DAYS[day]} has its hours already")
            week[day] = spans
    return tuple(week.get(day, ()) for day in range(len(DAYS)))


def _days(key: str) -> list[int] | None:
    """Return the days of ``mon-fri``, ``sat`` or ``mon,wed``; None for anything else."""
    found: list[int] = []
    for part in key.replace(" ", "").lower().split(","):
        first, dash, last = part.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            return None
        start, end = DAYS.index(first), DAYS.index(last or first)
        if end < start:
            return None
        found += range(start, end + 1)
    return found


def _spans(marked: MarkedYaml, path: Path, hours: str) -> Spans:
    spans: list[tuple[int, int]] = []
    for part in hours.split(","):
        match = _SPAN.fullmatch(part.strip())
        start, end = (int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])) if match else (0, 0)
        if not start < end <= _MIDNIGHT:
            hint = 'write "09:00-18:00" or "09:00-12:00, 13:00-18:00"; a night is two spans, each in its own day'
            marked.report(path, "are no hours of a day", hint)
        elif spans and start < spans[-1][1]:
            marked.report(path, "has spans that overlap or are out of order")
        else:
            spans.append((start, end))
    return tuple(spans)


def _dates(marked: MarkedYaml, path: Path, written: Sequence[str]) -> frozenset[date]:
    found: set[date] = set()
    for index, text in enumerate(written):
        first, dots, last = text.partition("..")
        try:
            start, end = date.fromisoformat(first), date.fromisoformat(last if dots else first)
        except ValueError:
            marked.report((*path, index), "is no date", "write 2026-12-25, or 2026-10-01..2026-10-07")
            continue
        days = {start + timedelta(days=step) for step in range(min((end - start).days + 1, _LONGEST_RANGE))}
        if not days or end not in days:
            marked.report((*path, index), f"must be from a day to a later one, {_LONGEST_RANGE} days at most")
        if found & days:
            marked.report((*path, index), f"{min(found & days)} again")
        found |= days
    return frozenset(found)
