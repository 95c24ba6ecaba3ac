"""Rules that never answer, because an earlier one always does."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice, product
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from app.domain.rules.meaning.implication import Compared, Meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.call.name_pattern import NamePattern
    from app.domain.rules.rule import Rule

_MOST: Final = 200

_Shelf: TypeAlias = tuple[str | None, str | None, Compared | None]
"""The one tool and the one agent that a rule is about here (None: a glob, or all), and what its condition pins."""


class _Placed(Struct, frozen=True):
    """A rule in its place among the others; `meaning` is None where it has no condition."""

    at: int
    rule: Rule
    meaning: Meaning | None


class EarlierRules:
    """The rules so far, each found by the tools and agents that it names, and the text that its condition pins.

    So a file of thousands is read in time that grows with it: most differ in one of these, and are never compared.
    Of those that do not, `_MOST` at most have their conditions compared with a later one's: 3 ms, as a pair of two
    comparisons each was measured to take 16 µs.
    """

    def __init__(self) -> None:
        self._count = 0
        self._shelves: dict[_Shelf, list[_Placed]] = defaultdict(list)
        self._last: tuple[Rule, Meaning | None] | None = None

    def add(self, rule: Rule) -> None:
        """Take one more, which those to come stand behind."""
        meaning = self._meaning(rule)
        placed = _Placed(self._count, rule, meaning)
        self._count += 1
        tools, agents = set(map(_name, rule.tools)), set(map(_name, rule.agents)) or {None}
        for tool, agent in product(tools, agents):
            self._shelves[tool, agent, meaning.pin if meaning else None].append(placed)

    def shadow(self, rule: Rule) -> tuple[str, str | None] | None:
        """Say why nothing gets past the earlier rules to this one, and the mend; None where something does.

        Nothing gets past one that covers it, and whose condition is true whenever its own is.
        """
        meaning = self._meaning(rule)
        covering = [self._wider(rule, meaning, pattern) for pattern in rule.tools]
        if not covering or not all(covering):
            return None
        first = min((other for other in covering if other), key=lambda other: other.line)
        if first.when is None:
            how, hint = "without a condition", None
        elif first.when == rule.when:
            how, hint = "on the same condition", None
        else:
            how, hint = "on a condition that is true whenever this one is", f'put it before "{first.id}"'
        return f'can never match: rule "{first.id}" on line {first.line} answers first, {how}', hint

    def _meaning(self, rule: Rule) -> Meaning | None:
        """Return what its condition means; a rule is asked about and then added."""
        if self._last is None or self._last[0] is not rule:
            self._last = rule, Meaning.of(rule.when.source) if rule.when else None
        return self._last[1]

    def _wider(self, rule: Rule, meaning: Meaning | None, pattern: NamePattern) -> Rule | None:
        """Return the first rule that answers whatever this one would about one pattern of tools."""
        tools = {None, _name(pattern)}
        agents = {None, *map(_name, rule.agents[:1])}  # what covers all of them covers the first
        pins = (None, *(meaning.texts if meaning else ()))
        found = (placed for shelf in product(tools, agents, pins) for placed in self._shelves.get(shelf, ()))
        covering = (
            placed
            for placed in sorted(found, key=lambda placed: placed.at)
            if _covers(placed.rule.tools, (pattern,)) and _covers(placed.rule.agents, rule.agents, empty_is_all=True)
        )
        for other in islice(covering, _MOST):
            if other.rule.when is None or other.rule.when == rule.when or _implies(meaning, other.meaning):
                return other.rule
        return None


def _name(pattern: NamePattern) -> str | None:
    return None if pattern.is_glob else pattern.text


def _implies(later: Meaning | None, earlier: Meaning | None) -> bool:
    return later is not None and earlier is not None and later.implies(earlier)


def _covers(outer: Sequence[NamePattern], inner: Sequence[NamePattern], *, empty_is_all: bool = False) -> bool:
    """Whether everything `inner` matches is matched by `outer`; a glob covers a glob whose very text it matches."""
    if empty_is_all and (not outer or not inner):
        return not outer
    return all(any(pattern.text == other.text or pattern.matches(other.text) for pattern in outer) for other in inner)
