"""Assignments, and variables with several values: one command becomes several then."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from assent.shell.words.lexing import Lexer
from assent.shell.words.scope import LONGEST, UNKNOWN, StopReading, Value, text_of

if TYPE_CHECKING:
    from assent.shell.words.scope import Scope
    from assent.shell.words.words import WordReader

ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=")
_INDEX = re.compile(r"\A\[[\w\s]{1,80}\]=")
_MOST_CHOICES = 64


def choices(forks: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Every choice of values but the first; where they are too many, each value beside unknown ones."""
    if math.prod(map(len, forks.values())) <= _MOST_CHOICES:
        return [dict(zip(forks, choice, strict=True)) for choice in itertools.product(*forks.values())][1:]
    unknown = dict.fromkeys(forks, UNKNOWN)
    return [unknown, *(unknown | {name: text} for name, texts in forks.items() for text in texts)]


def assigned(raw: str, reader: WordReader, scope: Scope) -> tuple[str, Value]:
    """Return the variable that the raw word sets, and its value. Raises StopReading when that is too long."""
    found = ASSIGNED.match(raw)
    name = found[1] if found else raw
    rest = raw[found.end() :] if found else ""
    if found and found[2] and ("$(" in found[2] or "`" in found[2]):
        reader.text(found[2])  # what a subscript is worked out with runs
    if rest.startswith("("):
        parts = (_INDEX.sub("", part) for part in _elements_in(rest[1:-1]))
        elements = tuple(text_of(word) for part in parts for word in reader.fields(part))
        old = scope.variables.get(name)
        if found and found[3] and old and old.elements:
            elements = (*old.elements, *elements)
        return name, Value(texts=(elements[0] if elements else "",), elements=elements)
    before = len(reader.sources)
    text = reader.text(rest)
    if found and found[3]:
        text = (scope.variables[name].texts[0] if name in scope.variables else "") + text
    if len(text) > LONGEST:
        raise StopReading("a variable's value is too long")
    if found and found[2] and name in {"BASH_ALIASES", "BASH_CMDS"}:
        scope.aliases[found[2].strip("[]'\"")] = text
    return name, Value(texts=(text,), sources=tuple(reader.sources[before:]))


def _elements_in(inner: str) -> list[str]:
    """Return the raw words between the parentheses of an array."""
    lexer, at, parts = Lexer(inner), 0, list[str]()
    while at < len(inner):
        if inner[at].isspace():
            at += 1
            continue
        end = max(lexer.word_end(at), at + 1)
        parts.append(inner[at:end])
        at = end
    return parts
