"""Whether a word of a shell command that is not wholly known (a glob, an unset variable) may mean a protected path.

A glob and a pattern meet when some path matches both. Every `*` meets nearly everything, so a meeting counts only as
far as the word *tells*: letters of it must pin down a component that the pattern names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import IntEnum
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from assent.guards.paths.forms import UNKNOWN, Form
from assent.guards.paths.lists import GENERIC
from assent.guards.paths.match import DEEP, Wild, cut_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.paths.match import Lists, Part, Pattern

_CLASS = re.compile(r"\[\[:\w+:\]\]")
_WILD = re.compile(r"\[[!^]?\]?[^\]]*\]|[*?\0]")
_ONE = re.compile(r"\[([^\]!^*?\[])\]")
_ANY_OF_A_KIND = re.compile(r"\*+\.\w+")
"""`*.json` tells nothing of a file's name."""
_MOST_SPLITS = 3
_LONGEST = 64  # components
LONGEST_NAME = 255
"""Characters of one component with wildcards: no file's name is longer, and reading a glob takes quadratic time."""


class Telling(IntEnum):
    """How far a word pins down what it meets."""

    APART = -1
    NOTHING = 0
    HINT = 1
    NAME = 2


@dataclass(frozen=True, slots=True)
class Meeting:
    """A pattern that the word may match, from the component `start` on."""

    pattern: Pattern
    start: int
    telling: Telling
    form: Form


def plain_glob(text: str) -> str:
    """Return the word with `[x]`, which is `x`, written as such."""
    return _ONE.sub(r"\1", text)


def meetings(form: Form, lists: Lists) -> Iterator[Meeting]:
    """Yield the protected patterns that the word may match and tells something of."""
    if any(len(name) > LONGEST_NAME and is_wild(name) for name in form.components):
        yield Meeting(lists.protected.patterns[0], 0, Telling.HINT, form)  # nobody writes it to be understood
        return
    form = replace(form, components=tuple(map(cut_name, form.components)))
    told = dict.fromkeys(pattern for name in dict.fromkeys(form.components) for pattern in _told(name, lists))
    if not told:
        return
    for variant in _variants(form):
        if len(variant.components) > _LONGEST:  # nobody writes such a path to be understood
            yield Meeting(next(iter(told)), 0, Telling.HINT, variant)
            return
        for pattern in told:
            telling = _telling(pattern, variant)
            if telling >= Telling.HINT:
                yield Meeting(pattern, _start(pattern, variant), telling, variant)


def _telling(pattern: Pattern, form: Form) -> Telling:
    names = form.components
    if not pattern.rooted:
        return Telling.APART if form.doubtful else _meet((DEEP, *pattern.parts), names)
    if not form.rooted and names[:1] != (DEEP,):
        return Telling.APART
    for part, name in zip(pattern.parts, names, strict=False):
        if DEEP in {part, name}:
            break
        if _weigh(name, part) is Telling.APART:
            return Telling.APART
    return _meet(pattern.parts, names)


def _start(pattern: Pattern, form: Form) -> int:
    """The last component at which the match may begin: an exception's folder stands before it."""
    if pattern.rooted:
        return 0
    starts = range(len(form.components) - 1, -1, -1)
    return next((at for at in starts if _meet(pattern.parts, form.components[at:]) >= Telling.HINT), 0)


def _meet(parts: tuple[Part, ...], names: tuple[str, ...]) -> Telling:
    """How much the word tells of the parts when both are matched to their ends; APART when they cannot be."""
    below: list[Telling] = []
    for row in range(len(parts), -1, -1):
        line = [Telling.APART] * (len(names) + 1)
        for column in range(len(names), -1, -1):
            part = parts[row] if row < len(parts) else None
            name = names[column] if column < len(names) else None
            if part is None and name is None:
                line[column] = Telling.NOTHING
            elif DEEP in {part, name}:  # it stands for nothing (more), or for what it meets
                line[column] = max(
                    below[column] if part is not None else Telling.APART,
                    line[column + 1] if name is not None else Telling.APART,
                )
            elif part is not None and name is not None and below[column + 1] >= Telling.NOTHING:
                here = _weigh(name, part)
                line[column] = max(here, below[column + 1]) if here >= Telling.NOTHING else Telling.APART
        below = line
    return below[0]


def _variants(form: Form) -> Iterator[Form]:
    """A wholly unknown component may be any number of them; one that is unknown in part may hide a separator."""
    names: list[str] = []
    for each in form.components:
        name = DEEP if set(each) <= {UNKNOWN} else each
        if name != DEEP or names[-1:] != [DEEP]:
            names.append(name)
    yield Form(tuple(names), form.rooted, form.doubtful)
    partly = [name for name in names if UNKNOWN in name][:_MOST_SPLITS]
    for name in partly:
        at = names.index(name)
        head, tail = name.split(UNKNOWN, 1)[0], name.rsplit(UNKNOWN, 1)[1]
        split = [*([head + UNKNOWN] if head else []), DEEP, *([UNKNOWN + tail] if tail else [])]
        yield Form((*names[:at], *split, *names[at + 1 :]), form.rooted, form.doubtful)


@lru_cache(maxsize=4096)
def _told(name: str, lists: Lists) -> tuple[Pattern, ...]:
    """The patterns of which this component of a word tells one part."""
    if set(name) <= {UNKNOWN, "*"}:
        return ()
    return tuple(
        pattern
        for pattern in lists.protected.patterns
        if any(part != DEEP and _weigh(name, part) >= Telling.HINT for part in pattern.parts)
    )


@lru_cache(maxsize=65_536)
def _weigh(name: str, part: Part) -> Telling:
    """How much a component of the word tells of a component of a pattern."""
    if not is_wild(name):
        return _weigh_literal(name, part)
    if not isinstance(part, str):
        return _weigh_wild(name, part)
    hidden = part.startswith(".") and not name.startswith((".", UNKNOWN))
    if hidden or not _expression(name).match(part):
        return Telling.APART
    letters = len(_WILD.sub("", name))
    if part in GENERIC or _ANY_OF_A_KIND.fullmatch(name):
        return Telling.NOTHING
    if letters >= 2 and 2 * letters >= len(part):
        return Telling.NAME
    dotted = name.startswith(".") and part.startswith(".")
    return Telling.HINT if dotted and (letters == 1 or UNKNOWN in name) else Telling.NOTHING


def _weigh_literal(name: str, part: Part) -> Telling:
    if name != part if isinstance(part, str) else not part.matches(name):
        return Telling.APART
    return Telling.NOTHING if name in GENERIC or (isinstance(part, Wild) and part.text == "*") else Telling.NAME


def _weigh_wild(name: str, part: Wild) -> Telling:
    """Two globs meet when their beginnings agree and their ends do, as far as both are written out."""
    (head, tail), (wanted_head, wanted_tail) = _ends(name), _ends(part.text)
    apart = not (head.startswith(wanted_head) or wanted_head.startswith(head)) or not (
        tail.endswith(wanted_tail) or wanted_tail.endswith(tail)
    )
    if apart or (wanted_head.startswith(".") and not head and not name.startswith(UNKNOWN)):
        return Telling.APART
    begun = len(head) >= 2 and 2 * len(head) >= len(wanted_head) and wanted_head.startswith(head)
    if wanted_head and (begun or head.startswith(wanted_head)):
        return Telling.NAME
    if wanted_tail and tail.endswith(wanted_tail) and (not wanted_head or not wanted_tail.startswith(".")):
        return Telling.NAME  # `*.json` tells nothing of `client_secret*.json`
    ending, wanted_ending = name.rpartition(".")[2], part.text.rpartition("*.")[2]
    letters = len(_WILD.sub("", ending))
    fits = "." in name and part.text.startswith("*.") and 2 * letters >= len(wanted_ending)
    if fits and letters and _expression(ending).match(wanted_ending):
        return Telling.NAME
    return Telling.NOTHING if UNKNOWN in name or part.text == "*" else Telling.APART


def is_wild(name: str) -> bool:
    """Say whether a component of a word stands for more than itself."""
    if len(name) > LONGEST_NAME:
        return any(char in name for char in "*?[\0")
    return _WILD.search(name) is not None


@lru_cache(maxsize=4096)
def _expression(name: str) -> re.Pattern[str]:
    return re.compile(translate(_CLASS.sub("?", name).replace(UNKNOWN, "*").replace("[^", "[!")))


@lru_cache(maxsize=4096)
def _ends(glob: str) -> tuple[str, str]:
    """What a glob begins and ends with before its first and behind its last wildcard."""
    pieces = _WILD.split(glob)
    return pieces[0], pieces[-1]
