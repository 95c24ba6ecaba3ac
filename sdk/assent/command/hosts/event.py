"""What a host tells the hook, in one form for all hosts.

Strictly: an event that cannot be read is a fault, and a fault ends in exit code 2. Members that are not known are
ignored, and of those that may be missing it is the same whether they are absent, null or empty.
"""

from __future__ import annotations

import json
import re

from assent.command.faults import HookError
from assent.command.hosts.row import SEEN
from assent.command.shapes import as_list, as_object, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from assent.command.hosts.row import Form, Host

_LONGEST_WORDS = 4_000  # of the gateway
_MOST_TOLD = 14_000  # of an event: the gateway keeps 16 Ki characters
_SHORT = 40
_MOST_VALUES = 500_000
_MOST_DIGITS = 4_300  # Python reads no whole number of more
_MOST_PLACE = 200
_INFINITE = (float("inf"), float("-inf"))
_OF_ONE_KIND = ("command", "file_path")
"""What an event has that is about a call of one kind of tool, and names neither tool nor arguments."""
_ARGUMENTS = "(the call's arguments)"


class Event:
    """One event: `kind` is what it tells, `form` how it wants to be answered (None: it asks nothing)."""

    __slots__ = ("arguments", "call_id", "form", "host", "kind", "moment", "raw", "session", "sub_agent", "tool")

    def __init__(self, host: Host, raw: dict[str, Any]) -> None:
        self.host = host
        self.raw = raw
        self.moment = _text(raw, ("hook_event_name",)) or "" if host.event_of is None else host.event_of(raw) or ""
        self.form: Form | None = host.asks.get(self.moment)
        self.session = _text(raw, host.session)
        self.kind = "" if self.form else self._kind()
        self.tool = ""
        self.arguments: dict[str, Any] = {}
        self.call_id = _text(raw, host.call_id)
        self.sub_agent = _text(raw, (host.sub_agent,))
        if self.kind not in {SEEN, "over"}:
            self.tool, self.arguments = self._call()

    def _kind(self) -> str:
        """What an event tells that asks nothing. One that is not known may not be about a call: it might decide it."""
        known = self.host.tells.get(self.moment)
        if known is not None:
            return known
        if not self.moment and self.host.event_of is None:
            raise HookError("the event has no text in 'hook_event_name'")
        of_one_kind = _OF_ONE_KIND if self.host.call_of else ()
        if any(name in self.raw for name in (*self.host.tool, *self.host.arguments, *of_one_kind)):
            raise HookError(
                f"{self.host.name} asks about a call at {self.moment!r}, an event that this version does not know"
            )
        return SEEN

    def _call(self) -> tuple[str, dict[str, Any]]:
        told = self.host.call_of(self.raw, self.moment) if self.host.call_of else None
        if told is not None:
            return told
        tool = _text(self.raw, self.host.tool)
        if tool is None:
            raise HookError(f"the event has no text in '{self.host.tool[0]}'")
        found = next((self.raw[name] for name in self.host.arguments if self.raw.get(name) is not None), None)
        if isinstance(found, str) and self.host.arguments_as_text:
            found = _decoded(found, "the call's arguments are")
        arguments = as_object(found)
        if arguments is None:
            raise HookError(f"the event has no object in '{self.host.arguments[0]}'")
        return tool, arguments

    @property
    def answering(self) -> Form:
        """How this event is answered. Raises `HookError` where it asks nothing."""
        if self.form is None:
            raise HookError(f"{self.moment!r} asks nothing")
        return self.form

    def allow(self, reason: str, *, replaced: dict[str, Any] | None = None, context: Sequence[str] = ()) -> bytes:
        """The answer that lets the tool run."""
        return self.answering.allow(self.moment, reason, replaced=replaced, context=context)

    def deny(self, reason: str) -> bytes:
        """The answer that keeps the tool from running."""
        return self.answering.deny(self.moment, reason)

    def as_sent(self) -> str:
        """What the host sent, for whoever asks later: its arguments are named, not repeated, and no member is long."""
        told = {name: _ARGUMENTS if name in self.host.arguments else value for name, value in self.raw.items()}
        sizes = {name: len(json.dumps(value)) for name, value in told.items()}
        while sum(sizes.values()) > _MOST_TOLD:
            longest = max(sizes, key=sizes.__getitem__)
            if sizes[longest] <= _SHORT:
                break  # so many short ones: the gateway cuts
            told[longest] = f"(cut: {sizes[longest]} characters)"
            sizes[longest] = _SHORT
        return plain(told).encode(errors="backslashreplace").decode()

    def claim_id(self) -> str | None:
        """The claim of this very call, the same before and after the tool; None when the host gives calls no id."""
        if self.call_id is None or self.session is None:
            return None
        return "clm_" + _sha256(f"{self.session}\n{self.call_id}")

    def words(self) -> str | None:
        """The agent's own description of the call, for the approver."""
        words = self.arguments.get("description")
        return words[:_LONGEST_WORDS] if isinstance(words, str) else None


def _sha256(text: str) -> str:
    """As hashlib has it, which loads all of OpenSSL for this one, in the time of a quarter of a tool call's check."""
    try:
        from _sha256 import sha256  # pyright: ignore[reportMissingImports, reportUnknownVariableType]  Python 3.11
    except ImportError:
        try:
            from _sha2 import sha256  # pyright: ignore[reportMissingImports, reportUnknownVariableType]  from 3.12 on
        except ImportError:
            from hashlib import sha256
    return str(sha256(text.encode()).hexdigest())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _text(raw: dict[str, Any], names: Sequence[str]) -> str | None:
    """The text under the first of the names that has something; what is there and no text is a fault."""
    for name in names:
        value = raw.get(name)
        if value is not None and not isinstance(value, str):
            raise HookError(f"the event has no text in '{name}'")
        if value:
            return value
    return None


def parse_event(host: Host, content: bytes) -> Event:
    """The event, strictly: what JSON does not allow could be judged as one thing and run as another."""
    return Event(host, members_of(content))


def members_of(content: bytes) -> dict[str, Any]:
    """What a host has written, read and not yet understood."""
    try:
        told = content.decode()
    except ValueError as error:
        raise HookError(f"the event is not JSON: {error}") from error
    raw = as_object(_decoded(told, "the event is"))
    if raw is None:
        raise HookError("the event is no JSON object")
    return raw


def refusal_of(host: Host, raw: dict[str, Any], reason: str) -> bytes | None:
    """The no to an event that asks and is not understood, where the host heeds no exit code. None: it heeds one."""
    moment = raw.get("hook_event_name")
    form = host.asks.get(moment) if isinstance(moment, str) else None
    return None if form is None or form.heeds_exit else form.deny(str(moment), reason)


def _decoded(told: str, what: str) -> object:
    if _holds_too_much(told):
        raise HookError(f"{what} of more values than a hook keeps ({_MOST_VALUES})")
    too_large: list[str] = []

    def whole(written: str) -> float:
        if len(written) > _MOST_DIGITS:
            too_large.append(written)
            return _INFINITE[0]
        return int(written)

    def number(written: str) -> float:
        found = float(written)
        if found in _INFINITE:
            too_large.append(written)
        return found

    try:
        found = json.loads(
            told, object_pairs_hook=unique, parse_constant=_no_constant, parse_float=number, parse_int=whole
        )
    except (ValueError, RecursionError) as error:
        raise HookError(f"{what} not JSON: {error}") from error
    if too_large:
        raise HookError(
            f"{_place_of_infinite(found)} is {too_large[0][:_SHORT]}, larger than any number that a program keeps: "
            f"call again with a smaller number, or with its digits as a text"
        )
    return found


def _holds_too_much(told: str) -> bool:
    """Whether it is of more values than a hook may keep.

    Of 64 MiB of `{},` 2 GiB would become; who runs out of memory is killed, and most hosts take that for a yes.
    """
    if sum(map(told.count, ",[{")) <= _MOST_VALUES:
        return False
    found, at = 0, 0
    for text in re.finditer(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', told, re.DOTALL):
        found += sum(told.count(mark, at, text.start()) for mark in ",[{")
        at = text.end()
        if found > _MOST_VALUES:
            return True
    return found + sum(told.count(mark, at) for mark in ",[{") > _MOST_VALUES


def _place_of_infinite(value: object) -> str:
    """Where the first number stands that is too large."""
    left: list[tuple[str, object]] = [("", value)]
    while left:
        place, one = left.pop()
        if isinstance(one, float) and one in _INFINITE:
            return f"{place[1 : 1 + _MOST_PLACE]!r}" if place else "it"
        inner = as_object(one)
        parts = enumerate(as_list(one)) if inner is None else inner.items()
        left += reversed([(f"{place}.{name}", part) for name, part in parts])
    return "a number"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def plain(value: object) -> str:
    """Arguments, or a result, as a model reads them: JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two argument objects are the same JSON (True is not 1)."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
