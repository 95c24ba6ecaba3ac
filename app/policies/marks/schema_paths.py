"""Follow a dotted path through a tool's schema, as far as that says what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.policies.marks.faults import near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.text.canonical import JsonValue


class Place(Struct, frozen=True, kw_only=True):
    """Where a path leads. `fault` and `hint` are set where a closed schema has no such argument.

    `lists` are the beginnings of the path that are lists; `types` is what its end may be, () where nothing says so.
    """

    lists: tuple[tuple[str, ...], ...] = ()
    types: tuple[str, ...] = ()
    fault: str | None = None
    hint: str | None = None


def closed_names(schema: Mapping[str, JsonValue] | None) -> Sequence[str] | None:
    """Return the argument names of a schema that allows no others; None if it allows others."""
    if schema is None or schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def place_of(dotted: str, schema: Mapping[str, JsonValue] | None, tool: str) -> Place:
    """Return where a path leads in the arguments of `tool`; elements of a list are passed through."""
    steps = tuple(dotted.split("."))
    lists: list[tuple[str, ...]] = []
    for depth, step in enumerate(steps):
        while schema is not None and "array" in types_of(schema):
            lists.append(steps[:depth])
            schema = _inner(schema, "items")
        known = closed_names(schema)
        if known is not None and step not in known:
            where = f"{'.'.join(steps[:depth])} of {tool}" if depth else tool
            fault = f'{where} has no argument "{step}"'
            return Place(lists=tuple(lists), fault=fault, hint=near(step, known, what="arguments"))
        properties = schema.get("properties") if schema is not None else None
        schema = _inner(properties, step) if isinstance(properties, dict) else None
    return Place(lists=tuple(lists), types=types_of(schema) if schema is not None else ())


def types_of(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the JSON types that a schema names."""
    named = schema.get("type")
    return tuple(str(each) for each in (named if isinstance(named, list) else [named] if named else []))


def _inner(schema: Mapping[str, JsonValue], key: str) -> Mapping[str, JsonValue] | None:
    inner = schema.get(key)
    return inner if isinstance(inner, dict) else None
