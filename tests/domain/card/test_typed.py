"""What is typed beside an approval: the code or the amount, in whatever way a person's keyboard writes them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.card.typed import TYPED, code_in, is_code_right, is_typed_right, typed_field
from app.domain.money.amounts import CURRENCIES
from app.domain.money.payment import Payment
from app.domain.text.language import Language
from tests.domain.samples import a_request
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest

CODE = "K7QM-3XWA"  # of the sample


def paying(*amounts: str, currency: str = "CNY") -> ConfirmationRequest:
    payments = tuple(Payment(amount=Decimal(amount), currency=currency, payee="Acme") for amount in amounts)
    return a_request(payments=payments)


@requirement("S-29")
@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "k7qm3xwa",
        " K7QM 3XWA ",
        "k7qm－3xwa",  # a full-width hyphen
        "K7QM\u20113XWA",
        "Ｋ７ＱＭ－３ＸＷＡ",
        "ｋ７ｑｍ　３ｘｗａ",
    ],
)
def test_the_code_counts_however_a_keyboard_writes_it(text: str) -> None:
    assert is_typed_right(a_request(), text)
    assert is_typed_right(paying("80000"), text)
    assert is_code_right(CODE, text)
    assert code_in(text) == CODE


@requirement("S-29")
@pytest.mark.parametrize(
    "text",
    ["", "-", " ", "K7QM", "K7QM-3XWB", "K7QM-3XW", "K7QM-3XWAA", "KＴQM-3XWA", "80000", "K7QM-3XWA" * 10, "\udcff\0"],
)
def test_nothing_else_is_the_code(text: str) -> None:
    assert not is_typed_right(a_request(), text)
    assert not is_code_right(CODE, text)
    assert code_in(text) != CODE


@requirement("S-29")
@pytest.mark.parametrize(
    "text",
    [
        "80000.5", "80000.50", "80,000.50", "80 000.50", "¥80,000.50 CNY", "¥80,000.50 人民币", "cny 80000.50",
        "80000.50元", "RMB 80,000.50", "８００００．５０", "￥８０，０００．５０", "\u00a080\u2009000.50",
    ],
)  # fmt: skip
def test_the_amount_counts_with_or_without_its_currency_and_separators(text: str) -> None:
    assert is_typed_right(paying("80000", "0.50"), text)


@requirement("S-29")
@pytest.mark.parametrize(
    "text",
    [
        "80000", "80000.51", "80000.49", "8000.50", "800000.50", "80.000,50", "80000,50", "8,0000.50", "80,000.500.0",
        "-80000.50", "$80,000.50", "80000.50 USD", "US$80,000.50", "8e4", "80000.50.", "80000.500000", "八万", "0",
    ],
)  # fmt: skip
def test_another_amount_another_currency_or_no_number_does_not(text: str) -> None:
    assert not is_typed_right(paying("80000.50"), text)


@requirement("S-29")
def test_dollars_may_stand_with_their_bare_sign() -> None:
    assert is_typed_right(paying("12000", currency="USD"), "$12,000.00")
    assert is_typed_right(paying("12000", currency="XAU"), "12000 XAU")
    assert not is_typed_right(paying("12000", currency="CNY"), "$12,000.00")


@requirement("S-29")
def test_of_several_currencies_and_without_a_payment_only_the_code_counts() -> None:
    one, other = paying("10"), paying("20", currency="USD")
    both = replace(one, payments=(*one.payments, *other.payments))
    assert not any(is_typed_right(both, text) for text in ("10", "20", "30", "10 CNY"))
    assert is_typed_right(both, CODE)
    assert "amount" in typed_field(one, Language.EN).label
    for request in (both, a_request()):
        assert "amount" not in typed_field(request, Language.EN).label
    assert typed_field(one, Language.ZH).name == TYPED


@requirement("S-29")
@given(st.decimals("0.01", "99999999999", places=2), st.sampled_from(sorted(CURRENCIES)), st.integers(0, 30), st.data())
def test_one_other_digit_is_another_amount(amount: Decimal, currency: str, at: int, data: st.DataObject) -> None:
    request, text = paying(str(amount), currency=currency), f"{amount:,.2f}"
    assert is_typed_right(request, text)
    digits = [place for place, char in enumerate(text) if char.isdigit()]
    place = digits[at % len(digits)]
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != text[place]]))
    assert not is_typed_right(request, f"{text[:place]}{other}{text[place + 1 :]}")


@requirement("S-29")
@given(st.text(max_size=70))
def test_whatever_is_typed_is_an_answer_and_by_chance_it_is_never_right(text: str) -> None:
    assert not is_typed_right(paying("80000"), text)
