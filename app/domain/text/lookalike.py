"""Text that looks like other text: words of mixed alphabets, borrowed letters, letters that run from right to left.

`visible` shows what cannot be seen; here is what can be seen and is taken for something else. Nothing is changed: the
reader is told. The table holds the letters that common fonts draw like a Latin letter or digit; scripts that write
beside Latin as a matter of course (Chinese, Japanese, Korean) are never a mixture.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.text.visible import escaped, hides

if TYPE_CHECKING:
    from collections.abc import Iterator

_LATIN_TWINS = {
    # Cyrillic
    **dict(zip("АВЕЅІЈКМНОРСТХҮаеѕіјорсухһԁԛԝӏ", "ABESIJKMHOPCTXYaesijopcyxhdqwl", strict=True)),
    # Greek
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαιοκνρυχγ", "ABEZHIKMNOPTYXaioKvpuxy", strict=True)),
    # Armenian
    **dict(zip("ՍՕԱԼսոհօցքզ", "UOULunhogpq", strict=True)),
    # Cherokee
    **dict(zip("ᎪᎳᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᏔᏃᎠᏴ", "AWEHJKLMPRSTVWZDB", strict=True)),
    # Latin letters that are drawn like others
    **dict(zip("ɡɑꓲǀ", "gaIl", strict=True)),
}
_BESIDE_LATIN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "LATIN"})
_PLAIN = re.compile(r"[\t\n\x20-\x7e\u3000-\u303f\u4e00-\u9fff\uff08\uff09\uff0c\uff1a\uff1b\uff01\uff1f]*")
# Letters in circles and squares and the radicals of Chinese characters count as symbols, and are read as letters.
_LETTER = r"[^\W_]|[\u2460-\u24ff\u2e80-\u2fdf\U0001f100-\U0001f19a]"
_WORD = re.compile(rf"(?:{_LETTER})(?:{_LETTER}|[\u0300-\u036f])*")
_DISGUISED = re.compile(r"\b\w*[a-z]I\b|\b\w*[A-Za-z][01]+[A-Za-z]\w*\b", re.ASCII)


class Look(StrEnum):
    """What is wrong with how a text looks."""

    MIXED = "mixed"  # one word has letters of several alphabets
    BORROWED = "borrowed"  # a whole word in letters that are drawn like Latin ones
    FORMED = "formed"  # letters or digits in a special form (wide, bold, composed otherwise) that stand for plain ones
    DIGITS = "digits"  # digits that are not 0-9
    UNSEEN = "unseen"  # characters that cannot be seen, or that turn the text around
    TURNING = "turning"  # letters that run from right to left beside others: the order on the screen is another
    DISGUISED = "disguised"  # a capital I for an l, a 0 for an O


_MOST_FOUND = 50
"""Words of one text that are told: where so many are foreign, one more is no news, and nobody reads on."""


class Finding(Struct, frozen=True, kw_only=True):
    """One word that may be taken for another; `shown` has its foreign characters by number, so that it cannot be."""

    look: Look
    shown: str


def find_lookalikes(text: str, *, strict: bool = False) -> tuple[Finding, ...]:
    """Return what in `text` may be taken for something else, in reading order, each word once.

    `strict` also looks for disguises within ASCII (``PayPaI``); it is for names of payees, where a doubt is worth it.
    """
    found = dict[str, Finding]()
    if not _PLAIN.fullmatch(text):
        for finding in _foreign(text):
            found.setdefault(finding.shown, finding)
    if strict:
        for word in _DISGUISED.finditer(text):
            found.setdefault(word[0], Finding(look=Look.DISGUISED, shown=word[0]))
    return tuple(found.values())


def skeleton(text: str) -> str:
    """Return what `text` looks like: two texts with one skeleton can be taken for each other."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(_LATIN_TWINS.get(char, char) for char in plain)


def _foreign(text: str) -> Iterator[Finding]:
    words = list(dict.fromkeys(_WORD.findall(text)))
    # A language of its own is no disguise: where one word has letters that no Latin letter looks like, all may stand.
    honest = {_script(char) for char in set("".join(words)) if char.isalpha() and char not in _LATIN_TWINS}
    left = _MOST_FOUND
    for word in words:
        look = _look(word, honest)
        if look is not None and (left := left - 1) >= 0:
            by_number = {ord(char): escaped(char) for char in set(word) if not char.isascii()}
            yield Finding(look=look, shown=word.translate(by_number))
    if hides(text):
        yield Finding(look=Look.UNSEEN, shown="")
    if _turns(text):
        yield Finding(look=Look.TURNING, shown="")


def _look(word: str, honest: set[str]) -> Look | None:
    if word.isascii():
        return None
    if unicodedata.normalize("NFKC", word) != word:
        return Look.FORMED
    chars = set(word)  # a word may be a megabyte of one letter
    scripts = {_script(char) for char in chars if char.isalpha()}
    if "LATIN" in scripts:
        scripts -= _BESIDE_LATIN - {"LATIN"}
    if len(scripts - _BESIDE_LATIN) + ("LATIN" in scripts) > 1:
        return Look.MIXED
    if any(unicodedata.decimal(char, None) is not None and not char.isascii() for char in chars):
        return Look.DIGITS
    twins = chars & _LATIN_TWINS.keys()
    if twins and (scripts == {"LATIN"} or (twins == chars and not scripts & honest)):
        return Look.BORROWED
    return None


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    """Return the first word of a letter's name, which is that of its script."""
    return unicodedata.name(char, "?").partition(" ")[0]


def _turns(text: str) -> bool:
    directions = {unicodedata.bidirectional(char) for char in set(text)}
    return bool(directions & {"R", "AL"}) and bool(directions & {"L", "EN", "AN"})
