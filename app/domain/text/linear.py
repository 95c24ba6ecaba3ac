"""Patterns of others, matched in linear time whatever the text: the regular expressions of the condition language.

Python's own expressions try every way of reading a text: `^([A-Za-z0-9]+[- ]?)+$` takes longer than anybody lives for
83 characters. These have no look-around and no back-references, and what uses them is refused when it is loaded.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from types import ModuleType
from typing import cast

# The package brings its own command line, and that a terminal's libraries: a tenth of a gateway's start.
_is_left_out = "cel.cli" not in sys.modules
if _is_left_out:
    sys.modules["cel.cli"] = ModuleType("cel.cli")
import cel  # noqa: E402 - see above

if _is_left_out:
    del sys.modules["cel.cli"], cel.cli

__all__ = ["BadPatternError", "Pattern", "cel", "pattern_of"]

_SETS = re.compile(r"\[[^\]]*(?:&&|--|~~)")
_LONGEST = 1000  # characters of a pattern


class BadPatternError(ValueError):
    """The text is no pattern that can be matched in linear time."""


class Pattern:
    """A pattern that loaded."""

    __slots__ = ("_program", "_text")

    def __init__(self, text: str) -> None:
        """Load it. Raises BadPatternError."""
        if len(text) > _LONGEST:
            raise BadPatternError(f"is longer than {_LONGEST} characters")
        if _SETS.search(text):
            raise BadPatternError("has `&&`, `--` or `~~` within brackets: write it with a backslash")
        self._text = text
        self._program = cel.compile("text.matches(pattern)")
        if self._tried("") is None:
            raise BadPatternError(
                "is no pattern that can be matched in linear time: no look-around, no back-references"
            )

    def search(self, text: str) -> bool:
        """Say whether it matches anywhere in the text."""
        return bool(self._tried(text))

    def _tried(self, text: str) -> bool | None:
        try:
            return cast("bool", self._program.execute({"text": text, "pattern": self._text}))
        except Exception:  # noqa: BLE001 - whatever the binding raises, it is no pattern for it
            return None
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # a defect in the binding; its class cannot be imported
                return None
            raise


@lru_cache(maxsize=256)
def pattern_of(text: str) -> Pattern:
    """Return the pattern of an org's file. Raises BadPatternError."""
    return Pattern(text)
