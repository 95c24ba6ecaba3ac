"""Dotted paths into arguments, and their values as people read them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

from app.domain.text.canonical import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from app.domain.text.canonical import JsonValue


DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
"""Exact money as a text."""


def text_of(value: JsonValue) -> str:
    """Write a value for people: texts as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)  # as JSON has it, without the price of an encoder
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def money_text(value: JsonValue) -> str | None:
    """Write exact money with its thousands apart, every digit kept: 1,234,567.50. None for anything else."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not DECIMAL.fullmatch(text):
        return None
    whole, point, fraction = text.partition(".")
    digits = whole.removeprefix("-")
    sign = whole[: len(whole) - len(digits)]
    first = len(digits) % 3
    groups = [*([digits[:first]] if first else []), *(digits[at : at + 3] for at in range(first, len(digits), 3))]
    return f"{sign}{','.join(groups)}{point}{fraction}"


def steps_of(dotted: str) -> tuple[str, ...]:
    """Return the keys that a dotted path of the file goes through. A key that holds a dot itself is none of them."""
    return tuple(dotted.split("."))


def values_at(arguments: Mapping[str, JsonValue], dotted: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield every value at a dotted path, each with its exact path such as ``items[0].price``."""
    yield from _descend(cast("dict[str, JsonValue]", arguments), steps_of(dotted), ())


def list_values(arguments: Mapping[str, JsonValue], dotted: str) -> list[JsonValue]:
    """Return every value at a dotted path."""
    if "." not in dotted and type(arguments) is dict:  # most paths are a name: it needs no descent
        return [arguments[dotted]] if dotted in arguments else []
    return [value for _, value in values_at(arguments, dotted)]


def _descend(value: JsonValue, steps: tuple[str, ...], path: tuple[str | int, ...]) -> Iterator[tuple[str, JsonValue]]:
    if not steps:
        yield path_text(*path), value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _descend(item, steps, (*path, index))
    elif isinstance(value, dict) and steps[0] in value:
        yield from _descend(value[steps[0]], steps[1:], (*path, steps[0]))
