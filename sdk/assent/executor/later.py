"""When a request that was tried in vain is tried again: later each time, and never later than a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

LONGEST_PAUSE = 60.0


class Later:
    """Which requests are put off, and until when. `first` is the first pause, in seconds of `monotonic`."""

    def __init__(self, first: float, monotonic: Callable[[], float]) -> None:
        self._first = first
        self._monotonic = monotonic
        self._again: dict[str, tuple[int, float]] = {}  # how often it was tried in vain, and when the next try is

    def is_due(self, request_id: str) -> bool:
        """Whether a request may be tried now."""
        return self._again.get(request_id, (0, 0.0))[1] <= self._monotonic()

    def put_off(self, request_id: str) -> None:
        """Note that it was tried in vain."""
        tried = self._again.get(request_id, (0, 0.0))[0]
        self._again[request_id] = tried + 1, self._monotonic() + self.pause(tried)

    def pause(self, tried: int) -> float:
        """How long to wait after so many tries in vain."""
        return min(LONGEST_PAUSE, self._first * 2 ** min(tried, 8))

    def keep(self, standing: Collection[str]) -> None:
        """Forget all others."""
        self._again = {name: entry for name, entry in self._again.items() if name in standing}
