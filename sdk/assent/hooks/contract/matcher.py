"""Which tools or agents a hook is for, checked when it is registered: a matcher that can never match is a hole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from assent.hooks.contract.hook import Names

_GLOB = re.compile(r"[*?\[]")
_Test: TypeAlias = Callable[[str], bool]
_MOST_SHOWN = 20


class NeverMatchesError(ValueError):
    """The matcher stands for none of the known names."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """The names that a hook is for. `parts` are as they were given, for people."""

    parts: tuple[str | re.Pattern[str], ...]
    _tests: tuple[_Test, ...]

    def matches(self, *names: str) -> bool:
        """Say whether it stands for any of `names` (a tool's canonical name, and the runtime's own)."""
        return any(test(name) for name in names for test in self._tests)

    def __str__(self) -> str:
        """Show it as it was written; a regular expression between slashes."""
        return ", ".join(part if isinstance(part, str) else f"/{part.pattern}/" for part in self.parts)


def matcher(
    names: Names | None, *, known: Iterable[str] | None, fold: Callable[[str], str], what: str
) -> Matcher | None:
    """Compile `names`; None (every name) for None. `known` None: nobody knows all names, nothing can be checked.

    `fold` turns a name into its canonical form. Raises NeverMatchesError for a part that stands for no known name,
    with the valid names and the nearest one; ValueError for an empty list.
    """
    if names is None:
        return None
    parts = (names,) if isinstance(names, str | re.Pattern) else tuple(names)
    if not parts:
        raise ValueError(f"an empty list of {what} matches nothing; leave it out to mean all of them")
    universe = None if known is None else {each for name in known for each in (name, fold(name))}
    tests: list[_Test] = []
    for part in parts:
        test = _test(part, fold)
        if universe is not None and not any(map(test, universe)):
            raise NeverMatchesError(_never(part, sorted(universe), what))
        tests.append(test)
    return Matcher(parts, tuple(tests))


def _test(part: str | re.Pattern[str], fold: Callable[[str], str]) -> _Test:
    if isinstance(part, re.Pattern):
        return lambda name: part.fullmatch(name) is not None
    if part == "*":
        return lambda _: True
    if _GLOB.search(part):
        # A glob's case counts on every system, which `fnmatch.fnmatch` would not give.
        glob = re.compile(_translate(part))
        return lambda name: glob.fullmatch(name) is not None
    wanted = {part, fold(part)}
    return lambda name: name in wanted


def _translate(glob: str) -> str:
    from fnmatch import translate

    return translate(glob)


def _never(part: str | re.Pattern[str], universe: Sequence[str], what: str) -> str:
    shown = part if isinstance(part, str) else part.pattern
    nearest = get_close_matches(shown, universe, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    more = f", and {len(universe) - _MOST_SHOWN} more" if len(universe) > _MOST_SHOWN else ""
    valid = ", ".join(universe[:_MOST_SHOWN]) or "none"
    return f"{shown!r} can never match: {hint}the known {what} are {valid}{more}"
