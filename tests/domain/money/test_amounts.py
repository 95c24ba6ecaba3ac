"""Amounts are exact and written as the reader's language writes them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.money.amounts import CURRENCIES, amount_text, has_too_many_decimals
from app.domain.text.language import Language


@pytest.mark.parametrize(
    ("value", "code", "english", "chinese"),
    [
        (80000, "CNY", "¥80,000.00 CNY", "¥80,000.00 人民币"),
        ("12000.5", "USD", "US$12,000.50 USD", "US$12,000.50 美元"),
        (-1234567, "EUR", "-€1,234,567.00 EUR", "-€1,234,567.00 欧元"),
        (80000, "JPY", "¥80,000 JPY", "¥80,000 日元"),
        ("1.5", "JPY", "¥1.5 JPY", "¥1.5 日元"),
        ("1.2345", "KWD", "1.2345 KWD", "1.2345 科威特第纳尔"),
        (1, "CHF", "1.00 CHF", "1.00 瑞士法郎"),
        (80000, "cny", "80,000", "80,000"),
        (80000, "\u0421NY", "80,000", "80,000"),
        (80000, None, "80,000", "80,000"),
        (2**200, "CNY", f"¥{2**200:,}.00 CNY", f"¥{2**200:,}.00 人民币"),
    ],
)
def test_an_amount_is_written_as_the_language_writes_it(value: Any, code: Any, english: str, chinese: str) -> None:
    assert amount_text(value, code, Language.EN) == english
    assert amount_text(value, code, Language.ZH) == chinese


@pytest.mark.parametrize("value", [1.5, True, None, [1], "1e9", "1,000", " 1", "٣", {"a": 1}])
def test_what_is_no_exact_amount_is_not_dressed_up_as_one(value: Any) -> None:
    assert amount_text(value, "CNY", Language.EN) is None


@given(st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: f"{d:f}"), st.sampled_from(sorted(CURRENCIES)))
def test_no_digit_is_lost_or_added_but_zeros(value: str, code: str) -> None:
    shown = amount_text(value, code, Language.EN)
    assert shown is not None
    number = shown.removesuffix(f" {code}").replace(CURRENCIES[code].sign, "", 1).replace(",", "")
    assert Decimal(number) == Decimal(value)


@pytest.mark.parametrize(
    ("value", "code", "finer"),
    [("1.005", "CNY", True), ("1.50", "CNY", False), ("0.1", "JPY", True), (1, "JPY", False), ("1.005", "XXX", False)],
)
def test_digits_finer_than_the_currency_are_noticed(value: Any, code: str, *, finer: bool) -> None:
    assert has_too_many_decimals(value, code) is finer
