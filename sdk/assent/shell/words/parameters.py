"""Parameter expansion: `$x`, `${x:-default}`, `${x%suffix}`, `${x/a/b}`, `${x:1:2}`, `${!x}`, `${a[@]}` and more."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.words.scope import BREAK, UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.shell.words.scope import Scope
    from assent.shell.words.script import Command

_FORM = re.compile(
    r"(?P<prefix>[!#]?)(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[(?P<index>[^\]]*)\])?(?P<rest>.*)", re.DOTALL
)
_SIMPLE = re.compile(r"[A-Za-z_]\w*|[\d@*#?$!-]")
_OPERATOR = re.compile(r":[-=+?]|##|%%|//|/[#%]|\^\^|,,|[-=+?#%/^,:@]")
_DIGITS = re.compile(r"\s*-?\d+\s*")
_DEFAULTS = frozenset("-=+?")
_LONGEST = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """What a parameter became, the variable's name, and the commands whose output is in it."""

    text: str
    name: str
    sources: tuple[Command, ...] = ()


def expand_parameter(inner: str, scope: Scope, nested: Callable[[str], str]) -> Expanded:
    """Expand what stands in `${…}` or behind `$`. `nested` resolves the words inside it."""
    if _SIMPLE.fullmatch(inner):
        return _plain(inner, None, scope)
    form = _FORM.fullmatch(inner)
    if form is None:
        return Expanded(text=UNKNOWN, name="?")
    name, index, rest = form["name"], form["index"], form["rest"]
    if form["prefix"] == "!" and name:
        target = _plain(name, index, scope).text
        return _plain(target, None, scope) if _SIMPLE.fullmatch(target) else Expanded(text=UNKNOWN, name=name)
    plain = _plain(name, index, scope)
    if form["prefix"] == "#":
        return Expanded(text="0" if UNKNOWN in plain.text else str(len(plain.text)), name=name)
    operator = _OPERATOR.match(rest)
    if operator is None:
        return plain
    behind = rest[operator.end() :]
    unset = plain.text == UNKNOWN and scope.find(name) is None
    if operator[0].lstrip(":") in _DEFAULTS and operator[0] != ":":
        text = _defaulted(plain.text, operator[0], behind, nested, unset=unset)
        if operator[0].endswith("=") and unset:
            scope.variables[name] = Value(texts=(text,))
    elif UNKNOWN in plain.text or len(plain.text) > _LONGEST:
        text = UNKNOWN
    else:
        text = _operate(plain.text, operator[0], behind, nested)
    return Expanded(text=text, name=name, sources=plain.sources)


def _plain(name: str, index: str | None, scope: Scope) -> Expanded:
    value = scope.find(name)
    if value is None:
        return Expanded(text=UNKNOWN, name=name)
    return Expanded(text=_element(value, name, index), name=name, sources=value.sources)


def _element(value: Value, name: str, index: str | None) -> str:
    if value.elements is None:
        return value.texts[0]
    if name == "@" or index == "@" or name == "*" or index == "*":
        return BREAK.join(value.elements)
    try:
        return value.elements[int(index or 0)]
    except (ValueError, IndexError):
        return UNKNOWN


def _defaulted(text: str, operator: str, rest: str, nested: Callable[[str], str], *, unset: bool) -> str:
    if operator.endswith("?"):
        # The shell stops where there is nothing; a lone unknown may be nothing, two are something.
        return text + UNKNOWN if text == UNKNOWN and operator[0] == ":" else text
    if operator.endswith("+"):
        return nested(rest) if text else ""
    return nested(rest) if unset or (text == "" and operator[0] == ":") else text


def _operate(text: str, operator: str, rest: str, nested: Callable[[str], str]) -> str:
    match operator:
        case "#" | "##" | "%" | "%%":
            return _trimmed(text, operator, nested(rest))
        case "/" | "//" | "/#" | "/%":
            return _replaced(text, operator, rest, nested)
        case "^" | "^^":
            return text.upper() if operator == "^^" else text[:1].upper() + text[1:]
        case "," | ",,":
            return text.lower() if operator == ",," else text[:1].lower() + text[1:]
        case ":":
            return _slice(text, nested(rest))
        case _:
            return text if rest[:1] in {"Q", "U", "L", "u", "E", "P"} else UNKNOWN


def _trimmed(text: str, operator: str, pattern: str) -> str:
    if len(pattern) > _LONGEST:
        return UNKNOWN
    matches = re.compile(fnmatch.translate(pattern)).match
    if operator[0] == "#":
        cuts = range(len(text) + 1) if operator == "#" else range(len(text), -1, -1)
        return next((text[cut:] for cut in cuts if matches(text[:cut])), text)
    cuts = range(len(text), -1, -1) if operator == "%" else range(len(text) + 1)
    return next((text[:cut] for cut in cuts if matches(text[cut:])), text)


def _replaced(text: str, operator: str, rest: str, nested: Callable[[str], str]) -> str:
    pattern, _, replacement = rest.partition("/")
    if any(char in pattern for char in "*?["):
        return UNKNOWN
    pattern, replacement = nested(pattern), nested(replacement)
    if UNKNOWN in pattern or not pattern:
        return UNKNOWN
    return text.replace(pattern, replacement, -1 if operator == "//" else 1)


def _slice(text: str, bounds: str) -> str:
    start, colon, length = bounds.partition(":")
    if not _DIGITS.fullmatch(start) or (colon and not _DIGITS.fullmatch(length)):
        return UNKNOWN
    kept = text[int(start) :]
    return kept[: int(length)] if colon else kept
