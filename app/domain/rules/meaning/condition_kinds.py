"""What kind of value each side of a comparison is, as far as the condition and the tools' schemas say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from app.domain.money.exact_money import AMOUNT
from app.domain.rules.meaning.condition_bounds import calendar_of
from app.domain.text.conditions.condition_parts import NUMBER, encloses, path_in, plain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.call.tool import Tool
    from app.domain.text.canonical import JsonValue

TEXT, NUMBER_KIND, BOOL, NULL, LIST, OBJECT = "a text", "a number", "true or false", "null", "a list", "an object"
INSTANT, SPAN = "an instant", "an amount"  # what a span of time is as well
Kinds = frozenset[str]

_NAMED: Final[dict[str, Kinds]] = {
    "now": frozenset({INSTANT}),
    "agent": frozenset({TEXT}),
    "user": frozenset({TEXT, NULL}),
    "session": frozenset({TEXT, NULL}),
    "args": frozenset({OBJECT}),
    "tool.name": frozenset({TEXT}),
    **dict.fromkeys(("working_hours", "holiday", "true", "false"), frozenset({BOOL})),
    **dict.fromkeys(("tool.writes", "tool.known", "tool.requires_confirmation"), frozenset({BOOL})),
    **dict.fromkeys(("tool.money", "tool.pin", "tool.sensitive"), frozenset({LIST})),
    "null": frozenset({NULL}),
}
_SHAPES: Final = (
    (re.compile(rf"{NUMBER}u?"), NUMBER_KIND),
    (re.compile(r'"+'), TEXT),
    (re.compile(r"string\([^()]*\)"), TEXT),
    (re.compile(r"(?:size|int|uint|double)\([^()]*\)|[\w.]+\.size\(\)"), NUMBER_KIND),
    (re.compile(rf"(?:{AMOUNT}|duration)\([^()]*\)(?:[+-](?:{AMOUNT}|duration)\([^()]*\))*"), SPAN),
    (re.compile(r"timestamp\([^()]*\)"), INSTANT),
)
_TYPES: Final = {
    "string": TEXT, "integer": NUMBER_KIND, "number": NUMBER_KIND, "boolean": BOOL, "null": NULL, "array": LIST,
    "object": OBJECT,
}  # fmt: skip
_PATH: Final = re.compile(r"args((?:\.\w+(?:\[\])*)+)")


class Arguments(Struct, frozen=True):
    """What the file says of the arguments of the tools that a rule may be about; `are_all`: it is about no others."""

    tools: Sequence[Tool]
    are_all: bool

    @property
    def money(self) -> frozenset[str]:
        """The paths that are money in one of the tools."""
        return frozenset(path for tool in self.tools for path in tool.money)

    def kinds(self, path: str) -> Kinds | None:
        """Return what an argument can be in any of the tools; None where that is not said."""
        each = [_of_tool(tool, path) for tool in self.tools] if self.are_all else []
        said = [kinds for kinds in each if kinds is not None]
        return frozenset[str]().union(*said) if said and len(said) == len(each) else None

    def texts(self, path: str) -> frozenset[str] | None:
        """Return the only texts that an argument can be; None where it can be others, or no text."""
        schemas = [_at(tool.schema, path) for tool in self.tools] if self.are_all else []
        lists = [_listed(schema) for schema in schemas]
        said = [frozenset(cast("list[str]", each)) for each in lists if each and all(isinstance(x, str) for x in each)]
        return frozenset[str]().union(*said) if said and len(said) == len(lists) else None


def kinds_of(operand: str, arguments: Arguments, bound: dict[str, str]) -> Kinds | None:
    """Return what a side of a comparison can be; None where that cannot be told."""
    path = path_in(operand, bound)
    if path in _NAMED:
        return _NAMED[path]
    if found := _PATH.fullmatch(path):
        return arguments.kinds(found[1][1:])
    plain = plain_of(path)
    for shape, kind in _SHAPES:
        if shape.fullmatch(plain):
            return frozenset({kind})
    if plain.startswith("[") and encloses(plain):
        return frozenset({LIST})
    is_single = calendar_of(plain) is not None or plain.endswith(".getFullYear()")
    return frozenset({NUMBER_KIND}) if is_single and "?" not in plain else None


def _of_tool(tool: Tool, path: str) -> Kinds | None:
    schema = _at(tool.schema, path)
    types = schema.get("type") if schema is not None else None
    names = types if isinstance(types, list) else [types] if types else []
    kinds = frozenset(_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES) or None
    if path.replace("[]", "") in tool.money:
        exact = frozenset({TEXT, NUMBER_KIND, NULL})
        return exact if kinds is None else exact & kinds
    return kinds


def _at(schema: Mapping[str, JsonValue] | None, path: str) -> Mapping[str, JsonValue] | None:
    for step in path.replace("[]", ".[]").split("."):
        if schema is None or (step == "[]" and "prefixItems" in schema):
            return None
        inner = schema.get("items") if step == "[]" else schema.get("properties")
        if step != "[]":
            inner = inner.get(step) if isinstance(inner, Mapping) else None
        schema = inner if isinstance(inner, Mapping) else None
    return schema


def _listed(schema: Mapping[str, JsonValue] | None) -> list[JsonValue] | None:
    if schema is None:
        return None
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else [schema["const"]] if "const" in schema else None
