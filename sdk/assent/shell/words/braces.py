"""Brace expansion: `{rm,-rf,/}` is three words, `a{1..3}` three, `{}` one."""

from __future__ import annotations

import itertools
from typing import TypeAlias

from assent.shell.words.scope import StopReading

Marked: TypeAlias = tuple[str, str]
"""A text and, for each character, where it comes from (`assent.shell.words.words`)."""

_MOST = 128
_LITERAL = "u"


def expand_braces(marked: Marked) -> list[Marked]:
    """Return the texts that the braces make, in order. Raises StopReading when they are very many."""
    done: list[Marked] = []
    waiting = [marked]
    while waiting:
        if len(done) + len(waiting) > _MOST:
            raise StopReading("a brace expansion makes too many words")
        text, marks = waiting.pop()
        found = _group(text, marks) if "{" in text else None
        if found is None:
            done.append((text, marks))
            continue
        start, end, parts = found
        made = [(text[:start] + part + text[end:], marks[:start] + mark + marks[end:]) for part, mark in parts]
        waiting.extend(reversed(made))
    return done


def _group(text: str, marks: str) -> tuple[int, int, list[Marked]] | None:
    start = -1
    while (start := text.find("{", start + 1)) >= 0:
        if marks[start] == _LITERAL and (found := _parts(text, marks, start)):
            return start, found[0], found[1]
    return None


def _parts(text: str, marks: str, start: int) -> tuple[int, list[Marked]] | None:
    depth, cuts = 0, [start]
    for at in range(start + 1, len(text)):
        char = text[at] if marks[at] == _LITERAL else ""
        if char == "{":
            depth += 1
        elif char == "}" and depth:
            depth -= 1
        elif char == "}":
            cuts.append(at)
            break
        elif char == "," and depth == 0:
            cuts.append(at)
    else:
        return None
    end = cuts[-1] + 1
    if len(cuts) > 2:
        return end, [(text[a + 1 : b], marks[a + 1 : b]) for a, b in itertools.pairwise(cuts)]
    steps = _sequence(text[start + 1 : end - 1])
    return (end, [(step, _LITERAL * len(step)) for step in steps]) if steps else None


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
        return [chr(number) for number in range(low, high + step, step)]
    return []
