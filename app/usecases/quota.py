"""How many requests one agent may have waiting: a flood from one must not wear down approvers or the store.

The count is taken from the rows at most once a second an agent, and carried on in memory between: it bounds, it does
not account.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.errors import TooManyError

if TYPE_CHECKING:
    from datetime import datetime

    from app.ports import Clock

_FRESH_FOR = timedelta(seconds=1)
_NEW_FOR = timedelta(milliseconds=50)


@dataclass(slots=True)
class _Count:
    pending: int
    counted_at: datetime


class Quota:
    """The bound on pending requests an agent."""

    def __init__(self, *, clock: Clock, most_pending: int) -> None:
        """Take the bound."""
        self._clock = clock
        self._most = most_pending
        self._counts: dict[tuple[str, str], _Count] = {}

    def stale(self, org: str, agent: str) -> bool:
        """Say whether the rows should be counted again."""
        now = self._clock.now()
        known = self._counts.get((org, agent))
        if known is not None:
            # What was settled meanwhile is not known here: nobody is refused on a number that is not new.
            fresh_for = _FRESH_FOR if known.pending < self._most else _NEW_FOR
            if now - known.counted_at <= fresh_for:
                return False
            if known.pending < self._most:
                known.counted_at = now  # one caller counts; the others go by the old number meanwhile
        return True

    def counted(self, org: str, agent: str, pending: int) -> None:
        """Take a fresh count."""
        self._counts[org, agent] = _Count(pending, self._clock.now())

    def opened(self, org: str, agent: str) -> None:
        """Count one that was just opened."""
        known = self._counts.get((org, agent))
        if known is not None:
            known.pending += 1

    def check(self, org: str, agent: str) -> None:
        """Raise TooManyError if the agent has as many waiting as it may."""
        known = self._counts.get((org, agent))
        if known is not None and known.pending >= self._most:
            raise TooManyError(f"{known.pending} requests of this agent wait already; {self._most} may", retry_after=5)
