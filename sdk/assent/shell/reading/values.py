"""Variables with several values, and arrays: how one command becomes several, and a text its elements."""

from __future__ import annotations

import itertools
import math

from assent.shell.words.lexing import Lexer
from assent.shell.words.scope import UNKNOWN

_MOST_CHOICES = 64


def choices(forks: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Every choice of values but the first; where they are too many, each value beside unknown ones."""
    if math.prod(map(len, forks.values())) <= _MOST_CHOICES:
        return [dict(zip(forks, choice, strict=True)) for choice in itertools.product(*forks.values())][1:]
    unknown = dict.fromkeys(forks, UNKNOWN)
    return [unknown, *(unknown | {name: text} for name, texts in forks.items() for text in texts)]


def elements_in(inner: str) -> list[str]:
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
