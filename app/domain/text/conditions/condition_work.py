"""How much work a condition is for one call, known before it is evaluated: nothing stops the expression library.

A macro (`all`, `exists`, `map`, …) goes through a list of the agent's, and one within another multiplies. Each time its
body names a variable from outside, the library copies that whole: `args.a.all(x, x in args.a)` takes quadratic time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from msgspec import Struct

MOST = 200_000
"""Units of one call, for all of its conditions: a unit takes from 0.1 to 0.8 µs, 0.1 s in all."""
_CHARACTERS = 256  # of a text that take as long to copy as a value
_OF_A_PATTERN = 300  # units: it is compiled each time
_MACRO = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(")
_MATCHES = re.compile(r"\bmatches\s*\(")
_FROM_OUTSIDE = re.compile(r"(?<![\w.])(?:args|tool|agent|user|session)\b")


class Size(Struct, frozen=True):
    """How large a call's arguments are: the members of the longest list or object, and all values and texts."""

    longest: int
    whole: int


class Body(Struct, frozen=True):
    """What is evaluated once for each element: what it names from outside, its patterns, and the macros in it."""

    outside: int
    patterns: int
    macros: tuple[Body, ...]

    def units(self, size: Size) -> int:
        """Return the units of one evaluation."""
        inner = sum(size.longest * (1 + macro.units(size)) for macro in self.macros)
        return inner + self.outside * size.whole + self.patterns * _OF_A_PATTERN


def body_of(plain: str) -> Body:
    """Read an expression whose texts and comments were taken out."""
    rest, macros, at = "", list[Body](), 0
    while found := _MACRO.search(plain, at):
        end = _closing(plain, found.end())
        rest += plain[at : found.start()]
        macros.append(body_of(plain[found.end() : end].partition(",")[2]))
        at = end
    rest += plain[at:]
    return Body(len(_FROM_OUTSIDE.findall(rest)), len(_MATCHES.findall(rest)), tuple(macros))


def foreign_pattern(plain: str) -> bool:
    """Say whether a `matches` takes its pattern from elsewhere than the file. Texts stand as `""` in `plain`."""
    inside = (plain[found.end() : _closing(plain, found.end())] for found in _MATCHES.finditer(plain))
    return any(not text.rstrip().endswith('""') for text in inside)


def size_of(arguments: object) -> Size:
    """Measure a call's arguments."""
    longest = whole = 0
    pending = [arguments]
    while pending:
        part = pending.pop()
        whole += 1
        if isinstance(part, Mapping):
            members = list(cast("Mapping[str, object]", part).values())
        elif isinstance(part, list):
            members = cast("list[object]", part)
        else:
            whole += len(part) // _CHARACTERS if isinstance(part, str) else 0
            continue
        longest = max(longest, len(members))
        pending.extend(members)
    return Size(longest, whole)


def _closing(plain: str, at: int) -> int:
    depth = 1
    for place in range(at, len(plain)):
        depth += (plain[place] == "(") - (plain[place] == ")")
        if depth == 0:
            return place
    return len(plain)
