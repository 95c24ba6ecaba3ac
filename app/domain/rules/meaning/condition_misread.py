"""Comparisons that do not mean what whoever wrote them reads: refused with what to write instead.

Texts compare by alphabet, where "100000" comes before "5000"; values of two kinds are never equal, and cannot be
compared otherwise; a name that is kept in small letters is never equal to one with capitals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from app.domain.money.exact_money import AMOUNT, exact_amount
from app.domain.people.people import email_key
from app.domain.rules.condition import BadConditionError
from app.domain.rules.meaning.condition_bounds import Leaf, calendar_of, excludes, number_in, tree_of
from app.domain.rules.meaning.condition_kinds import (
    BOOL,
    INSTANT,
    NULL,
    NUMBER_KIND,
    SPAN,
    TEXT,
    Arguments,
    Kinds,
    kinds_of,
)
from app.domain.text.conditions.condition_parts import (
    FLIPPED,
    LITERAL,
    Comparison,
    bare,
    comparisons,
    elements_of,
    packed,
    path_in,
    paths_bound,
    plain_of,
    simple,
    text_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.rules.meaning.condition_bounds import Group

_ZONED: Final = re.compile(r"\.\s*(get[A-Z]\w*)\s*\(\s*[^\s)]")
_BY_ZERO: Final = re.compile(r"[/%]\s*0(?![\w.])")
_QUOTED_NUMBER: Final = re.compile(r"\s*[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:[.,]\d+)?\s*")
_NUMBERS: Final = re.compile(r"[\d.+\-*/%()\s]+")
_OF_USER: Final = re.compile(rf"(?<![\w.])user\s*\.\s*(?:startsWith|endsWith|contains)\s*\(\s*({LITERAL})\s*\)")
_SHOWN: Final = re.compile(r"(?<!\w)(?:string|dyn)\(([^()]*)\)")
_GROUPED: Final = re.compile(r"(?<![\w])\(([^()]*)\)")
_CALLED: Final = re.compile(r"[\w.\]\"]+\([^()]*\)")
_PATH: Final = re.compile(r"(?<![\w.])args((?:\.\w+(?:\[\])*)+)")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_COUNTS: Final = {
    "getMonth": "months count from January, 0, to December, 11",
    "getDayOfWeek": "days of the week count from Sunday, 0, to Saturday, 6",
    "getDate": "days of the month count from 1 to 31",
    "getDayOfMonth": "days of the month count from 0 to 30; getDate counts from 1",
    "getDayOfYear": "days of the year count from 0 to 365",
    "getHours": "hours are 0 to 23",
}


def refuse_misread(source: str, arguments: Arguments) -> None:
    """Raise BadConditionError for the first comparison of a condition that means something else than it says."""
    plain = plain_of(source)
    if found := _ZONED.search(plain):
        raise BadConditionError(
            f"{found[1]} takes no zone here",
            f'"now" is in the file\'s zone: set timezone: Europe/Berlin and write now.{found[1]}(), '
            f'or reckon: (now + duration("8h")).{found[1]}()',
        )
    if _BY_ZERO.search(plain):
        raise BadConditionError("nothing can be divided by 0: it can never be evaluated", "take the 0 out")
    for found in _OF_USER.finditer(source):
        if plain[found.start()] == source[found.start()]:
            _refuse_capitals(found[1])
    bound = paths_bound(source)
    for each in comparisons(source):
        compared = Comparison(bare(each.left), each.operator, bare(each.right))
        _refuse_user(compared)
        _refuse_money(compared, arguments, bound)
        _refuse_alphabet(compared)
        _refuse_kinds(compared, arguments, bound)
        _refuse_never(compared, arguments, bound)
    for part in _leaves(tree_of(source)):
        _refuse_no_answer(part, arguments, bound)


def known_texts(source: str, arguments: Arguments) -> dict[str, frozenset[str]]:
    """Return the arguments that a condition compares and that can be a few texts alone, with these."""
    lefts = {packed(side) for each in comparisons(source) for side in (each.left, each.right)}
    found = {left: arguments.texts(left[5:]) for left in lefts if _PATH.fullmatch(left)}
    return {left: texts for left, texts in found.items() if texts is not None}


def _refuse_user(compared: Comparison) -> None:
    sides = (packed(compared.left), packed(compared.right))
    if "user" in sides:
        other = compared.right if sides[0] == "user" else compared.left
        for written in elements_of(other) if compared.operator == "in" else [other]:
            _refuse_capitals(written)


def _refuse_capitals(written: str) -> None:
    text = text_in(written)
    if text is not None and email_key(text) != text:
        why = f'"user" is put in small letters and plain characters before it is compared: it never has {written}'
        raise BadConditionError(why, f'write "{email_key(text)}"')


def _refuse_money(compared: Comparison, arguments: Arguments, bound: dict[str, str]) -> None:
    """Money is compared by `amount`; that a bare number compares only with a bare number is kept, and fails closed."""
    left, operator, right = compared.left, compared.operator, compared.right
    for one, other in ((left, right), (right, left)):
        path = _bare_money(one, arguments, bound)
        if path is None or packed(other) == "null":
            continue
        kinds = arguments.kinds(path)
        if kinds is not None and kinds <= {NUMBER_KIND, NULL} and not plain_of(other).count('"'):
            continue
        if operator in _ORDERS and _NUMBERS.fullmatch(other):
            continue
        texts = 'as a text "5000.00" is not "5000", and no text is the number 5000'
        why = 'texts compare by alphabet, "100000" before "5000"' if operator in _ORDERS else texts
        minor = any(
            tool.payment and tool.payment.minor_units and tool.payment.amount == path.replace("[]", "")
            for tool in arguments.tools
        )
        places = ", 2" if minor else ""
        mend = f"{_as_amount(left, places)} {operator} {_as_amount(right, places)}"
        named = path.replace("[]", "")
        raise BadConditionError(f"args.{named} is money: {why}", f"write {mend}")


def _bare_money(operand: str, arguments: Arguments, bound: dict[str, str]) -> str | None:
    """Return the money that stands in an operand outside of every function but `string` and `dyn`."""
    rest = plain_of(path_in(operand, bound))
    for _ in range(20):
        peeled = _CALLED.sub("0", _GROUPED.sub(r" \1 ", _SHOWN.sub(r" \1 ", rest)))
        if peeled == rest:
            break
        rest = peeled
    named = [found[1][1:] for found in _PATH.finditer(rest)]
    return next((path for path in named if path.replace("[]", "") in arguments.money), None)


def _as_amount(side: str, places: str) -> str:
    """Write one side of a comparison as an amount."""
    if elements := elements_of(side):
        return f"[{', '.join(_as_amount(each, places) for each in elements)}]"
    text = text_in(side)
    if text is not None or number_in(side) is not None:
        written = (side if text is None else text.replace(",", "")).strip()
        return f'amount("{written if exact_amount(written) is not None else "10.00"}")'
    shown = _SHOWN.fullmatch(side)
    return side if side.startswith(f"{AMOUNT}(") else f"amount({shown[1] if shown else side}{places})"


def _refuse_alphabet(compared: Comparison) -> None:
    if compared.operator not in _ORDERS:
        return
    for one, other in ((compared.left, compared.right), (compared.right, compared.left)):
        text = text_in(one)
        if text is None or not _QUOTED_NUMBER.fullmatch(text) or packed(other).startswith(f"{AMOUNT}("):
            continue
        number = text.strip().replace(",", "")
        sides = [number if side is one else side for side in (compared.left, compared.right)]
        mend = f"write {sides[0]} {compared.operator} {number if sides[1] is one else sides[1]}"
        raise BadConditionError(
            f'numbers in quotes compare by alphabet: as a text, "100" is less than "9" ({one})',
            f'{mend}, or for decimal texts amount(…) {compared.operator} amount("{number}")',
        )


def _refuse_kinds(compared: Comparison, arguments: Arguments, bound: dict[str, str]) -> None:
    """Values of two kinds are never equal, and anything else of them can never be evaluated."""
    left, operator, right = compared.left, compared.operator, compared.right
    mine = kinds_of(left, arguments, bound)
    if operator == "in":
        theirs = kinds_of(right, arguments, bound)
        if theirs and theirs <= {TEXT, NUMBER_KIND, BOOL, NULL, INSTANT, SPAN}:
            text = text_in(right)
            words = ", ".join(f'"{word.strip()}"' for word in (text or "a,b").split(","))
            why = f"{right} is no list: it can never be evaluated"
            raise BadConditionError(why, f"write {left} in [{words}]")
    for other in elements_of(right) if operator == "in" else [right]:
        theirs = kinds_of(other, arguments, bound)
        if not mine or not theirs or mine & theirs:
            continue
        if SPAN in mine | theirs and INSTANT in mine | theirs:
            continue
        end = "they can never be compared" if operator in _ORDERS else "they are never equal"
        why = f"{left} is {_said(mine)}, and {other} is {_said(theirs)}: {end}"
        raise BadConditionError(why, _mend(Comparison(left, operator, other), mine, theirs))


def _said(kinds: Kinds) -> str:
    return " or ".join(sorted(kinds))


def _mend(compared: Comparison, mine: Kinds, theirs: Kinds) -> str | None:
    """Return what to write for two kinds that do not meet."""
    left, operator, right = compared.left, compared.operator, compared.right
    if text_in(left) is not None or number_in(left) is not None:
        left, operator, right, mine, theirs = right, FLIPPED.get(operator, operator), left, theirs, mine
    text = text_in(right)
    if AMOUNT in left and SPAN in mine:
        return f"write {left} {operator} {_as_amount(right, '')}" if operator != "in" else 'write amount("10.00")'
    if mine <= {INSTANT} and text is not None:
        day = _DAY.match(text)
        return f'write {left} {operator} timestamp("{day[0] if day else "2026-01-31"}T00:00:00Z")'
    if mine <= {TEXT, NULL} and theirs <= {INSTANT} and text_in(left) is None:
        return f"write timestamp({left}) {operator} {right}"
    if mine <= {BOOL}:
        return f"write {left} or !{left}"
    if calendar_of(packed(left)) is not None:
        return _COUNTS.get(packed(left).rpartition(".")[2][:-2])
    if theirs <= {TEXT} and text is not None and _QUOTED_NUMBER.fullmatch(text) and operator != "in":
        return f"write {left} {operator} {text.strip().replace(',', '')}"
    if mine <= {TEXT, NULL} and number_in(right) is not None:
        order = operator in _ORDERS
        return f"write amount({left}) {operator} {_as_amount(right, '')}" if order else f'write "{right}"'
    return None


def _refuse_never(compared: Comparison, arguments: Arguments, bound: dict[str, str]) -> None:
    """A day, an hour or a text that there never is."""
    one = simple(f"{compared.left} {compared.operator} {compared.right}")
    if one is None:
        return
    path = path_in(one.left, bound)
    texts = arguments.texts(path[5:]) if _PATH.fullmatch(path) else None
    for written in elements_of(one.right) if one.operator == "in" else [one.right]:
        text = text_in(written)
        if texts is not None and text is not None and one.operator in {"==", "!=", "in"} and text not in texts:
            raise BadConditionError(f"{one.left} is never {written}", f"its schema has: {', '.join(sorted(texts))}")
    if calendar_of(one.left) is None:
        return
    leaf = Leaf(packed(compared.left), False, one)
    for part, answer in ((leaf, "never"), (leaf.negated(), "always")):
        if excludes([part]):
            name = one.left.rpartition(".")[2][:-2]
            days = calendar_of(one.left) or range(0)
            counts = _COUNTS.get(name, f"it is {days.start} to {days.stop - 1}")
            raise BadConditionError(f"{one.left} {one.operator} {one.right} is {answer} true", counts)


def _leaves(node: Leaf | Group) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for part in node.parts:
            yield from _leaves(part)


def _refuse_no_answer(part: Leaf, arguments: Arguments, bound: dict[str, str]) -> None:
    """A part that is compared with nothing must be true or false itself."""
    kinds = kinds_of(part.source, arguments, bound)
    if kinds and BOOL not in kinds:
        hint = f'amount({part.source}) > amount("0")' if _bare_money(part.source, arguments, bound) else None
        mend = hint or f"{part.source} == …"
        raise BadConditionError(f"{part.source} is {_said(kinds)}, no true or false", f"write a comparison: {mend}")
