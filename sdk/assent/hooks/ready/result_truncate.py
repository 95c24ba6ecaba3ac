"""`ResultTruncate`: a long result is cut in its middle, and the model is told how much is missing.

The cut falls between two characters as people see them: not inside a surrogate pair, not between a letter and its
accent, nor inside an emoji that is put together from several.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.hook import REWRITING, PostToolUseFailureHook, PostToolUseHook
from assent.hooks.contract.verdicts import HookResult, replace_result
from assent.hooks.ready.off_loop import off_loop

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext

_LIMIT = 8000
_SMALLEST = 200
_ROOM_FOR_NOTE = 100
_HEAD = 2 / 3
_LONGEST_CLUSTER = 32
_JOINER = "\u200d"


def truncate(text: str, limit: int) -> str:
    """Return `text` with its middle cut out where it is longer than `limit` characters, and a note of what is missing.

    The answer, note included, is no longer than `limit` (at least 200).
    """
    if len(text) <= limit:
        return text
    kept = limit - _ROOM_FOR_NOTE
    head = _before(text, round(kept * _HEAD))
    tail = _after(text, len(text) - (kept - round(kept * _HEAD)))
    note = f"[… {tail - head:,} of {len(text):,} characters cut here; the beginning and the end are kept …]"
    return f"{text[:head]}\n{note}\n{text[tail:]}"


def _before(text: str, at: int) -> int:
    lowest = max(0, at - _LONGEST_CLUSTER)
    while at > lowest and _belong_together(text, at):
        at -= 1
    return at


def _after(text: str, at: int) -> int:
    highest = min(len(text), at + _LONGEST_CLUSTER)
    while at < highest and _belong_together(text, at):
        at += 1
    return at


def _belong_together(text: str, at: int) -> bool:
    """Say whether the characters on both sides of `at` are parts of one that people see."""
    left, right = text[at - 1], text[at]
    return (
        _JOINER in {left, right}
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
        or (left == "\r" and right == "\n")
        or unicodedata.category(right) in {"Mn", "Mc", "Me"}  # accents, vowel signs, variation selectors
        or "\U0001f3fb" <= right <= "\U0001f3ff"  # the tones of skin
        or "\U000e0020" <= right <= "\U000e007f"  # the letters of a flag's tag
    )


class ResultTruncate(PostToolUseHook):
    """Cuts a result that is longer than `limit` characters, and (its `sibling`) what a failure says.

    Structures are cut as their JSON text. Short ones stay as they are.
    """

    name = "result-truncate"
    description = "cuts long results in their middle"
    priority = REWRITING

    def __init__(self, *, limit: int = _LIMIT) -> None:
        self._limit = _checked(limit)
        self.sibling = ResultTruncateFailure(limit=limit)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Replace a result that is too long."""
        return await _replaced(ctx.result, self._limit)


class ResultTruncateFailure(PostToolUseFailureHook):
    """Cuts what a failing tool says; `ResultTruncate` brings it along."""

    name = "result-truncate-failure"
    description = "cuts long errors in their middle"
    priority = REWRITING

    def __init__(self, *, limit: int = _LIMIT) -> None:
        self._limit = _checked(limit)

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Replace an error's text that is too long."""
        return await _replaced(ctx.error if ctx.result is None else ctx.result, self._limit)


def _checked(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < _SMALLEST:  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
        raise ValueError(f"limit: give a number of characters, {_SMALLEST} or more, not {limit!r}")
    return limit


async def _replaced(result: Any, limit: int) -> HookResult | None:
    if result is None:
        return None
    text = await off_loop(_text, result)
    if len(text) <= limit:
        return None
    return replace_result(truncate(text, limit)).with_side_effects(truncated_from=len(text))


def _text(result: Any) -> str:
    match result:
        case str():
            return result
        case bytes():
            return result.decode("utf-8", "replace")
        case _:
            try:
                return json.dumps(result, ensure_ascii=False, default=str)
            except (TypeError, ValueError, RecursionError):  # names that are no texts, a circle, a well
                return str(result)
