"""Was this history of one request possible, if every call took effect at one instant between its begin and its end?

A request is a register that is written once, so no general checker is needed: six rules decide it in linear time. A
call that never came back has no end: it may have taken effect at any time since it began, or never.

(a) At most one call is told that it decided.
(b) Whoever is told that it was decided already is told the winner's value, and not before the winner began.
(c) Nobody who begins after the winner returned reads "pending".
(d) Nobody reads the value before the winner began.
(e) What one caller has seen, every caller that begins later sees.
(f) "expired" wins only at or after the deadline, anything else only before it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
PENDING = "pending"
EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as its caller saw it. Times are of one monotonic clock, shared with the deadline.

    `wrote` is the value that the call would decide ("" for a read); `won` says that it was told so; `saw` is the value
    that it was shown otherwise (None: it never came back, or learnt nothing).
    """

    begin: float
    end: float = math.inf
    wrote: str = ""
    won: bool = False
    saw: str | None = None


@dataclass(slots=True)
class History:
    """Records calls as they happen."""

    calls: list[Call] = field(default_factory=list[Call])

    async def record(
        self, wrote: str, call: Callable[[], Awaitable[T]], told: Callable[[T], tuple[bool, str | None]]
    ) -> T:
        """Make a call and remember it; `told` says from its answer whether it won, and which value it was shown.

        A call that raises has no end.
        """
        begin = time.monotonic()
        try:
            answer = await call()
        except BaseException:
            self.calls.append(Call(begin=begin, wrote=wrote))
            raise
        won, saw = told(answer)
        self.calls.append(Call(begin=begin, end=time.monotonic(), wrote=wrote, won=won, saw=saw))
        return answer


def first_impossible(calls: list[Call], *, deadline: float = math.inf, give: float = 0.0) -> str | None:
    """Say which rule a history breaks first, or None. `give`: how well the deadline is known, in seconds."""
    winners = [call for call in calls if call.won]
    if len(winners) > 1:
        return f"(a) {len(winners)} calls were told that they decided"
    seen = [call for call in calls if call.saw not in {None, PENDING}]
    values = {call.saw for call in seen} | {call.wrote for call in winners}
    if len(values) > 1:
        return f"(b) several values were seen: {sorted(map(str, values))}"
    if not values:
        return None
    [value] = values
    candidates = winners or [call for call in calls if call.end == math.inf and call.wrote == value]
    if not candidates:
        return f"(a) {value} was seen, but no call can have decided it"
    # Of several calls that never came back, the one that gives the others the most room.
    winner = min(candidates, key=lambda call: call.begin)
    return _against(calls, seen, winner) or _in_time(winner, deadline, give)


def _against(calls: list[Call], seen: list[Call], winner: Call) -> str | None:
    too_early = [call for call in seen if call.end < winner.begin]
    if too_early:
        return (
            f"({'b' if too_early[0].wrote else 'd'}) {too_early[0].saw} was seen before the call that decided it began"
        )
    known_since = min([winner.end, *(call.end for call in seen)])
    stale = [call for call in calls if call.saw == PENDING and call.begin > known_since]
    if stale:
        return (
            f"({'c' if stale[0].begin > winner.end else 'e'}) pending was read after somebody had seen {winner.wrote}"
        )
    return None


def _in_time(winner: Call, deadline: float, give: float) -> str | None:
    if winner.wrote == EXPIRED and winner.end < deadline - give:
        return "(f) it expired before its deadline"
    if winner.wrote != EXPIRED and winner.begin >= deadline + give:
        return f"(f) {winner.wrote} was decided after the deadline"
    return None
