"""Places that all callers share: while there is room, all take what they want; when it gets scarce, a tenth at most.

So one key may take half of them and no more, and whoever has little is let in until the very last.
"""

from __future__ import annotations

from collections import Counter


class Shares:
    """Who holds how many of so many places."""

    def __init__(self, most: int) -> None:
        """Take how many there are."""
        self._most = most
        self._half = most / 2
        self._tenth = max(1, most // 10)
        self._held: Counter[str] = Counter()
        self._count = 0

    def __len__(self) -> int:
        """Return how many are held."""
        return self._count

    def take(self, who: str) -> None:
        """Take a place, if there is one or not: `crowded` says it; `give` must follow."""
        self._held[who] += 1
        self._count += 1

    def give(self, who: str) -> None:
        """Give a place back."""
        self._count -= 1
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]

    def crowded(self, who: str, *, more: int = 0) -> bool:
        """Whether somebody holds more than his share, if he took so many more."""
        count, held = self._count + more, self._held[who] + more
        return count > self._most or (count > self._half and held > self._tenth)
