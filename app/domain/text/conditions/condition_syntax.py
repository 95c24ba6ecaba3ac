"""What is wrong with the spelling of a condition, told to whoever writes one: where, what, and what it should be.

The language's own parser says which of its tokens it expected. This looks at the text again, for what people write
instead, and only leaves the place to it.
"""

from __future__ import annotations

import re
from typing import Final

from app.domain.text.conditions.condition_parts import SILENT

_AT: Final = re.compile(r"(?P<line>\d+):(?P<column>\d+): ")
_INSTEAD: Final = (
    (r"\band\b", "write &&, as in args.a > 1 && args.b > 1"),
    (r"\bor\b", 'write ||, as in args.a == "x" || args.a == "y"'),
    (r"\bnot\s+in\b", 'write !(args.a in ["x", "y"])'),
    (r"\bnot\b", "write !, as in !(args.a > 1)"),
    (r"\b(?:True|False|TRUE|FALSE)\b", "write true or false in small letters"),
    (r"\b(?:None|nil|NULL)\b", "write null"),
    (r"=>|=<", "write >= or <="),
    (r"<>|=/=|!==|===", "write == or !="),
    (r"(?<![=!<>])=(?![=>])", 'write ==, as in args.currency == "EUR"'),
    (r"(?<!&)&(?!&)", "write &&"),
    (r"(?<!\|)\|(?!\|)", "write ||"),
    (r"=~|~", 'write args.a.matches("^[a-z]+$")'),
    (r"(?<=[\w)\]]\s)(?:matches|contains|startsWith|endsWith)\b", 'write it behind a dot: args.a.startsWith("x")'),
    (r"[“”„«»‘’]", "write plain quotation marks: \" or '"),
    (r"\b\d{1,3}(?:,\d{3})+\b", "write a number without commas: 1000"),
)
_FOREIGN: Final = re.compile(
    r"(?P<has>\bhas\(\s*)?(?P<of>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.(?P<name>\w*[^\W\x00-\x7f]\w*)"
)
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_ENDS_OPEN: Final = re.compile(r"(&&|\|\||==|!=|<=|>=|[<>+\-*/%!.,?:]|\bin)\s*$")
_AROUND: Final = 20


def say_syntax(source: str, parser: str) -> tuple[str, str]:
    """Return what is wrong, with its place, and what to write instead. `parser` is the language's own complaint."""
    plain = SILENT.sub(lambda text: '"' + " " * (len(text[0]) - 2) + '"' if len(text[0]) > 1 else text[0], source)
    for mark in "\"'":
        left = SILENT.sub(lambda text: " " * len(text[0]), source).find(mark)
        if left >= 0:
            return _at(source, left, "a text begins and does not end"), f"close it with {mark}"
    if foreign := _FOREIGN.search(plain):
        of, name = foreign["of"], foreign["name"]
        mend = f'write "{name}" in {of}' if foreign["has"] else f'write {of}["{name}"]'
        return _at(source, foreign.start("name"), "behind a dot stand only the letters a to z"), mend
    for pattern, mend in _INSTEAD:
        found = re.search(pattern, plain)
        if found:
            return _at(source, found.start(), f"{found[0].strip()!r} is no part of the language"), mend
    return _unbalanced(source, plain) or _unfinished(source, plain, parser)


def _unbalanced(source: str, plain: str) -> tuple[str, str] | None:
    opened: list[int] = []
    for at, letter in enumerate(plain):
        if letter in _PAIRS.values():
            opened.append(at)
        elif letter in _PAIRS:
            if not opened or plain[opened[-1]] != _PAIRS[letter]:
                return _at(source, at, f'"{letter}" closes nothing'), f'take it out, or open it with "{_PAIRS[letter]}"'
            opened.pop()
    if not opened:
        return None
    closing = {left: right for right, left in _PAIRS.items()}[plain[opened[-1]]]
    return _at(source, opened[-1], f'"{plain[opened[-1]]}" is not closed'), f'close it with "{closing}"'


def _unfinished(source: str, plain: str, parser: str) -> tuple[str, str]:
    example = 'as in args.currency == "EUR" && args.amount <= 500'
    ends = _ENDS_OPEN.search(plain)
    if ends:
        return _at(source, ends.start(), f'nothing follows "{ends[1]}"'), f"say what comes behind it, {example}"
    if "?" in plain and ":" not in plain.partition("?")[2]:
        return _at(source, plain.index("?"), 'the choice has no ":"'), "write a ? b : c, or && and ||"
    place = _AT.search(parser)
    lines = source.split("\n")
    line = int(place["line"]) - 1 if place else 0
    before = sum(len(each) + 1 for each in lines[:line]) if line < len(lines) else 0
    column = int(place["column"]) - 1 if place else 0
    return _at(source, min(before + column, len(source)), "it cannot be read from here on"), f"write it {example}"


def _at(source: str, index: int, why: str) -> str:
    """Say where in the condition, with what stands there."""
    line = source.count("\n", 0, index) + 1
    column = index - source.rfind("\n", 0, index)
    where = f"line {line}, column {column} of the condition" if "\n" in source.strip() else f"column {column}"
    rest = source[index : index + _AROUND].split("\n", maxsplit=1)[0]
    more = " …" if index + _AROUND < len(source) else ""
    return f"no condition: {why} ({where}{f': {rest}{more}' if rest else ', at its end'})"
