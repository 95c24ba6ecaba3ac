"""What can be told of a condition before any call: that it is always true, never true, or can never be evaluated.

A part without variables is evaluated once; a part about the tool alone is evaluated for every tool it could be about;
comparisons of one value that exclude each other are never true together (`condition_bounds`). What cannot be told so
is left to the calls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.domain.money.exact_money import AMOUNT
from app.domain.rules.condition import BadConditionError, ConditionFailedError, Scope, compile_condition
from app.domain.rules.meaning.condition_bounds import Group, Leaf, excludes, tree_of
from app.domain.text.conditions.condition_parts import LITERAL, NUMBER, comparisons, packed, plain_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CALL = re.compile(rf"(?<![\w.])(timestamp|duration|{AMOUNT})\(\s*(?:{LITERAL}|{NUMBER})\s*(?:,\s*\d+\s*)?\)")
_REGEX = re.compile(rf"\.\s*matches\(\s*([rR]?{LITERAL})\s*\)")
_AMOUNT = re.compile(rf"{AMOUNT}\([^()]*\)")
_NO_AMOUNT = re.compile(r"""[-\d"']|args\b""")
_MENDS = {
    "timestamp": 'a timestamp has its zone: write timestamp("2026-01-31T00:00:00Z")',
    "duration": 'write its hours, minutes or seconds: duration("24h"), duration("90m")',
    AMOUNT: 'write it as a decimal text: amount("50000.00")',
    "matches": 'that is no pattern: close its brackets, and put \\\\ before signs that are meant: matches("^\\\\[a")',
}


def foresee(
    source: str,
    tools: Sequence[dict[str, object]] | None = None,
    known: Mapping[str, frozenset[str]] | None = None,
) -> bool | None:
    """Return what a condition that compiled always answers; None where that hangs on the call or its tool.

    `tools` are the facts of every tool that it could be about, None where these cannot be listed: false of all of them
    is never true. `known` are arguments, such as ``args.currency``, with the only texts that they can be.
    Raises BadConditionError where a part of it can never be evaluated.
    """
    plain = plain_of(source)
    for found in (*_CALL.finditer(source), *_REGEX.finditer(source)):
        if plain[found.start()] == source[found.start()]:  # else it stands within a text or a comment
            is_pattern = found.re is _REGEX
            written = f'"".matches({found[1]})' if is_pattern else found[0]
            _constant(written, mend=_MENDS["matches" if is_pattern else found[1]])
    for each in comparisons(source):
        sides = (packed(each.left), packed(each.right))
        for one, other in (sides, sides[::-1]):
            if each.operator in {"==", "!="} and _AMOUNT.fullmatch(one) and _NO_AMOUNT.match(other):
                raise BadConditionError(
                    "an amount equals only another amount", 'write amount(args.x) == amount("10.00")'
                )
    return _foretold(tree_of(source), tools, known)


def _foretold(
    node: Leaf | Group, tools: Sequence[dict[str, object]] | None, known: Mapping[str, frozenset[str]] | None
) -> bool | None:
    if isinstance(node, Leaf):
        answer = _of_leaf(f"!({node.source})" if node.is_negated else node.source, tools)
        if answer is not None:
            return answer
        return False if excludes([node], known) else True if excludes([node.negated()], known) else None
    answers = [_foretold(part, tools, known) for part in node.parts]
    decides = not node.is_all  # one part that is so decides the whole
    if decides in answers:
        return decides
    leaves = [part for part in node.parts if isinstance(part, Leaf)]
    if excludes(leaves if node.is_all else [leaf.negated() for leaf in leaves], known):
        return decides
    return None if None in answers else node.is_all


def _of_leaf(source: str, tools: Sequence[dict[str, object]] | None) -> bool | None:
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


def _constant(source: str, wanted: type = object, mend: str | None = None) -> bool | None:
    """Evaluate what names no variable."""
    test = source if wanted is bool else f"[{source}].size() == 1"
    try:
        return compile_condition(test).holds(Scope({}))
    except ConditionFailedError as error:
        why = "" if mend and error.why.startswith("evaluation failed") else f": {error.why}"
        raise BadConditionError(f"{' '.join(source.split())[:80]} can never be evaluated{why}", mend) from None
