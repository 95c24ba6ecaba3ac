"""How the client waits and retries, where it takes time, sleep and chance from, and what it knows of other clocks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

_LASTS = 300.0
"""Seconds for which what an answer told is gone by: clocks run apart, and are set."""


def _new_id(prefix: str) -> str:
    import secrets

    return f"{prefix}_{secrets.token_hex(16)}"


async def _sleep(seconds: float) -> None:
    import anyio

    await anyio.sleep(seconds)


def _jitter() -> float:
    import secrets

    return secrets.randbelow(1000) / 1000


def seconds(value: object, name: str) -> float | None:
    """A span that a caller gave as `name`: a number of seconds, 0 or more, or None where it set no limit.

    0 asks once and waits for nobody. Raises TypeError and ValueError: a span that is none is the programmer's mistake,
    and must not read as a gateway that does not answer.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError(f"{name}: give seconds as a number, not {value!r}")
    given = float(value)
    if not 0 <= given < float("inf"):
        raise ValueError(f"{name}: give 0 seconds (ask once, and wait for nobody) or more; {value!r} is no such time")
    return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How the client waits and retries; spans in seconds."""

    hold: float = 30.0
    """One long-poll."""
    patience: float = 30.0
    """How long a call other than `wait` is tried again while the gateway is away."""
    margin: float = 30.0
    """How long after a request's deadline `wait` still hopes for the gateway's answer."""
    lookup: float = 20.0
    """How long an outcome that became unknown is still waited for: an executor may ask its tool what came of it."""
    connect: float = 5.0
    read: float = 10.0
    first_backoff: float = 0.2
    last_backoff: float = 10.0
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = _sleep
    jitter: Callable[[], float] = _jitter
    new_id: Callable[[str], str] = _new_id


class GatewayClock:
    """The gateway's clock against our monotonic one. An answer tells it once, in whole seconds.

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
        from email.utils import parsedate_to_datetime

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
