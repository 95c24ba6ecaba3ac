"""JSON Schema (draft 2020-12) with a bound: what an agent sends is checked in linear time, or refused as too much.

The library's `pattern` backtracks without end and its `uniqueItems` compares everything with everything; here both are
linear. Every keyword that is applied to a part of the value is counted.
"""

from __future__ import annotations

import functools
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, cast

from app.domain.errors import BadArgumentsError
from app.domain.text.canonical import path_text
from app.domain.text.linear import BadPatternError, pattern_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jsonschema.exceptions import ValidationError

    from app.domain.text.canonical import JsonValue

    Keyword = Callable[..., Iterable[ValidationError] | None]

MOST_STEPS = 30_000
"""Keywords that may be applied to one call's arguments: 0.15 s on two slow cores."""
_MOST_STEPS_OF_A_FILE = 10_000_000
_PRICES = {"pattern": 20, "patternProperties": 20, "$ref": 10, "$dynamicRef": 10}
"""Steps of the keywords that take longer, for each member where they look at members."""
_SQUARE = 100  # the library looks each member up in a list: so many look-ups take as long as a step

_left: ContextVar[list[int]] = ContextVar("schema_steps")


class _Validator(Protocol):
    """What we use of the library's validator, whose own types are partly unknown."""

    def iter_errors(self, instance: object) -> Iterator[ValidationError]: ...

    def is_type(self, instance: object, type: str) -> bool: ...  # noqa: A002 - the library's name

    def descend(self, instance: object, schema: object, **places: object) -> Iterator[ValidationError]: ...


def first_error(schema: Mapping[str, JsonValue], value: object) -> ValidationError | None:
    """Return the error nearest to the top, the first of them by path.

    Raises BadArgumentsError when finding it would take more than MOST_STEPS.
    """
    return _first(_validator(json.dumps(schema, sort_keys=True)), value, MOST_STEPS)


def schema_fault(schema: Mapping[str, JsonValue]) -> str | None:
    """Say what is wrong with a schema itself, or None. References must point into the schema: nothing is fetched."""
    from jsonschema import Draft202012Validator

    error = _first(_validator(json.dumps(Draft202012Validator.META_SCHEMA)), schema, _MOST_STEPS_OF_A_FILE)
    if error is not None:
        where = path_text(*error.absolute_path)
        return f"{where or 'the schema'} is not JSON Schema (`{error.validator}`)"
    parts = list(_parts(schema))
    faults = (fault for part in parts for fault in (_outward(part), _bad_pattern(part)) if fault)
    mixed = any("unevaluatedProperties" in part for part in parts) and any(
        "patternProperties" in part for part in parts
    )
    unbounded = "`unevaluatedProperties` and `patternProperties` do not go together: their check has no bound"
    return next(faults, unbounded if mixed else None)


def _parts(schema: Mapping[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    pending: list[JsonValue] = [cast("dict[str, JsonValue]", schema)]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _outward(part: dict[str, JsonValue]) -> str | None:
    for key, value in part.items():
        if key in {"$ref", "$dynamicRef"} and isinstance(value, str) and not value.startswith("#"):
            return f'`{key}` may only point into the schema itself ("#/…")'
    return None


def _bad_pattern(part: dict[str, JsonValue]) -> str | None:
    single, several = part.get("pattern"), part.get("patternProperties")
    texts = [single] if isinstance(single, str) else []
    for text in (*texts, *(several if isinstance(several, dict) else ())):
        try:
            pattern_of(text)
        except BadPatternError as fault:
            return f"the pattern `{text[:80]}` {fault}"
    return None


def _first(validator: _Validator, value: object, most: int) -> ValidationError | None:
    token = _left.set([most])
    try:
        errors = validator.iter_errors(value)
        return min(errors, key=lambda error: (len(error.absolute_path), str(list(error.absolute_path))), default=None)
    finally:
        _left.reset(token)


@functools.lru_cache(maxsize=256)
def _validator(schema: str) -> _Validator:
    """Compile a schema, once; a registry of our own keeps foreign references from being fetched.

    The library is loaded when the first schema needs it: a gateway without schemas starts without it.
    """
    from referencing import Registry

    nothing = cast("object", Registry())  # pyright: ignore[reportUnknownArgumentType]
    return cast("_Validator", _bounded_class()(cast("dict[str, Any]", json.loads(schema)), registry=nothing))


@functools.cache
def _bounded_class() -> Callable[..., object]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]

    ours = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    keywords = {**cast("dict[str, Keyword]", Draft202012Validator.VALIDATORS), **ours}
    counted = {name: _counted(name, keyword) for name, keyword in keywords.items()}
    return cast("Callable[..., object]", extend(Draft202012Validator, counted))


def _counted(name: str, keyword: Keyword) -> Keyword:
    price = _PRICES.get(name, 1)

    def apply(validator: _Validator, wanted: object, instance: object, schema: object) -> Iterable[ValidationError]:
        size = len(cast("list[object]", instance)) if isinstance(instance, dict | list) else 0
        if name.startswith("unevaluated"):
            _spend(size * size // _SQUARE)
        if name == "patternProperties":
            _spend(price * size * len(cast("dict[str, object]", wanted)))
        _spend(price + (len(cast("list[object]", wanted)) // 8 if name == "enum" else 0))
        return keyword(validator, wanted, instance, schema) or ()

    return apply


def _spend(steps: int) -> None:
    left = _left.get()
    left[0] -= steps
    if left[0] < 0:
        raise BadArgumentsError("the arguments take too long to check against the schema", path="")


def _pattern(_: _Validator, wanted: str, instance: object, __: object) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not pattern_of(wanted).search(instance):
        yield _error(f"does not match {wanted}")


def _pattern_properties(
    validator: _Validator, wanted: dict[str, object], instance: object, _: object
) -> Iterator[ValidationError]:
    for text, schema in wanted.items() if isinstance(instance, dict) else ():
        for name, value in cast("dict[str, object]", instance).items():
            if pattern_of(text).search(name):
                yield from validator.descend(value, schema, path=name, schema_path=text)


def _additional_properties(
    validator: _Validator, wanted: object, instance: object, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    members = cast("dict[str, object]", instance)
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    _spend(_PRICES["pattern"] * len(members) * len(patterns))
    extras = [
        name
        for name in members
        if name not in known and not any(pattern_of(pattern).search(name) for pattern in patterns)
    ]
    if isinstance(wanted, dict):
        for name in extras:
            yield from validator.descend(members[name], cast("object", wanted), path=name)
    elif not wanted and extras:
        yield _error("has members that the schema does not know")


def _unique_items(_: _Validator, wanted: object, instance: object, __: object) -> Iterator[ValidationError]:
    if not wanted or not isinstance(instance, list):
        return
    items = cast("list[JsonValue]", instance)
    if len({_kind(item) for item in items}) < len(items):
        yield _error("has items that are equal")


def _kind(value: JsonValue) -> object:
    """Return what two values share exactly if JSON Schema calls them equal: `1` and `1.0` are, `1` and `true` not."""
    match value:
        case bool():
            return ("truth", value)
        case list():
            return ("list", *map(_kind, value))
        case dict():
            return frozenset((name, _kind(member)) for name, member in value.items())
        case _:
            return value


def _error(said: str) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(said)
