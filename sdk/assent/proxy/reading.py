"""JSON-RPC messages as whoever gets them will read them, or not at all.

What is judged here is read again by a server in another language. So a line that two readers could understand in two
ways is refused: a member that stands twice or in another case (Go's decoder takes `Method` for `method`), a bare
carriage return (line readers end a line there), what is no UTF-8, NaN, and nesting that ends our own reader.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from typing import NoReturn

Object: TypeAlias = dict[str, Any]
Id: TypeAlias = "str | int | float"

_ENVELOPE = ("jsonrpc", "id", "method", "params", "result", "error")
_CALL = ("name", "arguments")


class UnreadableError(ValueError):
    """A line that is passed to nobody; the text says why."""


class Line:
    """One line, read: its messages, whether they came as a batch, and what is doubtful inside of them."""

    __slots__ = ("batch", "doubled", "inexact", "messages", "raw")

    def __init__(self, raw: bytes | None, *, of_lines: bool = True) -> None:
        """Read it; None is one that was too long to keep. Raises `UnreadableError`.

        `of_lines`: whoever gets it reads lines, and could take a carriage return for the end of one.
        """
        if raw is None:
            raise UnreadableError("the line is too long")
        self.raw = raw
        self.doubled = False
        """Whether a member stands twice somewhere below the messages themselves."""
        self.inexact = False
        """Whether a number is written with digits that JSON's readers drop: what is shown is not what is written."""
        if of_lines and b"\r" in raw.rstrip(b"\r\n"):
            raise UnreadableError("there is a carriage return in the middle of the line")
        value = self._decoded()
        self.batch = isinstance(value, list)
        found = cast("list[object]", value) if self.batch else [value]
        if not found:
            raise UnreadableError("the batch is empty")
        self.messages = [_message(each) for each in found]

    def _decoded(self) -> object:
        try:
            return json.loads(
                self.raw.decode(),
                object_pairs_hook=self._object,
                parse_constant=_no_constant,
                parse_float=self._number,
            )
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise UnreadableError(f"the line is not JSON: {why[:200]}") from error

    def _object(self, pairs: list[tuple[str, Any]]) -> Object:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        self.doubled = True
        return _Doubled(found)

    def _number(self, written: str) -> float:
        number = float(written)
        if abs(number) == float("inf"):
            raise ValueError("a number is too large")
        if len(written) > _SURELY_EXACT and Decimal(written) != Decimal(repr(number)):
            self.inexact = True
        return number


_SURELY_EXACT = 15
"""Characters of a number that every reader keeps."""


class _Doubled(dict[str, Any]):
    """An object in which a member stood twice."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _message(value: object) -> Object:
    if not isinstance(value, dict):
        raise UnreadableError("a message must be a JSON object")
    message = cast("Object", value)
    if isinstance(message, _Doubled):
        raise UnreadableError("a member of the message stands twice")
    misread(message, _ENVELOPE)
    if "method" in message and not isinstance(message["method"], str):
        raise UnreadableError("'method' must be a text")
    return message


def misread(value: Object, names: tuple[str, ...] = _CALL) -> None:
    """Refuse a member that some readers take for one of these. Raises `UnreadableError`."""
    folded = {name.casefold(): name for name in names}
    for name in value:
        if name not in names and name.casefold() in folded:
            raise UnreadableError(f"the member {name!r} would be taken for {folded[name.casefold()]!r} by some")


def id_of(message: Object) -> Id | None:
    """The id of a call or of an answer, where it is one that JSON-RPC knows; else None."""
    found = message.get("id")
    return found if isinstance(found, str | int | float) and not isinstance(found, bool) else None


_TOKEN = re.compile(r'"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
"""A token of what may be no JSON: a text that has no end goes to the end, so that each byte is looked at once."""
_MOST_SEARCHED = 1024 * 1024
_LONGEST_ID = 200
_WHOLE = re.compile(r"-?[0-9]{1,15}")


def id_in(raw: bytes | None) -> Id | None:
    """The id of a call in a line that cannot be read, so that nobody waits for it; None where it is not clear.

    It is clear in one whole object, however deep and whatever its values are, that has a `method` and a single `id`:
    an answer has no method, and to answer that would be taken for the answer to another call.
    """
    if raw is None or len(raw) > _MOST_SEARCHED:
        return None
    top = _outermost(raw.decode(errors="replace"))
    if top is None or len(top) % 4 != 3 or set(top[1::4]) != {":"} or set(top[3::4]) - {","}:
        return None
    members = list(zip(map(_text, top[::4]), top[2::4], strict=True))
    folded = [name.casefold() if name is not None else None for name, _ in members]
    if "method" not in folded or folded.count("id") != 1:
        return None
    name, value = members[folded.index("id")]
    if name == "id" and _WHOLE.fullmatch(value):
        return int(value)
    text = _text(value) if name == "id" else None
    return text if text is None or len(text) <= _LONGEST_ID else None


def _outermost(text: str) -> list[str] | None:
    """The tokens of one object and of no other, each value that has parts as its bracket alone."""
    found: list[str] = []
    depth, over = 0, False
    for each in _TOKEN.finditer(text):
        part = each[0]
        if over or (depth == 0 and part != "{"):
            return None
        if part in {"]", "}"}:
            depth -= 1
            over = depth == 0
            continue
        if depth == 1:
            found.append(part)
        if part in {"[", "{"}:
            depth += 1
    return found if over else None


def _text(token: str) -> str | None:
    try:
        found = json.loads(token) if token.startswith('"') else None
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def asks(message: Object) -> bool:
    """Whether this is a call or a notification, and no answer."""
    return "method" in message


def written(message: object) -> bytes:
    """One line of a message that we write."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
