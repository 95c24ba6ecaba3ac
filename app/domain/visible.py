r"""Outside text made inert and visible: what a person sees is what is there.

Characters that cannot be seen, or that change the direction or look of their neighbours, stand as ``\\u{202E}``; line
breaks and tabs stay but cannot hide what follows. Nothing is removed, so the text decodes back to the input.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.canonical import JsonValue

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"})
# Letters and marks that render as nothing: Hangul fillers, the Braille blank, the grapheme joiner, Mongolian and
# standard variation selectors (Unicode's Default_Ignorable_Code_Point, the part outside the categories above).
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5") | {
    chr(code) for span in ((0x180B, 0x1810), (0xFE00, 0xFE10), (0xE0100, 0xE01F0)) for code in range(*span)
}
_PLAIN = re.compile(r"[ -\[\]-~\u4e00-\u9fff]*")  # ASCII without the backslash, and common Chinese: nothing to do
_SPACES = re.compile(r" {3,}")
_OTHER_SPACES = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


def visible(text: str) -> str:
    """Show every character of `text`, escaping those that cannot be seen as they are."""
    if _PLAIN.fullmatch(text) and "   " not in text:
        return text
    shown = "".join(_show(char) for char in text)
    # A long run of blanks can push what matters out of sight: its length is written instead.
    return _SPACES.sub(lambda run: f" \\u{{20}}×{len(run.group()) - 1} ", shown)


def _show(char: str) -> str:
    if char == "\n":
        return "⏎\n"
    if char == "\t":
        return "→\t"
    if char == "\\":
        return "\\\\"
    if char in _BLANK or char in _OTHER_SPACES or unicodedata.category(char) in _HIDDEN_CATEGORIES:
        return f"\\u{{{ord(char):X}}}"
    return char


def visible_value(value: JsonValue) -> str:
    """Show a JSON value: strings as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, ensure_ascii=False, sort_keys=True))
