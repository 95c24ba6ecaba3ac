"""Work on large values is done on a thread: the event loop, and with it everybody else's calls, goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from assent.hooks.engine.bounded import in_lane

R = TypeVar("R")

LARGE = 32_768
"""Characters; what is no text counts as 16 of them. Below that, a thread costs more than the work."""
_EACH = 16


async def off_loop(work: Callable[[Any], R], value: Any) -> R:
    """Return `work(value)`, which runs in the lane of the heavy ones if the value is large. Raises what it raises."""
    return await in_lane(work, value) if is_large(value) else work(value)


def is_large(value: Any, large: int = LARGE) -> bool:
    """Say whether a value, with all that is in it, is large; what comes beyond that is not looked at."""
    room, waiting = large, [value]
    while waiting:
        each: Any = waiting.pop()
        match each:
            case str() | bytes():
                room -= _EACH + len(each)
            case Mapping() | list() | tuple():
                members = cast("Mapping[Any, Any] | Sequence[Any]", each)
                room -= _EACH
                if _EACH * len(members) > room:
                    return True
                waiting.extend(members)
                if isinstance(members, Mapping):
                    waiting.extend(members.values())
            case _:
                room -= _EACH
        if room < 0:
            return True
    return False
