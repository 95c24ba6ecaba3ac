"""What comparisons with what is written out leave of a value: nothing, everything, or less than others do.

A condition is a tree of `all` and `any` whose leaves are compared; a `!` is carried down to the leaves, where it turns
the operator around. Comparisons that must all be true and leave nothing of a value are never true together; what is
always true has a contrary that never is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from app.domain.money.exact_money import AMOUNT, exact_amount
from app.domain.text.conditions.condition_parts import (
    LITERAL,
    NUMBER,
    Comparison,
    bare,
    comparisons,
    elements_of,
    encloses,
    packed,
    plain_of,
    simple,
    split,
    text_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

CALENDAR: Final = {
    "getMonth": range(12),
    "getDate": range(1, 32),
    "getDayOfMonth": range(31),
    "getDayOfWeek": range(7),
    "getDayOfYear": range(366),
    "getHours": range(24),
    "getMinutes": range(60),
    "getSeconds": range(60),
    "getMilliseconds": range(1000),
}
"""What the functions of an instant can be."""
_OF_CALENDAR: Final = re.compile(r"\.(get\w+)\(\)$")
_MONEY: Final = re.compile(rf"{AMOUNT}\(\s*({LITERAL}|{NUMBER})\s*\)")
_NEGATED: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "!in", "!in": "in"}
_TESTS: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_DEEPEST: Final = 20  # levels of a condition that are looked at: nobody writes more
_MOST: Final = 400  # comparisons that are looked at together


class Leaf(Struct, frozen=True):
    """A part of a condition with neither `||` nor `&&` at its top; `compares` is None where it compares nothing."""

    source: str
    is_negated: bool
    compares: Comparison | None

    def negated(self) -> Leaf:
        """Return its contrary."""
        return Leaf(self.source, not self.is_negated, _contrary(self.compares))


class Group(Struct, frozen=True):
    """Parts that must all be true, or of which one must be."""

    is_all: bool
    parts: tuple[Leaf | Group, ...]


@lru_cache(maxsize=1024)
def tree_of(source: str) -> Leaf | Group:
    """Take a condition apart."""
    return _tree(source, is_negated=False, depth=0)


def _tree(source: str, *, is_negated: bool, depth: int) -> Leaf | Group:
    source = bare(source)
    if depth < _DEEPEST:
        for operator, is_all in (("||", is_negated), ("&&", not is_negated)):
            parts = split(source, operator)
            if len(parts) > 1:
                inner = [_tree(part, is_negated=is_negated, depth=depth + 1) for part in parts]
                return Group(is_all, tuple(flat for part in inner for flat in _flat(part, is_all=is_all)))
        rest = source[1:].lstrip()
        is_plain = "?" not in plain_of(rest) and not comparisons(rest)
        if source.startswith("!") and (is_plain or (rest.startswith("(") and encloses(rest))):
            return _tree(rest, is_negated=not is_negated, depth=depth + 1)
    compares = simple(source) if depth < _DEEPEST else None
    return Leaf(packed(source), is_negated, _contrary(compares) if is_negated else compares)


def _flat(node: Leaf | Group, *, is_all: bool) -> tuple[Leaf | Group, ...]:
    return node.parts if isinstance(node, Group) and node.is_all is is_all else (node,)


def _contrary(compares: Comparison | None) -> Comparison | None:
    return compares and Comparison(compares.left, _NEGATED[compares.operator], compares.right)


def excludes(parts: Iterable[Leaf | Group], known: Mapping[str, frozenset[str]] | None = None) -> bool:
    """Say whether parts that must all be true exclude each other. `known`: the only texts that a value can be."""
    leaves = [part for part in parts if isinstance(part, Leaf)][:_MOST]
    values: dict[str, _Left] = {}
    said: set[tuple[str, bool]] = set()
    for leaf in leaves:
        if leaf.compares is not None:
            left = leaf.compares.left
            values.setdefault(left, _Left.of(left, known or {})).narrow(leaf.compares)
        said.add((leaf.source, leaf.is_negated))
    contrary = any((source, not is_negated) in said for source, is_negated in said)
    return contrary or any(left.is_empty for left in values.values())


@dataclass(slots=True)
class _Range:
    """What several comparisons of one value leave of it."""

    low: Decimal | None = None
    high: Decimal | None = None
    open_low: bool = False
    open_high: bool = False

    def narrow(self, operator: str, number: Decimal) -> None:
        if operator in {">", ">=", "=="} and (self.low is None or number >= self.low):
            self.open_low = operator == ">" or (number == self.low and self.open_low)
            self.low = number
        if operator in {"<", "<=", "=="} and (self.high is None or number <= self.high):
            self.open_high = operator == "<" or (number == self.high and self.open_high)
            self.high = number

    @property
    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))


@dataclass(slots=True)
class _Left:
    """What is left of the value on the left: of its numbers, its texts, and the days or hours that it can be."""

    range: _Range = field(default_factory=_Range)
    not_numbers: set[Decimal] = field(default_factory=set[Decimal])
    texts: frozenset[str] | None = None
    not_texts: set[str] = field(default_factory=set[str])
    counted: set[Decimal] | None = None
    """The numbers that a function of the calendar can be."""
    is_text: bool = False

    @classmethod
    def of(cls, left: str, known: Mapping[str, frozenset[str]]) -> _Left:
        numbers = calendar_of(left)
        return cls(texts=known.get(left), counted=None if numbers is None else set(map(Decimal, numbers)))

    def narrow(self, compares: Comparison) -> None:
        operator, right = compares.operator, compares.right
        number = number_in(right)
        if number is not None and operator in _TESTS:
            if self.counted is not None:
                self.counted = {each for each in self.counted if _TESTS[operator](each, number)}
            if operator == "!=":
                self.not_numbers.add(number)
            else:
                self.range.narrow(operator, number)
        elements = [right] if operator in {"==", "!="} else elements_of(right) if operator in {"in", "!in"} else []
        texts = [text_in(each) for each in elements]
        if not texts or None in texts:
            return
        if operator in {"==", "in"}:
            self.is_text = True
            given = frozenset(text for text in texts if text is not None)
            self.texts = given if self.texts is None else self.texts & given
        else:
            self.not_texts |= {text for text in texts if text is not None}

    @property
    def is_empty(self) -> bool:
        if self.range.is_empty or (self.counted is not None and not self.counted):
            return True
        only = self.range.low if self.range.low == self.range.high else None
        if only is not None and only in self.not_numbers:
            return True
        if self.is_text and (self.range.low is not None or self.range.high is not None):
            return True  # no text is a number
        return self.texts is not None and self.texts <= self.not_texts


def calendar_of(operand: str) -> range | None:
    """Return what a function of the calendar can be; None for anything else."""
    found = _OF_CALENDAR.search(operand)
    return CALENDAR.get(found[1]) if found else None


def number_in(text: str) -> Decimal | None:
    """Return the number, or the amount, that is written out."""
    if re.fullmatch(NUMBER, text):
        return Decimal(text)
    money = _MONEY.fullmatch(text)
    return exact_amount(int(money[1]) if money[1].lstrip("-").isdigit() else money[1].strip("\"'")) if money else None
