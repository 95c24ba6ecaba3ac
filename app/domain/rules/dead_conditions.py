"""What can be told of a condition before any call: that it is always true, never true, or can never be evaluated.

A condition is taken apart at its outermost ``||`` and ``&&``. A part without variables is evaluated once; a part about
the tool alone is evaluated for every tool it could be about; bounds of one value that exclude each other are never
true. What cannot be told so is left to the calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from app.domain.money.exact_money import AMOUNT, exact_amount
from app.domain.rules.condition import (
    SILENT,
    BadConditionError,
    ConditionFailedError,
    Scope,
    compile_condition,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LITERAL = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_NUMBER = r"-?\d+(?:\.\d+)?"
_CALL = re.compile(rf"(?<![\w.])(?:timestamp|duration|{AMOUNT})\(\s*(?:{_LITERAL}|{_NUMBER})\s*(?:,\s*\d+\s*)?\)")
_REGEX = re.compile(rf"\.\s*matches\(\s*([rR]?{_LITERAL})\s*\)")
_NEVER_EQUAL = re.compile(rf"""(?<![\w.]){AMOUNT}\([^()]*\)\s*[!=]=\s*(?:[-\d"']|args\b)""")
_BOUND = re.compile(r"^((?:amount\()?[A-Za-z_][\w.]*(?:,\d+)?\)?)(==|<=|>=|<|>)(.+)$", re.DOTALL)
_MONEY = re.compile(rf"^{AMOUNT}\(({_LITERAL}|{_NUMBER})\)$")


def foresee(source: str, tools: Sequence[dict[str, object]] | None = None) -> bool | None:
    """Return what a condition that compiled always answers; None where that hangs on the call or its tool.

    `tools` are the facts of every tool that it could be about, None where these cannot be listed: false of all of them
    is never true. Raises BadConditionError where a part of it can never be evaluated.
    """
    plain = SILENT.sub(lambda text: "_" * len(text[0]), source)
    for found in (*_CALL.finditer(source), *_REGEX.finditer(source)):
        if plain[found.start()] == source[found.start()]:  # else it stands within a text or a comment
            _constant(f'"".matches({found[1]})' if found.re is _REGEX else found[0])
    if _NEVER_EQUAL.search(source):
        raise BadConditionError("an amount equals only another amount", 'write amount(args.x) == amount("10.00")')
    return _foretold(source, tools)


def _foretold(source: str, tools: Sequence[dict[str, object]] | None) -> bool | None:
    source = _bare(source)
    either = _split(source, "||")
    if len(either) > 1:
        answers = [_foretold(part, tools) for part in either]
        return True if True in answers else None if None in answers else False
    both = _split(source, "&&")
    if len(both) > 1:
        answers = [_foretold(part, tools) for part in both]
        if False in answers or _exclusive(both):
            return False
        return None if None in answers else True
    condition = compile_condition(source)
    if not condition.needs - {AMOUNT}:
        return _constant(source, bool)
    if condition.needs == frozenset({"tool"}) and tools:
        return _of_tools(source, tools)
    return None


def _of_tools(source: str, tools: Sequence[dict[str, object]]) -> bool | None:
    condition = compile_condition(source)
    try:
        answers = {condition.holds(Scope({"tool": facts})) for facts in tools}
    except ConditionFailedError:
        return None
    return None if True in answers else False


def _constant(source: str, wanted: type = object) -> bool | None:
    """Evaluate what names no variable."""
    test = source if wanted is bool else f"[{source}].size() == 1"
    try:
        return compile_condition(test).holds(Scope({}))
    except ConditionFailedError as error:
        raise BadConditionError(f"{' '.join(source.split())[:80]} can never be evaluated: {error.why}") from None


def _split(source: str, operator: str) -> list[str]:
    """Cut at the outermost operators of a kind; a conditional (`a ? b : c`) is one piece."""
    parts, start, depth = [""], 0, 0
    plain = SILENT.sub(lambda text: "_" * len(text[0]), source)
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


def _bare(source: str) -> str:
    """Take comments off, and parentheses around the whole."""
    source = SILENT.sub(lambda text: " " if text[0].startswith("//") else text[0], source).strip()
    while source.startswith("(") and _closing(source) == len(source) - 1:
        source = source[1:-1].strip()
    return source


def _closing(source: str) -> int:
    depth = 0
    for at, letter in enumerate(SILENT.sub(lambda text: "_" * len(text[0]), source)):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return at
    return -1


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


def _exclusive(parts: Sequence[str]) -> bool:
    """Say whether comparisons with literals, which must all be true, exclude each other."""
    ranges: dict[str, _Range] = {}
    texts: dict[str, str] = {}
    for left, operator, right in _comparisons(parts):
        number = _number(right)
        if number is not None:
            ranges.setdefault(left, _Range()).narrow(operator, number)
        elif operator == "==" and re.fullmatch(_LITERAL, right) and texts.setdefault(left, right[1:-1]) != right[1:-1]:
            return True
    return any(left.is_empty for left in ranges.values())


def _comparisons(parts: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for part in parts:
        left, *rest = re.split(r"(==|<=|>=|<|>)", _bare(part), maxsplit=1)
        packed = "".join(left.split())
        if rest and (found := _BOUND.match(f"{packed}{rest[0]}{rest[1].strip()}")):
            yield found[1], found[2], found[3]


def _number(text: str) -> Decimal | None:
    if re.fullmatch(_NUMBER, text):
        return Decimal(text)
    money = _MONEY.fullmatch(text)
    return exact_amount(int(money[1]) if money[1].lstrip("-").isdigit() else money[1].strip("\"'")) if money else None
