"""What is known of the gateway's clock: an answer tells it once, in whole seconds, and may be read long after."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_LASTS = 300.0
"""Seconds for which what an answer told is gone by: clocks run apart, and are set."""


class GatewayClock:
    """The gateway's clock against our monotonic one.

    What an answer tells was true at some moment between its question and its reading. A process that was frozen, or a
    line that is slow, makes the reading late: the clock may then be far ahead of what is read. So two things are kept,
    from which `seconds_to` hopes and `surely_to` fears.
    """

    def __init__(self) -> None:
        self._read: float | None = None  # ahead of ours, as if the last answer had been read in the moment it was made
        self._most: float | None = None  # ahead of ours at most
        self._since = 0.0

    def learn(self, date: str, *, asked: float, read: float) -> None:
        """Take the `Date` of an answer that was `asked` for and `read` at these instants of our clock."""
        try:
            told = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return
        self._read = told - read
        most = told + 1 - asked  # it tells whole seconds
        if self._most is None or most <= self._most or self._read > self._most or read - self._since > _LASTS:
            self._most, self._since = most, read

    def seconds_to(self, instant: datetime, now: float) -> float | None:
        """How long until it shows `instant`, if answers come at once; None as long as it has never told its time."""
        return None if self._read is None else instant.timestamp() - self._read - now

    def surely_to(self, instant: datetime, now: float) -> float | None:
        """How long until it shows `instant` at the earliest."""
        return None if self._most is None else instant.timestamp() - self._most - now
