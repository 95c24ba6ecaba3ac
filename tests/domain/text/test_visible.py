"""Outside text is shown whole, inert, and so that nothing in it hides."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.text.visible import is_blank, visible, visible_value
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

BLANK_LOOKING = "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\ufe00\ufe0f\U000e0100\u00ad\U0001d159"


@given(st.text())
def test_nothing_invisible_or_turning_is_left(text: str) -> None:
    shown = re.sub(r"⏎(×\d+)?\n|→(×\d+)?\t", "", visible(text))
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}]
    assert "   " not in shown


@given(st.text())
def test_what_is_shown_says_exactly_what_was_there(text: str) -> None:
    """Two different texts never look the same: the shown form can be read back."""
    shown = visible(text)

    def read(match: re.Match[str]) -> str:
        token = match.group()
        if token.startswith(" \\u{20}"):
            return " " * (int(match["run"]) + 1)
        if match["breaks"]:
            return token[-1] * int(match["breaks"])
        return {"⏎\n": "\n", "→\t": "\t", "\\\\": "\\"}.get(token) or chr(int(match["code"], 16))

    pattern = r" \\u\{20\}×(?P<run>\d+) |\\\\|[⏎→]×(?P<breaks>\d+)[\n\t]|⏎\n|→\t|\\u\{(?P<code>[0-9A-F]+)\}"
    assert re.sub(pattern, read, shown) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Acme Ltd", "Acme Ltd"),
        ("王芳 付款", "王芳 付款"),
        ("a\u202eb", "a\\u{202E}b"),
        ("a\u200bb", "a\\u{200B}b"),
        ("a\u00a0b", "a\\u{A0}b"),
        ("a\u3164b", "a\\u{3164}b"),
        ("a\nb", "a⏎\nb"),
        ("\\u{202E}", "\\\\u{202E}"),
        ("a" + " " * 40 + "b", "a \\u{20}×39 b"),
        ("a\n\nb", "a⏎\n⏎\nb"),
        ("a" + "\n" * 40 + "b", "a⏎×40\nb"),
        ("a" + "\t" * 3 + "b", "a→×3\tb"),
        ("a⏎×3\n", "a⏎×3⏎\n"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_values_are_compact_json_and_texts_are_themselves() -> None:
    assert visible_value("x") == "x"
    assert visible_value({"b": [1, None], "a": True}) == '{"a": true, "b": [1, null]}'


def in_blocks(chars: list[str]) -> Iterator[list[str]]:
    """Cut them into pieces of a size that a fault can be found in."""
    return (chars[at : at + 512] for at in range(0, len(chars), 512))


def all_are_written_by_number(chars: list[str]) -> bool:
    """Show them in one text, each between two letters."""
    expected = "".join([f"a\\u{{{ord(char):X}}}b" for char in chars])
    return visible("".join([f"a{char}b" for char in chars])) == expected


@requirement("S-19")
@pytest.mark.parametrize("each", [pytest.param(1, marks=[pytest.mark.heavy, pytest.mark.whole]), 31])
def test_every_character_without_a_look_of_its_own_is_written_by_its_number(each: int) -> None:
    """All of Unicode, or each of so many: what has no character, cannot be seen, or looks blank."""
    hidden = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn", "Zs", "Me"}
    faceless = [
        char
        for char in map(chr, range(0, sys.maxunicode + 1, each))
        if char not in "\n\t " and (unicodedata.category(char) in hidden or char in BLANK_LOOKING)
    ]
    assert len(faceless) > 900_000 // each
    wrong = [f"{ord(block[0]):X}…" for block in in_blocks(faceless) if not all_are_written_by_number(block)]
    assert wrong == []


@requirement("S-19")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Z" + "\u0301" * 4, "Z\u0301\u0301\\u{301}\\u{301}"),
        ("Z" + "\u0301\u0489" * 2, "Z\u0301\\u{489}\\u{301}\\u{489}"),
        ("\u0301abc", "\\u{301}abc"),
        ("a \u0301b", "a \\u{301}b"),
        ("a\u0338b", "a\\u{338}b"),
        ("a\u20ddb", "a\\u{20DD}b"),
        ("Việt Nam", "Việt Nam"),
        (unicodedata.normalize("NFD", "Việt"), unicodedata.normalize("NFD", "Việt")),
    ],
    ids=[
        "a flood",
        "a mixed flood",
        "on nothing",
        "on a blank",
        "striking through",
        "enclosing",
        "composed",
        "decomposed",
    ],
)
def test_marks_cannot_paint_over_their_neighbours(text: str, shown: str) -> None:
    assert visible(text) == shown


@requirement("S-19")
def test_an_account_turned_around_is_shown_in_its_real_order() -> None:
    assert visible("Acme \u202e6222\u202c") == "Acme \\u{202E}6222\\u{202C}"


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "\u200b", " \u200b\u202e\u2800 ", "\ufeff\u00ad"])
def test_what_nobody_can_see_is_nothing_to_read(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["no", "\u200bno\u200b", "\\", "不", "é", "👍"])
def test_what_anybody_can_see_is_something_to_read(text: str) -> None:
    assert not is_blank(text)
