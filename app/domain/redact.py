"""Take sensitive values out of free text, such as the error of a tool that repeats its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.masking import HIDDEN
from app.domain.tool import text_of, values_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.canonical import JsonValue

_SHORTEST = 3  # characters: a shorter value is no secret, and its hiding would garble the text


def scrubbed(text: str, arguments: Mapping[str, JsonValue], sensitive: Iterable[str]) -> str:
    """Return `text` with every value that stands at or under a sensitive path hidden, longest first."""
    values = {leaf for path in sensitive for _, value in values_at(arguments, path) for leaf in _leaves(value)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return text


def _leaves(value: JsonValue) -> Iterable[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _leaves(item)
        case list():
            for item in value:
                yield from _leaves(item)
        case None | bool():
            return
        case _:
            yield text_of(value)
