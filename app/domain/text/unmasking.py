"""Arguments that somebody sends back who was shown them with sensitive values masked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import BadArgumentsError
from app.domain.text.canonical import canonical, path_text
from app.domain.text.masking import HIDDEN, masked
from app.domain.text.paths import steps_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.domain.text.canonical import JsonValue


def unmasked(
    given: Mapping[str, JsonValue], stored: Mapping[str, JsonValue], sensitive: Collection[str]
) -> dict[str, JsonValue]:
    """Put every sensitive value back whose mask stands exactly where it was shown; other values are what they are.

    In a list a mask is worth something only in an item that is, as shown, the one that stood at that place: whatever
    moves could take another item's secret along. Raises BadArgumentsError for a mask that belongs to nothing.
    """
    hidden = {steps_of(path) for path in sensitive}
    shown = masked(stored, sensitive)

    def put_back(value: JsonValue, was: JsonValue, seen: JsonValue, at: tuple[str | int, ...]) -> JsonValue:
        path = tuple(step for step in at if isinstance(step, str))
        if canonical(value) == canonical(seen):
            return was  # as it was shown, with all that is hidden in it
        if path in hidden:
            _refuse_masks(value, at)
            return value
        match value:
            case dict():
                old = was if isinstance(was, dict) else {}
                as_shown = seen if isinstance(seen, dict) else {}
                return {
                    key: put_back(item, old.get(key), as_shown.get(key), (*at, key))
                    if key in old
                    else _new(item, (*at, key), hidden)
                    for key, item in value.items()
                }
            case list():
                old_items = was if isinstance(was, list) else []
                items = seen if isinstance(seen, list) else []
                return [
                    old_items[index]
                    if index < len(items) and canonical(item) == canonical(items[index])
                    else _new(item, (*at, index), hidden)
                    for index, item in enumerate(value)
                ]
            case _:
                return value

    return {
        key: put_back(value, stored[key], shown[key], (key,)) if key in stored else _new(value, (key,), hidden)
        for key, value in given.items()
    }


def _new(value: JsonValue, at: tuple[str | int, ...], hidden: Collection[tuple[str, ...]]) -> JsonValue:
    """Return a value that stands where nothing stood, or something else did."""
    if tuple(step for step in at if isinstance(step, str)) in hidden:
        _refuse_masks(value, at)
        return value
    match value:
        case dict():
            return {key: _new(item, (*at, key), hidden) for key, item in value.items()}
        case list():
            return [_new(item, (*at, index), hidden) for index, item in enumerate(value)]
        case _:
            return value


def _refuse_masks(value: JsonValue, at: tuple[str | int, ...]) -> None:
    match value:
        case str() if HIDDEN in value:
            where = path_text(*at)
            why = "a masked value can only be left as it was shown; give the whole one, or change nothing around it"
            raise BadArgumentsError(f"{where}: {why}", path=where, why=why)
        case dict():
            for key, item in value.items():
                _refuse_masks(item, (*at, key))
        case list():
            for index, item in enumerate(value):
                _refuse_masks(item, (*at, index))
        case _:
            return
