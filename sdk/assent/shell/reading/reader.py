"""Reads a shell text into the commands that it would run, without running anything.

Tree-sitter's bash grammar gives the structure; words are resolved here, in a scope that follows assignments, `cd`,
pipes and substitutions in reading order. Branches are all read, loops once for each known item. What is too deep, too
long or not understood is named in `Script.unread`: the caller decides what that means.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

from assent.shell.reading.dispatch import Dispatcher
from assent.shell.reading.walk import Reading
from assent.shell.words.scope import PRIVATE, Scope, known
from assent.shell.words.script import Script

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 262_144
"""Characters: agents write whole files in here-documents."""
_TIME = 5.0  # seconds of this thread's own work: the last net behind the counted bounds of `walk.py`
_SHORT = 2048  # characters: the reading of a longer text may take megabytes
_SHARE = 24  # part of the limits within which a text is read at once: 500 words, 20 ms
_KEPT, _KEPT_LONG = 64, 2  # readings: several guards judge the same text


def read_script(text: str, *, variables: Mapping[str, str] | None = None) -> Script:
    """Return all commands of the text. Never raises for a text, whatever it is.

    Args:
        text: As it would be given to `bash -c`.
        variables: What is known of the environment that it would run in; `PWD` is its directory.
    """
    if len(text) > LONGEST:
        return Script(commands=(), unread=(f"the command is longer than {LONGEST} characters",))
    given = _given(variables)
    return (_read_short(text, given) if _is_short(text, given) else None) or _read_long(text, given)


def is_quickly_read(text: str, *, variables: Mapping[str, str] | None = None) -> bool:
    """Say whether reading the text takes milliseconds at most: found out by reading it, within a part of the limits."""
    given = _given(variables)
    return _is_short(text, given) and _read_short(text, given) is not None


def _given(variables: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((variables or {}).items()))


def _is_short(text: str, given: tuple[tuple[str, str], ...]) -> bool:
    return len(text) + sum(len(name) + len(value) for name, value in given) <= _SHORT


def _read(text: str, variables: tuple[tuple[str, str], ...], share: int = 1) -> Reading:
    scope = Scope(variables={name: known(value.translate(PRIVATE)) for name, value in variables})
    scope.exported = frozenset(scope.variables)
    directory = scope.variables.pop("PWD", None)
    scope.cwd = directory.texts[0] if directory else None
    reading = Reading(deadline=time.thread_time() + _TIME, share=share)
    dispatcher = Dispatcher(reading)
    dispatcher.surround({name: value for name, value in variables if name != "PWD"}, scope)
    dispatcher.read(text.replace("\r\n", "\n").replace("\0", "").translate(PRIVATE), scope)
    return reading


@lru_cache(maxsize=_KEPT)
def _read_short(text: str, variables: tuple[tuple[str, str], ...]) -> Script | None:
    reading = _read(text, variables, _SHARE)
    return None if reading.stopped else reading.script()


@lru_cache(maxsize=_KEPT_LONG)
def _read_long(text: str, variables: tuple[tuple[str, str], ...]) -> Script:
    return _read(text, variables).script()
