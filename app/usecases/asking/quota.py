"""How much one agent may have waiting: a flood from one must not wear down approvers, their chats or the store.

Two bounds: on requests that wait, and, far lower, on those of them that stand in a chat as cards. Both are kept by the
commit itself: it stands only if, behind the lock of the org's trail, no more wait than may (`hold_pending`). So they
hold on every replica together. Before that, a number in memory says whether a bound is near; only then does the unit
that opens count the rows, and refuse: once a commit, for the units behind the first one add to what it has counted. Far
from it the hot path counts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.errors import TooManyError
from app.storage.requests.requests import count_pending, hold_pending

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx


class Quota:
    """The bounds on what waits of an agent."""

    def __init__(self, *, most_pending: int, most_cards: int) -> None:
        """Take the bounds."""
        self._most = {False: most_pending, True: most_cards}  # by whether it stands on cards
        self._known: dict[tuple[str, str, bool], int] = {}

    def place(self, agent: str) -> Place:
        """Return the place that one submission asks for: its unit takes it."""
        return Place(self, agent)

    def take(self, tx: Tx, agent: str, *, on_cards: bool, again: bool) -> TooManyError | None:
        """Take a place for one request more, in the unit that opens it, or say why there is none.

        Runs on the writer's thread alone. The number that is known may be too high (a unit that was rolled back, a
        request that was settled): then the rows are counted. It may be too low (another replica): then the commit does
        not stand, and the unit comes `again`.
        """
        kinds = (False, True) if on_cards else (False,)
        waiting = {kind: self._waiting(tx, agent, on_cards=kind, again=again) for kind in kinds}
        for kind, many in waiting.items():
            if many >= self._most[kind]:
                where = "stand before people as cards already" if kind else "wait already"
                told = f"{many} requests of this agent {where}; {self._most[kind]} may"
                return TooManyError(told, retry_after=5)
        for kind, many in waiting.items():
            self._known[tx.org, agent, kind] = many + 1
        hold_pending(tx, agent, most=self._most[False], most_cards=self._most[True] if on_cards else None)
        return None

    def _waiting(self, tx: Tx, agent: str, *, on_cards: bool, again: bool) -> int:
        most = self._most[on_cards]
        known = self._known.get((tx.org, agent, on_cards), most)
        near = known >= most // 2 and (tx.looks_first(("waiting", agent, on_cards)) or known >= most)
        if again or near:
            known = self._known[tx.org, agent, on_cards] = count_pending(tx, agent, on_cards=on_cards)
        return known


@dataclass(slots=True)
class Place:
    """One submission's place among those that wait."""

    _quota: Quota
    _agent: str
    _again: bool = False

    def take(self, tx: Tx, *, on_cards: bool) -> TooManyError | None:
        """Take it, or say why there is none; a unit that runs again trusts nothing that it knew before."""
        again, self._again = self._again, True
        return self._quota.take(tx, self._agent, on_cards=on_cards, again=again)
