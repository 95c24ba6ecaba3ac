"""Count calls for the rate limits of one org, in the store: replicas share the numbers, restarts keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.storage.sessions.counters import take

if TYPE_CHECKING:
    from app.storage.engine.store import Store


class CountCalls:
    """The counters (`assent.hooks.ready.rate_limit.Counters`) of one org."""

    def __init__(self, store: Store, org: str) -> None:
        """Take what it counts in."""
        self._store = store
        self._org = org

    async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
        """Count a call if it is within `calls` in the moving window, and return None; else the seconds to wait.

        Raises UnavailableError: what cannot be counted is not let through.
        """
        return await self._store.write(
            lambda tx: take(tx, key, calls=calls, window_seconds=window_seconds), org=self._org
        )
