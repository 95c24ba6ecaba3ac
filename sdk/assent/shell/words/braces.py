"""Brace expansion: `{rm,-rf,/}` is three words, `a{1..3}` three, `{}` one."""

from __future__ import annotations

import itertools
from typing import TypeAlias

from assent.shell.words.scope import StopReading

Marked: TypeAlias = tuple[str, str]
"""A text and, for each character, where it comes from (`assent.shell.words.words`)."""

_MOST = 128
_LONGEST = 8192  # characters of a word: each of its expansions is walked through once more
_LITERAL = "u"


def expand_braces(marked: Marked) -> list[Marked]:
    """Return the texts that the braces make, in order. Raises StopReading when they are very many."""
    done: list[Marked] = []
    waiting = [marked]
    while waiting:
        if len(done) + len(waiting) > _MOST:
            raise StopReading("a brace expansion makes too many words")
        text, marks = waiting.pop()
        if "{" in text and len(text) > _LONGEST and _LITERAL in marks:
            raise StopReading("a word with braces is too long")
        found = _group(text, marks) if "{" in text else None
        if found is None:
            done.append((text, marks))
            continue
        start, end, parts = found
        made = [(text[:start] + part + text[end:], marks[:start] + mark + marks[end:]) for part, mark in parts]
        waiting.extend(reversed(made))
    return done


def _group(text: str, marks: str) -> tuple[int, int, list[Marked]] | None:
    """Return the first group that makes words: where it begins and ends, and its parts. One walk, however they nest."""
    first: tuple[int, int, list[Marked]] | None = None
    open_groups: list[list[int]] = []  # of each, where it begins and its commas
    for at, char in enumerate(text):
        if char not in "{}," or marks[at] != _LITERAL:
            continue
        if char == "{":
            open_groups.append([at])
        elif char == "," and open_groups:
            open_groups[-1].append(at)
        elif char == "}" and open_groups:
            cuts = [*open_groups.pop(), at]
            inside = first is not None and cuts[0] > first[0]
            if not inside and (parts := _parts(text, marks, cuts)):
                first = cuts[0], at + 1, parts
    return first


def _parts(text: str, marks: str, cuts: list[int]) -> list[Marked]:
    if len(cuts) > _MOST:
        raise StopReading("a brace expansion makes too many words")
    if len(cuts) > 2:
        return [(text[a + 1 : b], marks[a + 1 : b]) for a, b in itertools.pairwise(cuts)]
    return [(step, _LITERAL * len(step)) for step in _sequence(text[cuts[0] + 1 : cuts[1]])]


def _sequence(inner: str) -> list[str]:
    first, dots, rest = inner.partition("..")
    last = rest.partition("..")[0]
    if not dots or not first or not last:
        return []
    if first.lstrip("-").isdecimal() and last.lstrip("-").isdecimal() and len(first) < 10 and len(last) < 10:
        low, high = int(first), int(last)
        step = 1 if high >= low else -1
        return [str(number) for number in range(low, high + step, step)[: _MOST + 1]]
    if len(first) == len(last) == 1:
        low, high = ord(first), ord(last)
        step = 1 if high >= low else -1
        return [chr(number) for number in range(low, high + step, step)[: _MOST + 1]]
    return []
