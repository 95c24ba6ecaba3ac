"""Strict JSON in, canonical JSON out: what a digest rests on.

Hostile JSON is refused, never repaired. A parser that keeps the last of two equal keys, reads `1e400` as infinity or
rounds a large integer shows the approver one call and runs another. So this is refused, with the path of the fault:
text that is not UTF-8 or starts with a byte order mark, duplicate keys, NaN and the infinities, numbers that read as
integers beyond ±(2**53 - 1), halves of surrogate pairs, and nesting beyond a limit.

Canonical form is RFC 8785 (JCS): one text per value, whatever the order of keys and the white space were.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, cast

import rfc8785
from msgspec import Struct
from msgspec import json as fast_json

from app.domain.errors import BadJsonError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
"""A value that JSON can say."""

MAX_DEPTH = 64
MAX_VALUES = 10_000
"""Values in one body: each of them is read, checked, digested and shown, 10 µs in all. The size alone bounds nothing:
a megabyte has room for half a million."""
MAX_INT = 2**53 - 1
_INTEGRAL_NOTATION = 1e21  # from here on the canonical form of a float has an exponent, so that it stays a float
_LONGEST_INT = 17  # characters of -(2**53 - 1); longer ones are not even converted, which would take quadratic time
_KEY_IN_FAULT = 64
_QUOTE = ord('"')

_simple = fast_json.Encoder(order="sorted").encode
_plain = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode

_BRACKETS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_OPENINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_Path: TypeAlias = "tuple[_Path, str | int] | None"  # a linked list from the leaf up: free until there is a fault


class _Refused(Struct, frozen=True):
    """Stands where the parser met something that it may not let pass, until the walk names its path."""

    why: str


def parse_json(raw: bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> JsonValue:
    """Turn the bytes of a body into a value. Raises BadJsonError with the `path` of the fault ("" is the whole)."""
    if raw.startswith(b"\xef\xbb\xbf"):
        raise _fault("starts with a byte order mark", None)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _fault(f"not UTF-8 at byte {error.start}", None) from None
    containers = raw.count(b"[") + raw.count(b"{")
    if containers > max_depth:
        _refuse_depth(raw, max_depth, max_values)
    if containers + raw.count(b",") > max_values:
        _refuse_many(raw, max_values)
    try:
        value: object = _parse(text)
    except json.JSONDecodeError as error:
        raise _fault(f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}", None) from None
    return check_value(value, max_depth=max_depth)


def check_value(value: object, *, max_depth: int = MAX_DEPTH, max_values: int | None = None) -> JsonValue:
    """Return `value` itself if it is JSON under the same rules as `parse_json`. Raises BadJsonError with the path."""
    if not _is_simple(value, max_depth, max_values):
        _refuse_faults(value, max_depth, max_values)
    return cast("JsonValue", value)  # every part of it was looked at


def _is_simple(value: object, max_depth: int = MAX_DEPTH, max_values: int | None = None) -> bool:
    """Say whether a value is JSON without fractions, with ASCII names alone: nearly every one is, and no path is kept.

    Of another one this says nothing: it may be JSON all the same.
    """
    part = cast("JsonValue", value)  # it may be anything: what it is, and holds, is found here
    level: Collection[JsonValue] = (part,)
    depth = seen = 0
    if type(part) is dict and max_depth > 0 and _are_plain(part):  # as most are: one round less
        level, depth, seen = part.values(), 1, len(part)
    while max_values is None or seen <= max_values:
        within: list[JsonValue] = []
        is_leaf = True
        for part in level:
            if (type(part) is str and part.isascii()) or part is None or (type(part) is int and abs(part) <= MAX_INT):
                continue  # most are
            if type(part) is list:
                within += part
                is_leaf = False
            elif type(part) is dict and _are_plain(part):
                within += part.values()
                is_leaf = False
            elif type(part) is not bool and (type(part) is not str or _has_lone_surrogate(part)):
                return False
        if is_leaf:
            return True
        if depth >= max_depth:
            break
        level, depth, seen = within, depth + 1, seen + len(within)
    return False


def _are_plain(names: Iterable[str]) -> bool:
    try:
        return "".join(names).isascii()
    except TypeError:  # one is no text
        return False


def _refuse_faults(value: object, max_depth: int, max_values: int | None) -> None:
    pending: list[tuple[object, _Path, int]] = [(value, None, 0)]
    seen = 0
    while pending:
        part, path, depth = pending.pop()
        if isinstance(part, dict):
            members = _named(cast("dict[object, object]", part), path)
            pending.extend((member, (path, key), depth + 1) for key, member in members.items())
        elif isinstance(part, list):
            items = cast("list[object]", part)
            pending.extend((item, (path, index), depth + 1) for index, item in enumerate(items))
        else:
            why = _fault_of_scalar(part)
            if why is not None:
                raise _fault(why, path)
            continue
        seen += len(cast("list[object]", part))
        if max_values is not None and seen > max_values:
            raise _fault(f"more than {max_values} values", None)
        if depth >= max_depth:
            raise _fault(f"nested deeper than {max_depth}", path)


def _named(members: dict[object, object], path: _Path) -> dict[str, object]:
    for key in members:
        if not isinstance(key, str):
            raise _fault("a key is not a text", path)
        if _has_lone_surrogate(key):
            raise _fault("half of a surrogate pair in a key", (path, key))
    return cast("dict[str, object]", members)


def canonical(value: object) -> bytes:
    """Return the RFC 8785 form of `value`. Raises BadJsonError where `value` is not acceptable JSON.

    Nearly every value is written the same by msgspec's encoder, six times faster with the look whether it is one; the
    others (a fraction, a name that is not ASCII) by the library that knows the whole of RFC 8785.
    """
    return _simple(value) if _is_simple(value) else rfc8785.dumps(check_value(value))


def plain_canonical(value: Mapping[str, object]) -> bytes:
    """Return the RFC 8785 form of a value of our own making: no fractions, and only ASCII names.

    For such values both encoders write the very same bytes (a property test compares them), many times faster than the
    library that knows the whole of RFC 8785; the trail is written on the hot path. What is none of them after all goes
    to the standard library's: it raises ValueError for NaN and TypeError for a date, where msgspec writes something.
    """
    return _simple(value) if _is_simple(value) else _plain(value).encode()


def digest(value: JsonValue | Mapping[str, JsonValue]) -> str:
    """Return the SHA-256 of the canonical form, as 64 hexadecimal digits. Raises BadJsonError."""
    return hashlib.sha256(canonical(value)).hexdigest()


def path_text(*steps: str | int) -> str:
    """Write a path as ``items[3].payee``; a key that is no plain word as ``["two words"]``, in ASCII, cut short."""
    written = ""
    for step in steps:
        if isinstance(step, int):
            written += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            written += f".{step[:_KEY_IN_FAULT]}" if written else step[:_KEY_IN_FAULT]
        else:
            written += f"[{json.dumps(step[:_KEY_IN_FAULT])}]"
    return written


def _refuse_depth(raw: bytes, max_depth: int, max_values: int) -> None:
    """Count brackets outside of strings, before any parser descends; a hostile depth ends the scan at once.

    So does what can be no JSON of so many values up to here: it is there that the parser stops, and says why.
    """
    depth = 0
    for token in islice(_BRACKETS.finditer(raw), 4 * max_values + 8):
        first = raw[token.start()]
        if first in b"[{":
            depth += 1
            if depth > max_depth:
                raise _fault(f"nested deeper than {max_depth}", None)
        elif first in b"]}":
            depth -= 1
            if depth < 0:
                return


def _refuse_many(raw: bytes, max_values: int) -> None:
    """Count what begins a value, outside of strings, before any of them is made."""
    values = strings = 0
    for token in _OPENINGS.finditer(raw):
        if raw[token.start()] == _QUOTE:
            strings += 1
            if strings > 2 * values + 2:  # more than keys and values: the parser gets no further either
                return
        else:
            values += 1
            if values > max_values:
                raise _fault(f"more than {max_values} values", None)


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        members[key] = _Refused("the same key twice") if key in members else value
    return members


def _float_of(text: str) -> object:
    number = float(text)
    return number if math.isfinite(number) else _Refused("too large a number")


def _int_of(text: str) -> object:
    return int(text) if len(text) <= _LONGEST_INT else _Refused("an integer beyond ±(2**53 - 1)")


_parse = json.JSONDecoder(  # made once: to make it takes as long as to read a small body
    object_pairs_hook=_object_of,
    parse_constant=lambda name: _Refused(f"{name} is not JSON"),
    parse_float=_float_of,
    parse_int=_int_of,
).decode


def _fault_of_scalar(value: object) -> str | None:
    match value:
        case None | bool():
            return None
        case str():
            return "half of a surrogate pair" if _has_lone_surrogate(value) else None
        case int():
            return None if -MAX_INT <= value <= MAX_INT else "an integer beyond ±(2**53 - 1)"
        case float():
            if not math.isfinite(value):
                return "not a finite number"
            return "an integer beyond ±(2**53 - 1)" if MAX_INT < abs(value) < _INTEGRAL_NOTATION else None
        case _Refused():
            return value.why
        case _:
            return f"not JSON: {type(value).__name__}"


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _fault(why: str, path: _Path) -> BadJsonError:
    steps: list[str | int] = []
    while path is not None:
        path, step = path
        steps.append(step)
    where = path_text(*reversed(steps))
    return BadJsonError(f"{where}: {why}" if where else why, path=where, why=why)
