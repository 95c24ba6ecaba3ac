"""What can be taken for something else is found, and plain names in any language are left alone."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.text.lookalike import Finding, Look, find_lookalikes, skeleton
from tests.requirements import requirement


@requirement("S-19")
@pytest.mark.parametrize(
    ("text", "look", "shown"),
    [
        ("\u0410cme Ltd", Look.MIXED, "\\u{410}cme"),
        ("Pay\u03c1al", Look.MIXED, "Pay\\u{3C1}al"),
        ("O\u02bcBrien", Look.MIXED, "O\\u{2BC}Brien"),
        ("\u0440\u0430\u0443\u0440\u0430\u04cf", Look.BORROWED, "\\u{440}\\u{430}\\u{443}\\u{440}\\u{430}\\u{4CF}"),
        ("\u0421\u0421\u0422 Ltd", Look.BORROWED, "\\u{421}\\u{421}\\u{422}"),
        ("\u13a2\u13d9 Bank", Look.BORROWED, "\\u{13A2}\\u{13D9}"),
        ("\uff21cme", Look.FORMED, "\\u{FF21}cme"),
        ("\U0001d400cme", Look.FORMED, "\\u{1D400}cme"),
        ("\ufb01ne", Look.FORMED, "\\u{FB01}ne"),
        ("cafe\u0301", Look.FORMED, "cafe\\u{301}"),
        ("\u2f00\u54c1", Look.FORMED, "\\u{2F00}\\u{54C1}"),
        ("\u24b6cme", Look.FORMED, "\\u{24B6}cme"),
        ("80\u0966", Look.DIGITS, "80\\u{966}"),
        ("\u09ea000", Look.DIGITS, "\\u{9EA}000"),
        ("\u05d0 100", Look.TURNING, ""),
        ("2026-\u202e8110", Look.UNSEEN, ""),
        ("Acme\x00", Look.UNSEEN, ""),
        ("Ac\u200bme", Look.UNSEEN, ""),
    ],
)
def test_a_text_that_can_be_taken_for_another_is_found(text: str, look: Look, shown: str) -> None:
    assert Finding(look=look, shown=shown) in find_lookalikes(text)


@requirement("S-19")
@pytest.mark.parametrize("text", ["PayPaI", "G00gle Ltd", "App1e"])
def test_disguises_within_ascii_are_found_where_it_is_worth_it(text: str) -> None:
    assert [finding.look for finding in find_lookalikes(text, strict=True)] == [Look.DISGUISED]
    assert find_lookalikes(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Acme Ltd",
        "恒通钢铁 Hengtong Steel",
        "Acme公司（北京）有限公司，第1号",
        "株式会社トヨタ",
        "카카오 Kakao",
        "Société Générale",
        "Łódź Bank",
        "Việt Nam",
        "Москва Строй",
        "Ελλάδα ΑΕ",
        "OpenAI",
        "Route 66",
        "INV-2026-0118",
        "שלום",
        "two\nlines\tand a\u00a0blank\u3000C:\\\\",
    ],
)
def test_plain_names_are_left_alone(text: str) -> None:
    assert find_lookalikes(text, strict=True) == ()


@given(st.text())
def test_any_text_is_looked_at_and_what_is_told_of_it_is_plain(text: str) -> None:
    for finding in find_lookalikes(text, strict=True):
        assert finding.shown.isascii()


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_ascii_that_can_be_seen_is_never_suspect_without_strictness(text: str) -> None:
    assert find_lookalikes(text) == ()


def test_twins_have_one_skeleton() -> None:
    assert skeleton("\u0410cme") == skeleton("Acme") == skeleton("\uff21cme") == "Acme"
    assert unicodedata.normalize("NFC", skeleton("恒通")) == "恒通"
