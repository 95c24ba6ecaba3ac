"""Whether one condition is true of whatever another is true of, as far as that is plain to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from app.domain.rules.meaning.condition_bounds import Group, Leaf, excludes, tree_of
from app.domain.text.conditions.condition_parts import elements_of, text_in

if TYPE_CHECKING:
    from collections.abc import Iterator

Compared: TypeAlias = tuple[str, str]
"""What is compared, and with which text."""

_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_MOST: Final = 400  # comparisons that are looked at together


class Meaning(Struct, frozen=True):
    """A condition taken apart, to be compared with many others."""

    tree: Leaf | Group
    cases: tuple[_Case, ...]
    texts: frozenset[Compared]
    """Every text that something is said to be, anywhere in it."""
    pin: Compared | None
    """A text that something must be wherever the condition is true. What implies the condition has it in `texts`."""

    @classmethod
    def of(cls, source: str) -> Meaning:
        """Take a condition apart."""
        tree = tree_of(source)
        parts = tree.parts if isinstance(tree, Group) and tree.is_all else (tree,)
        pins = (_pin(part) for part in parts if isinstance(part, Leaf))
        return cls(tree, _cases(tree), frozenset(_texts(tree)), next((pin for pin in pins if pin), None))

    def implies(self, other: Meaning) -> bool:
        """Say whether the other condition is true of whatever this one is true of."""
        return all(_is_implied(other.tree, case) for case in self.cases)


class _Case(Struct, frozen=True):
    """One case of a condition that is true: all that is true then."""

    keys: frozenset[object]
    compared: dict[str, list[Leaf]]
    is_never: bool


def _cases(tree: Leaf | Group) -> tuple[_Case, ...]:
    alternatives = tree.parts if isinstance(tree, Group) and not tree.is_all else (tree,)
    cases: list[_Case] = []
    for each in alternatives:
        parts = each.parts if isinstance(each, Group) else (each,)
        compared: dict[str, list[Leaf]] = {}
        for leaf in parts[:_MOST]:
            if isinstance(leaf, Leaf) and leaf.compares is not None:
                compared.setdefault(leaf.compares.left, []).append(leaf)
        cases.append(_Case(frozenset(map(_key, (each, *parts))), compared, excludes(parts)))
    return tuple(cases)


def _texts(node: Leaf | Group) -> Iterator[Compared]:
    if isinstance(node, Group):
        for part in node.parts:
            yield from _texts(part)
    elif (compares := node.compares) is not None and compares.operator in {"==", "in"}:
        for each in [compares.right] if compares.operator == "==" else elements_of(compares.right):
            if (text := text_in(each)) is not None:
                yield compares.left, text


def _pin(leaf: Leaf) -> Compared | None:
    compares = leaf.compares
    text = text_in(compares.right) if compares is not None and compares.operator == "==" else None
    return None if compares is None or text is None else (compares.left, text)


def _is_implied(earlier: Leaf | Group, case: _Case) -> bool:
    if isinstance(earlier, Group):
        parts = (_is_implied(part, case) for part in earlier.parts)
        return (all if earlier.is_all else any)(parts) or _key(earlier) in case.keys
    if _key(earlier) in case.keys:
        return True
    same = case.compared.get(earlier.compares.left) if earlier.compares is not None and not case.is_never else None
    if not same or any(_differs(earlier, leaf) for leaf in same):
        return False
    return excludes([*same, earlier.negated()])


def _differs(one: Leaf, other: Leaf) -> bool:
    """Rule most pairs of rules out at once: a file has hundreds, which mostly differ in what one argument is."""
    if one.compares is None or other.compares is None:
        return False
    mine, theirs = text_in(one.compares.right), text_in(other.compares.right)
    if one.compares.operator == "==" == other.compares.operator and mine is not None and theirs is not None:
        return mine != theirs
    return mine is None and theirs is not None and one.compares.operator in _ORDERS


def _key(node: Leaf | Group) -> object:
    """Return what is equal for parts that say the same in other spaces."""
    if isinstance(node, Group):
        return (node.is_all, frozenset(map(_key, node.parts)))
    return (node.source, node.is_negated)
