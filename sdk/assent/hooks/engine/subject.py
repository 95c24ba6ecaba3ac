"""What a chain judges, kept apart from what its hooks are shown: nobody changes it but by a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def copied(value: Any) -> Any:
    """Copy the objects and lists of a JSON-like value; everything else in it is shared."""
    match value:
        case None | str() | int() | float():
            return value
        case Mapping():
            return {key: copied(item) for key, item in cast("Mapping[Any, Any]", value).items()}
        case list():
            return [copied(item) for item in cast("list[Any]", value)]
        case tuple() if type(cast("Any", value)) is tuple:
            return tuple(copied(item) for item in cast("tuple[Any, ...]", value))
        case _:
            return value


def same(one: Any, other: Any) -> bool:
    """Say whether two JSON-like values are the same, their types too (1 is not True, and not 1.0)."""
    if one is other:
        return True
    kind = cast("object", type(one))
    if kind is not type(other):
        return False
    if kind is dict:
        if len(one) != len(other):
            return False
        for key, item in one.items():
            if key not in other or not (item is other[key] or same(item, other[key])):
                return False
        return True
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
