"""Compares a path's form with the lists, component by component, and applies the exceptions last."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from assent.guards.paths.lists import EXCEPTIONS, PROTECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assent.guards.paths.forms import Form

DEEP = "**"
_WILD = re.compile(r"[*?\[]")
_ENDING = re.compile(r"\*(\.\w+)")
_COPY = re.compile(r"(?:~|-|\.(?:bak|backup|old|orig|save|saved|swp|swo|rpmsave|rpmnew|dpkg-\w+|copy|\d+))+$")
_LONGEST_NAME = 255  # characters: no system opens a file by a longer one
_CHOSEN = "protected by this guard's settings"


@dataclass(frozen=True, slots=True)
class Wild:
    """A component of a pattern that has wildcards."""

    text: str
    expression: re.Pattern[str] = field(compare=False)

    def matches(self, name: str) -> bool:
        """Say whether it matches a whole component."""
        return self.expression.match(name) is not None


Part: TypeAlias = str | Wild
"""A literal component, one with wildcards, or `DEEP`."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """One pattern, compiled."""

    text: str
    kind: str
    parts: tuple[Part, ...]
    rooted: bool
    chosen: bool
    """Whether the guard's owner wrote it, rather than these lists."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A pattern that a path matches, from the component `start` on; `excused_at` is where an exception begins."""

    pattern: Pattern
    start: int
    excused_at: int | None


class Index:
    """Patterns by what their first component is, so that a path meets only the few that it may match."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        self._rooted: dict[str, list[Pattern]] = {}
        self._named: dict[str, list[Pattern]] = {}
        self._endings: dict[str, list[Pattern]] = {}
        self._wild: list[tuple[Wild, Pattern]] = []
        for pattern in self.patterns:
            self._place(pattern)
        self._wild_for = lru_cache(maxsize=4096)(self._find_wild)

    def _place(self, pattern: Pattern) -> None:
        first = pattern.parts[0]
        ending = _ENDING.fullmatch(pattern.text)
        if pattern.rooted:
            self._rooted.setdefault(first if isinstance(first, str) and first != DEEP else "", []).append(pattern)
        elif ending:
            self._endings.setdefault(ending[1], []).append(pattern)
        elif isinstance(first, str):
            self._named.setdefault(first, []).append(pattern)
        else:
            self._wild.append((first, pattern))

    def _find_wild(self, name: str) -> tuple[Pattern, ...]:
        return tuple(pattern for first, pattern in self._wild if first.matches(name))

    def matches(self, form: Form) -> Iterator[tuple[Pattern, int]]:
        """Yield each pattern that the path matches to its end, and the component at which it begins to."""
        names = tuple(map(cut_name, form.components))
        if not names:
            return
        if form.rooted:
            for pattern in (*self._rooted.get(names[0], ()), *self._rooted.get("", ())):
                if reaches(pattern.parts, names, 0):
                    yield pattern, 0
        if form.doubtful:
            return
        for at, name in enumerate(names):
            for pattern in (*self._named.get(name, ()), *self._wild_for(name)):
                if reaches(pattern.parts, names, at):
                    yield pattern, at
        last = names[-1]
        for pattern in self._endings.get(last[last.rfind(".") :], ()) if "." in last else ():
            yield pattern, len(names) - 1


class Lists:
    """The protected patterns and the exceptions of one guard."""

    def __init__(self, protected: Iterable[Pattern], exceptions: Iterable[Pattern]) -> None:
        self.protected = Index(protected)
        self._exceptions = Index(exceptions)

    def hits(self, form: Form) -> list[Hit]:
        """Return what the path is protected as, whether or not an exception forgives it."""
        found = list(self.protected.matches(form))
        if form.components and (original := _COPY.sub("", form.components[-1])) not in {"", form.components[-1]}:
            found += self.protected.matches(_renamed(form, original))
        if not found:
            return []
        exceptions = list(self._exceptions.matches(form))
        return [Hit(pattern, at, self.excuse(form, pattern, at, exceptions)) for pattern, at in found]

    def excuse(
        self, form: Form, pattern: Pattern, start: int, exceptions: Sequence[tuple[Pattern, int]] | None = None
    ) -> int | None:
        """Return where the exception begins that forgives this match; None: nothing forgives it.

        An exception must begin before the match or with it, and outside the folders that belong to the system or make
        up a home's own path, unless it is written from the root. What the owner chose, only the owner forgives.
        """
        ground = ground_of(form)
        for exception, at in self._exceptions.matches(form) if exceptions is None else exceptions:
            if at <= start and (exception.rooted or at >= ground) and (exception.chosen or not pattern.chosen):
                return at
        return None


@cache
def lists_of(protect: tuple[str, ...] = (), allow: tuple[str, ...] = ()) -> Lists:
    """Compile the lists with the owner's additions. Raises ValueError for a pattern that stands for everything."""
    protected = [_pattern(text, kind) for kind, texts in PROTECTED.items() for text in texts]
    exceptions = [_pattern(text, "") for text in EXCEPTIONS]
    return Lists(
        [*(_pattern(text, _CHOSEN, chosen=True) for text in protect), *protected],
        [*(_pattern(text, "", chosen=True) for text in allow), *exceptions],
    )


def cut_name(name: str) -> str:
    """Return a component with what is too much for any file's name taken out of its middle."""
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else name[:half] + name[-half:]


def reaches(parts: Sequence[Part], names: Sequence[str], at: int) -> bool:
    """Say whether the parts match the components from `at` to the end."""
    for index, part in enumerate(parts):
        if part is DEEP:
            rest = parts[index + 1 :]
            return not rest or any(reaches(rest, names, start) for start in range(at, len(names)))
        if at >= len(names):
            return False
        if names[at] != part if isinstance(part, str) else not part.matches(names[at]):
            return False
        at += 1
    return at == len(names)


def ground_of(form: Form) -> int:
    """How many components no folder's exception may use: a user called `test` has secrets as others do."""
    if not form.rooted:
        return 0
    match form.components:
        case ["home" | "users" | "user" | "documents and settings", _, *_]:
            return 2
        case ["mnt" | "cygdrive", _, "users", _, *_] | ["usr" | "export" | "var", "home" | "lib", _, _, *_]:
            return 4 if form.components[0] in {"mnt", "cygdrive"} else 3
        case ["c" | "d", "users", _, *_]:
            return 3
        case ["root", *_]:
            return 1
        case ["etc" | "boot" | "proc" | "sys" | "dev" | "run" | "windows" | "programdata", *_]:
            return len(form.components)
        case _:
            return 0


def is_whole(form: Form) -> bool:
    """Say whether the path is the root, all homes or a whole home, or the system's settings."""
    if not form.rooted or form.doubtful:
        return False
    match form.components:
        case [] | ["home" | "users" | "root" | "etc"] | ["home" | "users", _] | ["c" | "d"] | ["c" | "d", "users", *_]:
            return len(form.components) <= 3
        case _:
            return False


def _renamed(form: Form, name: str) -> Form:
    return replace(form, components=(*form.components[:-1], name))


def _pattern(text: str, kind: str, *, chosen: bool = False) -> Pattern:
    plain = text.strip().replace("\\", "/").casefold()
    rooted, folder = plain.startswith("/"), plain.endswith("/")
    names = [name for name in plain.removeprefix("~").split("/") if name not in {"", "."}]
    while names and names[0] == DEEP:
        names, rooted = names[1:], False
    if not re.search(r"\w", "".join(names)) or ".." in names:
        raise ValueError(f"{text!r} is no pattern of paths: write a file (`.env`), a folder (`secrets/`) or an ending")
    parts: list[Part] = [DEEP if name == DEEP else _part(name) for name in names]
    return Pattern(plain, kind, (*parts, *((DEEP,) if folder else ())), rooted, chosen)


def _part(name: str) -> Part:
    return Wild(name, re.compile(translate(name))) if _WILD.search(name) else name
