r"""Outside text made inert and visible: what a person sees is what is there.

Characters that cannot be seen, or that change the direction or look of their neighbours, stand as ``\u{202E}``; line
breaks and tabs stay but cannot hide what follows: a run of three or more is written as its length, and so is a run of
blanks. Nothing is removed, so the text decodes back to the input.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.text.canonical import JsonValue

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"})
# Letters and marks that render as nothing: Hangul fillers, the Braille blank, the grapheme joiner, Mongolian and
# standard variation selectors (Unicode's Default_Ignorable_Code_Point, the part outside the categories above).
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\U0001d159\U00016fe4") | {
    chr(code) for span in ((0x180B, 0x1810), (0xFE00, 0xFE10), (0xE0100, 0xE01F0)) for code in range(*span)
}
PLAIN = re.compile(r"(?!.* {3})[ -\[\]-~\u4e00-\u9fff]*")
"""A text in which everything is visible: ASCII without the backslash, and common Chinese, with no run of blanks."""
_SPACES = re.compile(r" {3,}")
_BREAKS = re.compile(r"(?:⏎\n){3,}|(?:→\t){3,}")
_STRIKING = frozenset(map(chr, range(0x334, 0x339)))  # marks that strike a letter through: another letter, or none
# Two marks on one letter are as many as Vietnamese needs; a flood of them would paint over other lines. Of `_kind`s.
_MARK_TOO_MANY = re.compile(r"(?<!l)(?<!lm)m")
# Marks that look like the double one at the end of a quotation, and those two of which do.
_DOUBLE = '"\u02ba\u02dd\u02ee\u05f4\u201c-\u201f\u2033\u2036\u275d\u275e\u2e42\u301d-\u301f\uff02\U0001f676-\U0001f678'
_SINGLE = "`'\u00b4\u02b9-\u02bf\u02c8\u02ca\u02cb\u05f3\u2018-\u201b\u2032\u2035\u275b\u275c\ua78c\uff07\uff40"
_LIKE_QUOTES = re.compile(f"[{_DOUBLE}]|[{_SINGLE}]{{2,}}")
QUOTED = "\u201c[^\u201c\u201d]*(?:\u201d|(?=\u201c)|\\Z)"
"""What `quoted` returns, as a pattern; also where what hides secrets has taken the mark at its end."""
_NAME = re.compile(r"[\w.@:/+-]+")
_OTHER_SPACES = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


def visible(text: str) -> str:
    """Show every character of `text`, escaping those that cannot be seen as they are."""
    if PLAIN.fullmatch(text):
        return text
    letters = set(text)  # each is looked at once: an argument may have a million of them
    marked = any(unicodedata.category(char) == "Mn" for char in letters)
    table = {char: _show(char) for char in letters}
    shown = _thinned(text, table) if marked else text.translate(str.maketrans(table))
    # A long run of blanks or breaks can push what matters out of sight: its length is written instead.
    shown = _BREAKS.sub(lambda run: f"{run[0][0]}×{len(run[0]) // 2}{run[0][1]}", shown)
    return _SPACES.sub(lambda run: f" \\u{{20}}×{len(run.group()) - 1} ", shown)


def on_one_line(text: str) -> str:
    """Return a text of others made visible, so that no part of it looks like a line of ours."""
    return visible(text).replace("\n", " ")  # behind a mark that says so


def is_blank(text: str) -> bool:
    """Say whether there is nothing to read in a text: blanks, and characters that cannot be seen."""
    return all(char.isspace() or (char != "\\" and _show(char) != char) for char in text)


def quoted(words: str) -> str:
    """Return what somebody else says in quotation marks that it cannot close, on one line.

    Double marks within it are single ones, as quotations within quotations are; two single ones look like a double one.
    """
    words = _LIKE_QUOTES.sub("'", " ".join(words.split()))
    return f"“{words}”"


def named(name: str) -> str:
    """Return a name as our sentences have it: in quotation marks, unless it is one plain word."""
    return name if _NAME.fullmatch(name) else quoted(name)


def _show(char: str) -> str:
    if char == "\n":
        return "⏎\n"
    if char == "\t":
        return "→\t"
    if char == "\\":
        return "\\\\"
    category = unicodedata.category(char)
    hidden = category in _HIDDEN_CATEGORIES or category == "Me" or char in _STRIKING
    return escaped(char) if hidden or char in _BLANK or char in _OTHER_SPACES else char


def escaped(text: str) -> str:
    r"""Write every character of `text` by its number: ``\u{202E}``."""
    return "".join(f"\\u{{{ord(char):X}}}" for char in text)


def _thinned(text: str, shown: dict[str, str]) -> str:
    """Show `text`, with at most two combining marks on each letter; the others, and those on nothing, by number."""
    kinds = {char: _kind(char, to) for char, to in shown.items()}
    number = {char: escaped(char) for char, kind in kinds.items() if kind == "m"}
    places = zip(text, _MARK_TOO_MANY.sub("x", text.translate(str.maketrans(kinds))), strict=True)
    return "".join([number[char] if kind == "x" else shown[char] for char, kind in places])


def _kind(char: str, shown: str) -> str:
    """Say what a character is to the marks behind it: m is a mark, l a letter that bears some, - bears none."""
    if shown != char or char == " ":
        return "-"  # what is written by its number carries no marks
    return "m" if unicodedata.category(char) == "Mn" else "l"


def hides(text: str) -> bool:
    """Say whether `text` has characters that cannot be seen, or that turn or blot their neighbours. Blanks are none."""
    letters = set(text)
    return any(len(_show(char)) > len(char) and char not in _OTHER_SPACES and char not in "\n\t\\" for char in letters)


def visible_value(value: JsonValue) -> str:
    """Show a JSON value: strings as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, ensure_ascii=False, sort_keys=True))
