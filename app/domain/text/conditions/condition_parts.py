"""A condition taken apart by its text: its `||` and `&&`, its comparisons, and what stands on either side of them.

Nothing in a text or a comment counts. Each function goes through the condition once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

LITERAL: Final = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
NUMBER: Final = r"-?\d+(?:\.\d+)?"
SILENT: Final = re.compile(r"""[rR]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|//[^\n]*""")
"""Texts and comments: what stands there is no name."""
FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""What an operator is when its sides change places."""
_TOKEN: Final = re.compile(r"&&|\|\||==|!=|<=|>=|<|>|\bin\b|[?:,()\[\]{}]")
_COMPARES: Final = frozenset({*FLIPPED, "in"})
_BOUND: Final = re.compile(
    r"((?:args|[A-Za-z_]\w*)(?:\.\w+|\[[^\[\]]*\])*)\.(?:all|exists|exists_one|map|filter)\(([A-Za-z_]\w*),"
)
_SPACES: Final = re.compile(r"\s+")
_KEY: Final = re.compile(r"""(?<![\s"')\]]in)(?<=[\w\])])\[(?:"([^\W\d]\w*)"|'([^\W\d]\w*)')\]""")
_INDEX: Final = re.compile(r"\[\d+\]")
_PLAIN_TEXT: Final = re.compile(r"""(?:"([^"\\]*)"|'([^'\\]*)')""")


class Comparison(Struct, frozen=True):
    """A comparison anywhere in a condition: what stands on its left, its operator (or `in`), and its right."""

    left: str
    operator: str
    right: str


def plain_of(source: str) -> str:
    """Return a condition of the same length in which texts are but quotation marks, and comments spaces."""
    return SILENT.sub(lambda text: (" " if text[0].startswith("/") else '"') * len(text[0]), source)


def split(source: str, operator: str) -> list[str]:
    """Cut at the outermost operators of a kind; a conditional (`a ? b : c`) is one piece."""
    parts, start, depth = [""], 0, 0
    plain = plain_of(source)
    for at, letter in enumerate(plain):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and letter == "?":
            return [source]
        if depth == 0 and plain.startswith(operator, at):
            parts[-1] = source[start:at]
            start = at + len(operator)
            parts.append("")
    parts[-1] = source[start:]
    return parts


def bare(source: str) -> str:
    """Take comments off, and parentheses around the whole."""
    source = SILENT.sub(lambda text: " " if text[0].startswith("//") else text[0], source).strip()
    closings = _closings(plain_of(source))
    first, last = 0, len(source) - 1
    while source[first : first + 1] == "(" and closings.get(first) == last:
        first, last = first + 1, last - 1
        while first < last and source[first].isspace():
            first += 1
        while last > first and source[last].isspace():
            last -= 1
    return source[first : last + 1]


def packed(source: str) -> str:
    """Return a part of a condition without the spaces outside of its texts; `a["b"]` is written as `a.b`."""
    plain = plain_of(source)
    tight, at = "", 0
    for space in _SPACES.finditer(plain):
        tight += source[at : space.start()] + (" " if _joins(plain, space) else "")
        at = space.end()
    return _KEY.sub(lambda key: f".{key[1] or key[2]}", tight + source[at:])


def _joins(plain: str, space: re.Match[str]) -> bool:
    """Say whether two words would become one without the space."""
    before, behind = plain[max(space.start() - 1, 0) : space.start()], plain[space.end() : space.end() + 1]
    return (before.isalnum() or before == "_") and (behind.isalnum() or behind == "_")


@lru_cache(maxsize=4096)
def text_in(source: str) -> str | None:
    """Return the text that a part of a condition is; None where it is none, or has a backslash."""
    found = _PLAIN_TEXT.fullmatch(source.strip())
    return None if found is None else found[1] if found[1] is not None else found[2]


def elements_of(source: str) -> list[str]:
    """Return the elements of a list that is written out; none where it is no such list."""
    source = bare(source)
    if not (source.startswith("[") and encloses(source)):
        return []
    return [part.strip() for part in split(source[1:-1], ",") if part.strip()]


def simple(source: str) -> Comparison | None:
    """Return the comparison that a whole part of a condition is, with what is written out on its right."""
    found = comparisons(bare(source))
    if not found:
        return None
    last = found[-1]  # those within its sides are found first
    whole = packed(bare(source))
    if whole != f"{packed(last.left)}{last.operator}{packed(last.right)}" and last.operator != "in":
        return None
    if last.operator == "in" and whole != packed(f"{last.left} in {last.right}"):
        return None
    left, right = bare(last.left), bare(last.right)
    if last.operator in FLIPPED and _is_written_out(left) and not _is_written_out(right):
        return Comparison(packed(right), FLIPPED[last.operator], left)
    return Comparison(packed(left), last.operator, right)


def _is_written_out(side: str) -> bool:
    return re.fullmatch(rf"{LITERAL}|{NUMBER}|amount\(\s*(?:{LITERAL}|{NUMBER})\s*\)|true|false|null", side) is not None


@lru_cache(maxsize=1024)
def comparisons(source: str) -> Sequence[Comparison]:
    """Return every comparison of a condition, however deep it stands; those inside of others come first."""
    plain = plain_of(source)
    found: list[Comparison] = []
    frames: list[tuple[int, tuple[str, str] | None]] = []
    start, pending = 0, None

    def close(end: int) -> None:
        if pending is not None:
            found.append(Comparison(pending[0], pending[1], source[start:end].strip()))

    for token in _TOKEN.finditer(plain):
        sign = token[0]
        if sign in "([{":
            frames.append((start, pending))
            start, pending = token.end(), None
        elif sign in ")]}":
            close(token.start())
            start, pending = frames.pop() if frames else (token.end(), None)
        elif sign in _COMPARES:
            close(token.start())
            pending = (source[start : token.start()].strip(), sign)
            start = token.end()
        else:
            close(token.start())
            start, pending = token.end(), None
    close(len(source))
    return tuple(found)


def paths_bound(source: str) -> dict[str, str]:
    """Return what each element's name of a macro stands for: `i` of `args.items.all(i, …)` is `args.items[]`."""
    bound: dict[str, str] = {}
    for found in _BOUND.finditer(packed(source)):
        path = f"{path_in(found[1], bound)}[]"
        bound[found[2]] = path if bound.get(found[2], path) == path else "?"  # one name for two things
    return bound


def path_in(operand: str, bound: dict[str, str]) -> str:
    """Return an operand with `[]` for its indices, and the path in place of an element's name."""
    operand = _INDEX.sub("[]", packed(operand))
    return re.sub(r"(?<![\w.\"'])[A-Za-z_]\w*", lambda word: bound.get(word[0], word[0]), operand)


def encloses(source: str) -> bool:
    """Say whether the bracket that a part of a condition begins with is closed at its very end."""
    return _closings(plain_of(source)).get(0) == len(source) - 1


def _closings(plain: str) -> dict[int, int]:
    """Return where each bracket is closed."""
    closings: dict[int, int] = {}
    opened: list[int] = []
    for at, letter in enumerate(plain):
        if letter in "([{":
            opened.append(at)
        elif letter in ")]}" and opened:
            closings[opened.pop()] = at
    return closings
