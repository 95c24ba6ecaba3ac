"""The process's clock: the only home of `datetime.now`."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The production `Clock`."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)
