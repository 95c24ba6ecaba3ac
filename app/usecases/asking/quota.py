"""How many requests one agent may have waiting: a flood from one must not wear down approvers or the store.

The rows are counted when an agent's number says that it has no place left, or is not known; between, the number only
grows with what is opened here. So a refusal always rests on a fresh count, and the hot path counts nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from app.domain.errors import TooManyError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime

    from app.ports import Clock

_BELIEVED_FOR = timedelta(minutes=1)
"""Other replicas open requests too: a number is not believed for ever."""


@dataclass(slots=True)
class _Count:
    pending: int
    counted_at: datetime
    opening: int = 0


class Quota:
    """The bound on pending requests an agent."""

    def __init__(self, *, clock: Clock, most_pending: int) -> None:
        """Take the bound."""
        self._clock = clock
        self._most = most_pending
        self._counts: dict[tuple[str, str], _Count] = {}

    def has_place(self, org: str, agent: str) -> bool:
        """Say whether there is a place by the number that is known; if not, count the rows."""
        known = self._counts.get((org, agent))
        if known is None or self._clock.now() - known.counted_at > _BELIEVED_FOR:
            return False
        return known.pending + known.opening < self._most

    def counted(self, org: str, agent: str, pending: int) -> None:
        """Take a fresh count of the rows; what is being opened right now is counted besides."""
        known = self._counts.setdefault((org, agent), _Count(0, self._clock.now()))
        known.pending, known.counted_at = pending, self._clock.now()

    @contextmanager
    def place(self, org: str, agent: str) -> Generator[Callable[[], None]]:
        """Take a place before the request is written, so that a thousand at once do not all find one free.

        Call what is yielded once the request is open; else the place is given back. Raises TooManyError if the agent
        has as many waiting as it may.
        """
        known = self._counts.setdefault((org, agent), _Count(0, self._clock.now()))
        waiting = known.pending + known.opening
        if waiting >= self._most:
            raise TooManyError(f"{waiting} requests of this agent wait already; {self._most} may", retry_after=5)

        def keep() -> None:
            known.pending += 1

        known.opening += 1
        try:
            yield keep
        finally:
            known.opening -= 1
