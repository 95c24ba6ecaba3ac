"""Payments are read exactly, once, out of a call's arguments, or the call is refused; totals choose the tier."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.call.tool import Tool, check_arguments
from app.domain.errors import BadArgumentsError
from app.domain.money.payment import (
    MOST,
    Payment,
    PaymentFields,
    account_key,
    bound_facts,
    payee_key,
    payments_of,
    plain,
    totals,
)
from app.domain.rules.rule import Then, Tier, tier_for
from app.domain.text.canonical import parse_json
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE = PaymentFields(amount="amount", currency="currency", payee="payee.name", account="payee.iban", reference="invoice")
CENTS = PaymentFields(amount="amount", currency="currency", payee="payee", minor_units=True)
MANY = PaymentFields(amount="all.amount", currency="currency", payee="all.to.name", account="all.to.iban")


def one(**changes: Any) -> dict[str, Any]:
    return {"amount": "12.50", "currency": "CNY", "payee": {"name": "Acme", "iban": "DE02"}, "invoice": 7} | changes


def refused(fields: PaymentFields, arguments: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(BadArgumentsError) as error:
        payments_of(fields, arguments)
    return str(error.value.more["path"]), str(error.value.more["why"])


def test_a_payment_is_read_with_all_of_its_parts() -> None:
    assert payments_of(ONE, one()) == (
        Payment(amount=Decimal("12.50"), currency="CNY", payee="Acme", account="DE02", reference="7"),
    )


def test_an_account_and_a_reference_may_be_missing_or_empty() -> None:
    (payment,) = payments_of(ONE, one(payee={"name": "Acme", "iban": ""}, invoice=None))
    assert (payment.account, payment.reference) == (None, None)
    assert payments_of(CENTS, {"amount": 1, "currency": "CNY", "payee": "A"})[0].account_key == ""


@pytest.mark.parametrize(
    ("value", "amount"),
    [("12.50", "12.50"), (12, "12"), ("0.0001", "0.0001"), ("007", "7"), ("999999999999.9999", "999999999999.9999")],
)
def test_whole_numbers_and_decimal_texts_are_amounts(value: Any, amount: str) -> None:
    assert payments_of(ONE, one(amount=value))[0].amount == Decimal(amount)


@requirement("S-41")
@pytest.mark.parametrize(
    "value",
    [
        12.5, 12.0, True, None, [], ["1"], {}, "", " 1", "1 ", "1e3", "1,000", "+1", "-1", "0", "0.0000", 0, -1, "NaN",
        "Infinity", "1.", ".5", "1.00000", "1000000000000", 10**12, "١٢", "12\n",
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_exact_amount_is_refused_at_its_path(value: Any) -> None:
    path, why = refused(ONE, one(amount=value))
    assert path == "amount"
    assert why.startswith("an amount must be a whole number above zero or a decimal text")


@requirement("S-41")
def test_a_float_of_the_wire_never_becomes_an_amount() -> None:
    sent = parse_json(b'{"amount": 12.5, "currency": "CNY", "payee": {"name": "Acme"}}')
    assert isinstance(sent, dict)
    with pytest.raises(BadArgumentsError):
        check_arguments(Tool(name="pay", money=("amount",), payment=ONE), sent)
    assert refused(ONE, sent)[0] == "amount"


@pytest.mark.parametrize(
    ("cents", "currency", "amount"),
    [(1, "CNY", "0.01"), (500_001, "USD", "5000.01"), (7, "JPY", "7"), (1, "KWD", "0.001"), (10**13, "CNY", "1E+11")],
)
def test_minor_units_are_the_currencys_own(cents: int, currency: str, amount: str) -> None:
    (payment,) = payments_of(CENTS, {"amount": cents, "currency": currency, "payee": "A"})
    assert payment.amount == Decimal(amount)


@requirement("S-41")
@pytest.mark.parametrize("value", ["100", 100.0, 0, -1, True, None, "1.00"])
def test_minor_units_are_whole_numbers_alone(value: Any) -> None:
    assert refused(CENTS, {"amount": value, "currency": "CNY", "payee": "A"}) == (
        "amount",
        "an amount in minor units must be a whole number above zero",
    )


def test_minor_units_that_nobody_can_count_are_refused() -> None:
    path, why = refused(CENTS, {"amount": 1, "currency": "XYZ", "payee": "A"})
    assert (path, why.split(":")[0]) == ("amount", "how many minor units XYZ has is not known here")
    assert refused(CENTS, {"amount": 10**14, "currency": "CNY", "payee": "A"}) == ("amount", "the amount is too large")


@pytest.mark.parametrize("value", ["cny", "RMB ", "CN", "CNYY", "С" + "NY", 156, None, "¥"])
def test_a_currency_is_three_capital_letters(value: Any) -> None:
    path, why = refused(ONE, one(currency=value))
    assert (path, why) == ("currency", "a currency must be its code of three capital letters")


@pytest.mark.parametrize("value", ["", "  ", None, 7, "x" * 301, ["Acme"], {"name": "Acme"}], ids=repr)
def test_a_payee_is_a_text(value: Any) -> None:
    assert refused(ONE, one(payee={"name": value}))[0] == ("payee.name")


@pytest.mark.parametrize("value", [1.5, True, {}, "x" * 301], ids=repr)
def test_an_account_that_is_no_text_is_refused(value: Any) -> None:
    assert refused(ONE, one(payee={"name": "A", "iban": value}))[0] == "payee.iban"


def test_a_list_in_place_of_one_payment_is_refused() -> None:
    assert refused(ONE, one(payee=[{"name": "A"}, {"name": "B"}]))[0] == "payee"


# --- batches ----------------------------------------------------------------------------------------------------------


def batch(*items: dict[str, Any]) -> dict[str, Any]:
    return {"currency": "CNY", "all": list(items)}


def test_a_batch_is_one_payment_for_each_element_and_shares_what_stands_outside() -> None:
    found = payments_of(MANY, batch({"amount": 1, "to": {"name": "A"}}, {"amount": "2.5", "to": {"name": "B"}}))
    assert [(each.payee, each.amount, each.currency) for each in found] == [
        ("A", Decimal(1), "CNY"),
        ("B", Decimal("2.5"), "CNY"),
    ]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"currency": "CNY", "all": []}, "all"),
        ({"currency": "CNY"}, "currency"),
        ({"currency": "CNY", "all": [{"amount": 1}]}, "all[0].to.name"),
        ({"currency": "CNY", "all": [{"amount": 1, "to": {"name": "A"}}, {"amount": 1.5, "to": {"name": "B"}}]},
         "all[1].amount"),
        ({"currency": "CNY", "all": [[{"amount": 1, "to": {"name": "A"}}]]}, "all[0]"),
        ({"currency": "CNY", "all": ["x"]}, "all[0].to.name"),
        ({"currency": ["CNY"], "all": [{"amount": 1, "to": {"name": "A"}}]}, "currency"),
        ({"currency": "CNY", "all": [{"amount": 1, "to": [{"name": "A"}, {"name": "B"}]}]}, "all[0].to"),
    ],
)  # fmt: skip
def test_a_batch_with_a_fault_is_refused_whole_at_its_element(arguments: dict[str, Any], path: str) -> None:
    found, _ = refused(MANY, arguments)
    assert found == (path if "all" in arguments else "all.to.name")


def test_a_batch_has_an_end() -> None:
    items = [{"amount": 1, "to": {"name": "A"}}] * (MOST + 1)
    assert refused(MANY, batch(*items)) == ("all", f"has more than {MOST} payments")
    assert len(payments_of(MANY, batch(*items[:MOST]))) == MOST


def test_what_is_bound_are_the_totals_and_every_payee_once() -> None:
    payments = (
        Payment(amount=Decimal("10.10"), currency="USD", payee="B"),
        Payment(amount=Decimal("0.90"), currency="USD", payee="A"),
        Payment(amount=Decimal(5), currency="CNY", payee="B"),
    )
    assert totals(payments) == {"CNY": Decimal(5), "USD": Decimal(11)}
    assert bound_facts(payments) == {"totals": {"CNY": "5", "USD": "11"}, "payees": ["B", "A"]}


AMOUNTS = st.decimals(min_value="0.0001", max_value=10**11, places=4)


@given(st.lists(AMOUNTS, min_size=1, max_size=50))
def test_no_fraction_of_a_sum_is_lost(amounts: list[Decimal]) -> None:
    items: list[dict[str, Any]] = [{"amount": f"{amount:f}", "to": {"name": "A"}} for amount in amounts]
    exact = sum(int(amount.scaleb(4)) for amount in amounts)
    (total,) = totals(payments_of(MANY, batch(*items))).values()
    assert total.scaleb(4) == exact
    assert Decimal(plain(total)) == total


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["ACME Ltd.", "acme  ltd", "Ａｃｍｅ Ltd", "A.C.M.E. Ltd"])
def test_spellings_of_one_payee_count_together(other: str) -> None:
    assert payee_key(other) == payee_key("Acme Ltd")


def test_payees_of_signs_alone_are_still_told_apart() -> None:
    assert payee_key("!!!") != payee_key("???")
    assert payee_key("Acme") != payee_key("Acme 2")


def test_accounts_are_compared_without_spaces_and_kept_unreadable() -> None:
    assert account_key("de02 1203 0000") == account_key("DE0212030000") != account_key("DE0212030001")
    assert "1203" not in account_key("de02 1203 0000")
    assert account_key("--") != account_key("++")


# --- tiers ------------------------------------------------------------------------------------------------------------

PAY_MANY = Tool(name="pay", payment=PaymentFields(amount="all.amount", currency="all.currency", payee="all.payee"))
TIERS = tuple(
    Tier(up_to={currency: Decimal(limit) for currency, limit in limits.items()} or None, then=Then.ASK)
    for limits in ({"CNY": "5000"}, {"CNY": "50000.50", "USD": "700"}, {"CNY": "500000", "USD": "70000"}, {})
)
PAID = st.tuples(st.decimals(min_value="0.01", max_value=10**6, places=2), st.sampled_from(["CNY", "USD", "EUR"]))


def tier_of(paid: Sequence[tuple[Decimal, str]]) -> int:
    items: list[Any] = [{"amount": f"{amount:f}", "currency": currency, "payee": "A"} for amount, currency in paid]
    return tier_for(TIERS, PAY_MANY, {"all": items})


@given(st.lists(PAID, min_size=1, max_size=8), st.integers(min_value=0), PAID)
def test_raising_any_amount_never_lowers_the_tier(
    paid: list[tuple[Decimal, str]], at: int, more: tuple[Decimal, str]
) -> None:
    before = tier_of(paid)
    index = at % len(paid)
    amount, currency = paid[index]
    raised = [*paid[:index], (amount + more[0], currency), *paid[index + 1 :]]
    assert tier_of(raised) >= before
    assert tier_of([*paid, more]) >= before, "nor does one payment more"


@given(st.lists(PAID, min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_a_batch_is_in_the_tier_of_its_sum_however_it_is_split_or_ordered(
    paid: list[tuple[Decimal, str]], shuffle: Any
) -> None:
    sums: dict[str, Decimal] = {}
    for amount, currency in paid:
        sums[currency] = sums.get(currency, Decimal(0)) + amount
    whole = [(amount, currency) for currency, amount in sums.items()]
    mixed = list(paid)
    shuffle.shuffle(mixed)
    assert tier_of(mixed) == tier_of(whole)


@requirement("S-16")
@pytest.mark.parametrize("arguments", [{}, {"all": []}, {"all": [{"amount": 1.5, "currency": "CNY", "payee": "A"}]}])
def test_payments_that_cannot_be_read_are_above_all_tiers(arguments: dict[str, Any]) -> None:
    assert tier_for(TIERS, PAY_MANY, arguments) == 3
    assert tier_for(TIERS, Tool(name="plain"), {"all": [{"amount": 1, "currency": "CNY", "payee": "A"}]}) == 3


@requirement("S-79")
@pytest.mark.parametrize(
    ("fields", "arguments", "at"),
    [
        (
            MANY,
            {"currency": "CNY", "all": [{"amount": "1", "currency": "USD", "to": {"name": "A"}}]},
            "all[0].currency",
        ),
        (MANY, {"currency": "CNY", "all": [{"amount": "1", "ccy": "USD", "to": {"name": "A"}}]}, "all[0].ccy"),
        (
            PaymentFields(amount="all.amount", currency="all.unit", payee="all.to"),
            {"currency": "USD", "all": [{"amount": "1", "unit": "CNY", "to": "A"}]},
            "currency",
        ),
        (
            PaymentFields(amount="all.amount", currency="all.unit", payee="all.to"),
            {"unit": "USD", "all": [{"amount": "1", "unit": "CNY", "to": "A"}]},
            "unit",
        ),
        (PaymentFields(amount="a.b.x", currency="currency", payee="to"), one(a={"b": {"x": 1}, "ccy": "USD"}), "a.ccy"),
    ],
)
def test_a_second_currency_beside_the_one_that_is_read_is_a_fault(
    fields: PaymentFields, arguments: dict[str, Any], at: str
) -> None:
    assert refused(fields, {"to": "A", **arguments})[0] == at


def test_the_same_currency_twice_is_none() -> None:
    paid = payments_of(MANY, {"currency": "CNY", "all": [{"amount": "1", "ccy": "CNY", "to": {"name": "A"}}]})
    assert [payment.currency for payment in paid] == ["CNY"]
