"""How many requests one agent may have waiting: a flood from one must not wear down approvers or the store.

The bound is kept by the commit itself: it stands only if, behind the lock of the org's trail, no more wait than may
(`hold_pending`). So it holds on every replica together. Before that, a number in memory says whether the bound is near;
only then does the unit that opens count the rows, and refuse. Far from it the hot path counts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.errors import TooManyError
from app.storage.requests.requests import count_pending, hold_pending

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx


class Quota:
    """The bound on pending requests an agent."""

    def __init__(self, *, most_pending: int) -> None:
        """Take the bound."""
        self._most = most_pending
        self._known: dict[tuple[str, str], int] = {}

    def place(self, agent: str) -> Place:
        """Return the place that one submission asks for: its unit takes it."""
        return Place(self, agent)

    def take(self, tx: Tx, agent: str, *, again: bool) -> TooManyError | None:
        """Take a place for one request more, in the unit that opens it, or say why there is none.

        Runs on the writer's thread alone. The number that is known may be too high (a unit that was rolled back, a
        request that was settled): then the rows are counted. It may be too low (another replica): then the commit does
        not stand, and the unit comes `again`.
        """
        waiting = self._known.get((tx.org, agent), self._most)
        if again or waiting >= self._most // 2:
            waiting = self._known[tx.org, agent] = count_pending(tx, agent)
        if waiting >= self._most:
            return TooManyError(f"{waiting} requests of this agent wait already; {self._most} may", retry_after=5)
        self._known[tx.org, agent] = waiting + 1
        hold_pending(tx, agent, most=self._most)
        return None


@dataclass(slots=True)
class Place:
    """One submission's place among those that wait."""

    _quota: Quota
    _agent: str
    _again: bool = False

    def take(self, tx: Tx) -> TooManyError | None:
        """Take it, or say why there is none; a unit that runs again trusts nothing that it knew before."""
        again, self._again = self._again, True
        return self._quota.take(tx, self._agent, again=again)
