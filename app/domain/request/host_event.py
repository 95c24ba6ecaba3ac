"""What an agent's program sent to its hook, as it is kept beside a request: for whoever asks later what was said.

It is text, nothing is judged by it, and it is bounded: what is over is cut, and the text says so. The values that the
file marks as sensitive stand in it as they do in the arguments: hidden. The hook names the arguments in their place,
and does not repeat them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from app.domain.request.redact import scrubbed
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language

MOST_KEPT = 16 * 1024
"""Characters of it that are kept."""
MOST_SENT = 32 * 1024
"""Bytes of it that a body may have besides the call."""
CUT = " … (cut: {kept} of {had} characters are kept)"
_IS_CUT = re.compile(r" … \(cut: ([0-9]{1,9}) of ([0-9]{1,9}) characters are kept\)\Z")


def kept_event(told: str, arguments: Mapping[str, JsonValue], sensitive: Iterable[str], *, had: int) -> str:
    """Return what is kept of an event that had so many characters."""
    paths = tuple(sensitive)
    text = told.replace("\0", "\\u0000")  # PostgreSQL's texts have no NUL
    if paths:  # before anything is cut: of a value that is cut in two, a half would stay
        for written in _spellings(arguments):
            text = scrubbed(text, written, paths)
    return text if len(text) <= MOST_KEPT else text[:MOST_KEPT] + CUT.format(kept=MOST_KEPT, had=had)


def event_in(kept: str, language: Language) -> str:
    """Return what is kept, as a reader is told it: that it was cut stands in their language."""
    return _IS_CUT.sub(lambda cut: say(language, "review.host_event.cut", kept=cut[1], had=cut[2]), kept)


def _spellings(arguments: Mapping[str, JsonValue]) -> list[dict[str, JsonValue]]:
    """Return the arguments with their texts as JSON may write them: as they are, escaped, and within a text of JSON."""
    plain = dict(arguments)
    once = [_escaped(plain, ascii_only=each) for each in (False, True)]
    twice = [_escaped(way, ascii_only=each) for way in once for each in (False, True)]
    ways: list[dict[str, JsonValue]] = []
    for way in (*twice, *once, plain):  # the longest first: none is left with half of its escapes
        if way not in ways:
            ways.append(way)
    return ways


def _escaped(arguments: Mapping[str, JsonValue], *, ascii_only: bool) -> dict[str, JsonValue]:
    return {name: _written(value, ascii_only=ascii_only) for name, value in arguments.items()}


def _written(value: JsonValue, *, ascii_only: bool) -> JsonValue:
    match value:
        case str():
            return json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        case dict():
            return _escaped(value, ascii_only=ascii_only)
        case list():
            return [_written(item, ascii_only=ascii_only) for item in value]
        case _:
            return value
