"""Sensitive values made unreadable, by one function for every surface: cards, API, answers to models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.text.paths import steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from app.domain.text.canonical import JsonValue

HIDDEN = "•••"
_LONG = 16  # letters and digits: as long as a card's number; of anything shorter, four characters would tell too much
_KEPT = 4


def mask(value: JsonValue) -> str:
    """Hide one value. A long text of letters and digits (an account, an IBAN) keeps its last four, to compare by."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str):
        return HIDDEN
    last = text[-_KEPT:]
    long = sum(map(str.isalnum, text)) >= _LONG
    return HIDDEN + last if long and last.isascii() and last.isalnum() else HIDDEN


def masked(
    arguments: Mapping[str, JsonValue], sensitive: Collection[str], by: Callable[[JsonValue], JsonValue] = mask
) -> dict[str, JsonValue]:
    """Return the arguments with everything at or under a sensitive dotted path hidden, each value as `by` hides it.

    Paths are compared key by key: an argument that is literally called ``a.b`` is not the ``b`` of ``a``.
    """
    hidden = {steps_of(path) for path in sensitive}

    def shown(value: JsonValue, path: tuple[str, ...]) -> JsonValue:
        if path in hidden:
            return by(value)
        match value:
            case dict():
                return {key: shown(item, (*path, key)) for key, item in value.items()}
            case list():
                return [shown(item, path) for item in value]
            case _:
                return value

    return {key: shown(value, (key,)) for key, value in arguments.items()}


def count_hidden(before: JsonValue, after: JsonValue) -> int:
    """Count the values, and names of values, of `before` that `after` does not tell.

    `after` is `before` with some of it replaced, in the same order; what was replaced whole counts once.
    """
    match before, after:
        case dict(), dict():
            pairs = zip(before.items(), after.items(), strict=False)
            lacking = max(len(before) - len(after), 0)
            return lacking + sum((old != new) + count_hidden(was, now) for (old, was), (new, now) in pairs)
        case list(), list():
            lacking = max(len(before) - len(after), 0)
            return lacking + sum(count_hidden(was, now) for was, now in zip(before, after, strict=False))
        case _:
            return int(before != after)
