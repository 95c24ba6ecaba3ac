"""What was read is believed for half a second: one of many reads it anew, and a read that hangs stretches nothing.

So a revoked key, a flipped switch and a session's parent are in force on every replica within a second, and what nearly
every call asks costs two reads a second however many calls there are.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterator
    from datetime import datetime

_TRUSTED = timedelta(seconds=0.5)
_READ_WITHIN = timedelta(seconds=0.1)
"""How much longer, and no more, while one reads it anew: those who come meanwhile need not all do so."""

Value = TypeVar("Value")


class Believed(Generic[Value]):
    """What was read under each name, and when."""

    def __init__(self, *, most: int | None = None) -> None:
        """Keep no more than `most` names, where they come from outside: they must not fill the memory."""
        self._most = most
        self._known: dict[Hashable, tuple[datetime, Value]] = {}
        self._reading: dict[Hashable, object] = {}
        """Which are just being read anew, each with the mark of whoever began last."""

    def find(self, name: Hashable, now: datetime) -> Value | None:
        """Return what is believed under a name; None: read it."""
        known = self._known.get(name)
        if known is None:
            return None
        longest = _TRUSTED + _READ_WITHIN if name in self._reading else _TRUSTED
        # Not below zero: a clock that was set back must not stretch the trust.
        return known[1] if timedelta(0) <= now - known[0] < longest else None

    async def read(self, name: Hashable, now: datetime, answer: Awaitable[Value]) -> Value:
        """Wait for what is read from `now` on, and believe it, unless it is forgotten meanwhile."""
        mark = self._reading[name] = object()
        try:
            value = await answer
            if self._reading.get(name) is mark:
                if self._most is not None and len(self._known) >= self._most:
                    self._known.clear()
                self._known[name] = now, value
        finally:
            if self._reading.get(name) is mark:
                del self._reading[name]
        return value

    def forget(self, name: Hashable) -> None:
        """Believe nothing under a name, nor what is being read of it: it may be of before."""
        self._known.pop(name, None)
        self._reading.pop(name, None)

    def forget_all(self, which: Callable[[Value], bool]) -> None:
        """Believe no more what is of a kind."""
        for name in [name for name, (_, value) in self._known.items() if which(value)]:
            self.forget(name)

    def __iter__(self) -> Iterator[tuple[datetime, Value]]:
        """Return all that was read, however old, and when."""
        return iter(self._known.values())
