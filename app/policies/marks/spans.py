"""Spans of time with bounds of their own, beside those of `file_models.py`: seconds or whole years."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SPAN = re.compile(r"(0|[1-9][0-9]{0,5})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def span_within(least: timedelta, most: timedelta, told: str) -> Callable[[object], timedelta]:
    """Return what turns ``30m`` or ``7d`` into a span within bounds, which `told` names; it raises ValueError."""

    def parse(value: object) -> timedelta:
        match = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError("must be a time such as 30m, 12h or 7d")
        span = timedelta(**{_UNITS[match[2]]: int(match[1])})
        if not least <= span <= most:
            raise ValueError(f"must be {told}")
        return span

    return parse
