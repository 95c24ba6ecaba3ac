"""Which time zone was probably meant by what is none: an offset, an abbreviation, or a city that names none.

Of an offset the zones that have it are told, never one that is merely written alike: GMT+0 is eight hours from GMT+8.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

from app.policies.marks.faults import near

_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-])\s*([0-9]{1,2})(?::?([0-9]{2}))?", re.IGNORECASE)
_WELL_KNOWN = (
    "Pacific/Honolulu America/Anchorage America/Los_Angeles America/Denver America/Phoenix America/Chicago "
    "America/Mexico_City America/New_York America/Bogota America/Halifax America/Caracas America/St_Johns "
    "America/Sao_Paulo America/Argentina/Buenos_Aires Atlantic/Azores Europe/London Europe/Lisbon Africa/Lagos "
    "Europe/Berlin Europe/Paris Africa/Cairo Africa/Johannesburg Europe/Athens Europe/Istanbul Europe/Moscow "
    "Africa/Nairobi Asia/Riyadh Asia/Tehran Asia/Dubai Asia/Kabul Asia/Karachi Asia/Kolkata Asia/Kathmandu Asia/Dhaka "
    "Asia/Yangon Asia/Bangkok Asia/Jakarta Asia/Ho_Chi_Minh Asia/Shanghai Asia/Singapore Asia/Hong_Kong Asia/Tokyo "
    "Asia/Seoul Australia/Adelaide Australia/Sydney Australia/Brisbane Pacific/Noumea Pacific/Auckland Pacific/Apia"
)
_SHORT = {
    "CST": "Asia/Shanghai, America/Chicago or America/Havana",
    "CDT": "America/Chicago or America/Havana",
    "IST": "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem",
    "BST": "Europe/London or Asia/Dhaka",
    "AST": "America/Halifax or Asia/Riyadh",
    "PST": "America/Los_Angeles or Asia/Manila",
    "PDT": "America/Los_Angeles",
    "MDT": "America/Denver",
    "EDT": "America/New_York",
    "CEST": "Europe/Berlin, Europe/Paris or another of Central Europe",
    "EEST": "Europe/Athens, Europe/Helsinki or another of Eastern Europe",
    "MSK": "Europe/Moscow",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "HKT": "Asia/Hong_Kong",
    "SGT": "Asia/Singapore",
    "AEST": "Australia/Sydney or Australia/Brisbane",
}
"""Abbreviations that are no zones; several mean different ones in different countries."""
_CITIES = {
    "Asia/Shanghai": "beijing peking shenzhen guangzhou hangzhou chengdu nanjing wuhan tianjin",
    "Asia/Kolkata": "mumbai bombay delhi new_delhi bangalore bengaluru chennai hyderabad",
    "Asia/Tokyo": "osaka kyoto",
    "Asia/Ho_Chi_Minh": "hanoi",
    "Europe/Berlin": "munich frankfurt hamburg cologne",
    "Europe/Zurich": "geneva basel",
    "Europe/Madrid": "barcelona",
    "Europe/Rome": "milan",
    "Europe/London": "manchester edinburgh",
    "America/New_York": "washington boston miami atlanta",
    "America/Los_Angeles": "san_francisco seattle",
    "America/Chicago": "houston dallas austin",
}
_JANUARY = datetime(2026, 1, 15, tzinfo=UTC)


def zone_hint(name: str) -> str | None:
    """Return how the zone is written that was probably meant."""
    offset = _offset(name)
    if offset is not None:
        return _of_offset(offset)
    if (meant := _SHORT.get(name.upper())) is not None:
        return f"an abbreviation is no zone: write {meant}"
    city = name.rpartition("/")[2].lower().replace(" ", "_")
    for zone, cities in _CITIES.items():
        if city in cities.split():
            return f'write "{zone}": that is its zone'
    return near(name, available_timezones(), what="time zones")


def _offset(name: str) -> timedelta | None:
    match = _OFFSET.fullmatch(name.strip())
    if match is None:
        return None
    span = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return -span if match[1] == "-" else span


def _of_offset(offset: timedelta) -> str:
    """Name zones that are this far from UTC outside of summer time."""
    there = [name for name in _WELL_KNOWN.split() if _standard(name) == offset]
    hours = offset / timedelta(hours=1)
    if hours.is_integer() and -12 <= hours <= 14:
        there.append(f"Etc/GMT{-int(hours):+d} (its sign is turned round, and it never has summer time)")
    if not there:
        return "an offset is no zone; write one such as Asia/Shanghai"
    return f"an offset is no zone; write one that is as far from UTC when there is no summer time: {', '.join(there)}"


def _standard(name: str) -> timedelta | None:
    try:
        zone = ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return None
    away, summer = _JANUARY.astimezone(zone).utcoffset(), _JANUARY.astimezone(zone).dst()
    return None if away is None else away - (summer or timedelta())
