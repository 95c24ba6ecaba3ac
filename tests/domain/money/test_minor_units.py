"""Amounts in minor units read as people write them, and are held to people's limits as they are."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from app.domain.call.tool import Tool, title_for
from app.domain.call.tool_call import ToolCall
from app.domain.money.payment import PaymentFields
from app.domain.people.people import Amount
from app.usecases.voters.electorate import amount_of
from tests.requirements import requirement

FIELDS = PaymentFields(amount="payments.cents", currency="currency", payee="payments.to", minor_units=True)
TOOL = Tool(name="pay", title="Pay {payments.cents} {currency}", money=("payments.cents",), payment=FIELDS)


def call(currency: str, *cents: object) -> ToolCall:
    arguments = {"currency": currency, "payments": [{"cents": each, "to": "Acme"} for each in cents]}
    return ToolCall(
        org="acme",
        agent="buyer",
        session=None,
        call_id=None,
        tool="pay",
        arguments=arguments,  # pyright: ignore[reportArgumentType]  also what is no amount
        requester=None,
        owner=None,
        claim=None,
    )


@pytest.mark.parametrize(
    ("currency", "cents", "title", "total"),
    [
        ("CNY", (500001,), "Pay 5,000.01 CNY", "5000.01"),
        ("JPY", (500001,), "Pay 500,001 JPY", "500001"),
        ("KWD", (1500, 500), "Pay 1.5, 0.5 KWD", "2"),
    ],
)
def test_a_title_and_a_limit_see_units_of_the_currency(
    currency: str, cents: tuple[int, ...], title: str, total: str
) -> None:
    asked = call(currency, *cents)
    assert title_for(TOOL, asked.arguments) == title
    assert amount_of(asked, TOOL) == Amount(value=Decimal(total), currency=currency)


@pytest.mark.parametrize("asked", [call("XXX", 100), call("CNY", 0), call("CNY", "100"), call("CNY")])
def test_what_is_no_amount_is_within_nobodys_limit(asked: ToolCall) -> None:
    assert amount_of(asked, TOOL) is None


def test_a_batch_in_two_currencies_is_within_nobodys_limit() -> None:
    fields = PaymentFields(amount="payments.cents", currency="payments.in", payee="payments.to")
    payments = [{"cents": 1, "in": "CNY", "to": "A"}, {"cents": 1, "in": "USD", "to": "A"}]
    mixed = replace(call("CNY"), arguments={"payments": payments})
    assert amount_of(mixed, Tool(name="pay", money=("payments.cents",), payment=fields)) is None


@requirement("S-79")
@pytest.mark.parametrize(
    ("arguments", "total"),
    [
        ({"amount": "40", "fee": "60", "currency": "CNY"}, "100"),
        ({"amount": "40", "currency": "CNY"}, "40"),
        ({"amount": "90000", "fee": "-89999", "currency": "CNY"}, "179999"),
        ({"fee": "60", "currency": "CNY"}, "60"),
        ({"amount": "40", "fee": "many", "currency": "CNY"}, None),
        ({"amount": "40", "fee": None, "currency": "CNY"}, None),
        ({"currency": "CNY"}, None),
        ({"amount": "40", "fee": "60"}, None),
        ({"amount": "40", "currency": "CNY", "ccy": "USD"}, None),
    ],
)
def test_every_money_field_counts_for_a_limit(arguments: dict[str, object], total: str | None) -> None:
    asked = replace(call("CNY"), arguments=arguments)  # pyright: ignore[reportArgumentType]
    found = amount_of(asked, Tool(name="pay", money=("amount", "fee")))
    assert found == (Amount(value=Decimal(total), currency="CNY") if total else None)


@requirement("S-79")
def test_an_amount_between_two_currencies_is_within_nobodys_limit() -> None:
    held = {"currency": "CNY", "item": {"price": {"amount": "1"}, "currency": "USD"}}
    asked = replace(call("CNY"), arguments=held)  # pyright: ignore[reportArgumentType]
    assert amount_of(asked, Tool(name="pay", money=("item.price.amount",))) is None


@requirement("S-79")
@pytest.mark.parametrize(("second", "total"), [("CNY", "3"), ("USD", None), ("cny", None)])
def test_amounts_of_two_currencies_are_within_nobodys_limit(second: str, total: str | None) -> None:
    held = {"fee": {"amount": "1", "currency": "CNY"}, "sum": {"amount": "2", "currency": second}}
    asked = replace(call("CNY"), arguments=held)  # pyright: ignore[reportArgumentType]
    found = amount_of(asked, Tool(name="pay", money=("fee.amount", "sum.amount")))
    assert found == (Amount(value=Decimal(total), currency="CNY") if total else None)
