"""What an executor's options take: each is refused at once, by its name, where it would spend approvals for nothing."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def seconds(name: str, given: Any, *, endless: bool = False) -> float:
    """Return a span. Raises `TypeError` for what is no number, `ValueError` for nothing, less than that, and no number.

    `endless`: `float("inf")` may be given as well.
    """
    takes = f"{name} takes a number of seconds, more than 0"
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"{takes}, and not {_told(given)}")
    if math.isnan(given) or given <= 0 or (math.isinf(given) and not endless):
        raise ValueError(f"{takes}{'' if endless else ' and not without end'}; {_told(given)} is none")
    return given


def count(name: str, given: Any) -> int:
    """Return how many. Raises `TypeError` for what is no whole number, `ValueError` for one below 1."""
    takes = f"{name} takes a whole number, 1 or more"
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{takes}, and not {_told(given)}")
    if given < 1:
        raise ValueError(f"{takes}; with {_told(given)} nothing would ever run")
    return given


def text(name: str, given: Any) -> str:
    """Return a text. Raises `TypeError` for anything else, `ValueError` for an empty one."""
    if not isinstance(given, str):
        raise TypeError(f"{name} takes a text, and not {_told(given)}")
    if not given:
        raise ValueError(f"{name} takes a text that is not empty")
    return given


def path(name: str, given: Any) -> Path | None:
    """Return a path, or None. Raises `TypeError` for anything else."""
    if given is not None and not isinstance(given, str | Path):
        raise TypeError(f"{name} takes a path or None, and not {_told(given)}")
    return None if given is None else Path(given)


def function(name: str, given: Any) -> Callable[..., Any]:
    """Return a function. Raises `TypeError` for what cannot be called."""
    if not callable(given):
        raise TypeError(f"{name} takes a function, and not {_told(given)}")
    return given


def lookup(name: str, given: Any) -> Callable[[str], Any] | None:
    """Return a function of one value, or None. Raises `TypeError` for anything else."""
    if given is None:
        return None
    try:
        inspect.signature(function(name, given)).bind("key")
    except ValueError:  # a built-in one, which does not tell what it takes
        return given
    except TypeError as error:
        raise TypeError(f"{name} takes None, or a function that is handed one value: {error}") from error
    return given


def _told(given: Any) -> str:
    return f"{given!r:.60} ({type(given).__name__})"
