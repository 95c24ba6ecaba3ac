"""Arguments are checked before anything is judged or shown; titles say what they can and never what is sensitive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.call.schema import schema_fault
from app.domain.call.tool import LONGEST_TITLE, Tool, check_arguments, title_for, title_line
from app.domain.errors import BadArgumentsError, BadJsonError
from app.domain.text.paths import money_text
from tests.requirements import requirement

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "payee": {"type": "string"},
        "amount": {"type": "integer", "minimum": 1},
        "currency": {"type": "string", "default": "CNY"},
        "options": {"type": "object", "properties": {"urgent": {"type": "boolean", "default": False}}},
    },
    "required": ["payee", "amount"],
    "additionalProperties": False,
}
PAY = Tool(name="pay", schema=SCHEMA)


def refused(tool: Tool, arguments: Any) -> BadArgumentsError:
    with pytest.raises(BadArgumentsError) as error:
        check_arguments(tool, arguments)
    return error.value


def test_a_schema_without_properties_has_no_defaults_to_fill() -> None:
    assert check_arguments(Tool(name="x", schema={"type": "object", "required": ["a"]}), {"a": [1]}) == {"a": [1]}
    open_schema: dict[str, Any] = {"properties": {"a": {"properties": {"b": {"default": 1}}}, "c": True}}
    assert check_arguments(Tool(name="x", schema=open_schema), {"a": 5, "c": 1}) == {"a": 5, "c": 1}


def test_defaults_of_the_schema_are_filled_in_and_the_callers_object_is_left_alone() -> None:
    given: dict[str, Any] = {"payee": "Acme", "amount": 1, "options": {}}
    assert check_arguments(PAY, given) == {**given, "currency": "CNY", "options": {"urgent": False}}
    assert given == {"payee": "Acme", "amount": 1, "options": {}}


@pytest.mark.parametrize(
    ("arguments", "path", "why"),
    [
        ({"payee": "Acme"}, "", "lacks amount"),
        ({"payee": "Acme", "amount": "hunter2"}, "amount", "must be of type integer"),
        ({"payee": "Acme", "amount": 0}, "amount", "does not satisfy `minimum: 1`"),
        ({"payee": "Acme", "amount": 1, "hunter2": 1}, "", "has unknown hunter2"),
        ({"payee": "Acme", "amount": 1, "options": {"urgent": "hunter2"}}, "options.urgent", "must be of type boolean"),
        ([], "", None),
        (None, "", None),
    ],
)
def test_arguments_against_the_schema_are_refused_with_their_path(arguments: Any, path: str, why: str | None) -> None:
    error = refused(PAY, arguments)
    assert error.more["path"] == path
    assert why is None or error.more["why"] == why


def test_a_refusal_does_not_repeat_the_value_at_fault() -> None:
    assert "hunter2" not in str(refused(PAY, {"payee": "Acme", "amount": "hunter2"}))


def test_a_tool_without_a_schema_takes_any_json_and_only_json() -> None:
    assert check_arguments(Tool(name="x"), {"a": [1, {"b": None}]}) == {"a": [1, {"b": None}]}
    with pytest.raises(BadJsonError) as error:
        check_arguments(Tool(name="x"), {"a": [1, float("inf")]})
    assert error.value.more["path"] == "a[1]"


@requirement("S-41")
@pytest.mark.parametrize("amount", [1.5, 1.0, True, None, "1e5", "1,000", "NaN", "", " 1", "٣", {}, [1.5]])
def test_money_that_is_not_exact_is_refused(amount: Any) -> None:
    assert str(refused(Tool(name="pay", money=("amount",)), {"amount": amount}).more["path"]).startswith("amount")


@requirement("S-41")
def test_money_is_found_in_every_element_of_a_list() -> None:
    tool = Tool(name="pay", money=("items.price",))
    assert check_arguments(tool, {"items": [{"price": 12}, {"price": "12.50"}, {"price": "-1"}, {}]})
    assert check_arguments(tool, {"items": [{"price": [1, "2.5"]}]})
    assert refused(tool, {"items": [{"price": 12}, {"price": 12.5}]}).more["path"] == "items[1].price"


@pytest.mark.parametrize(
    ("title", "arguments", "shown"),
    [
        (
            "Pay {payee} {amount} {currency}",
            {"payee": "Acme", "amount": 80000, "currency": "CNY"},
            "Pay Acme 80000 CNY",
        ),
        ("Pay {payee.name}", {"payee": {"name": "Acme"}}, "Pay Acme"),
        ("Pay {payee}", {"payee": {"name": "Acme", "ids": [1, 2.5]}}, 'Pay {"name":"Acme","ids":[1,2.5]}'),
        ("Pay {payee}", {}, "Pay ?"),
        ("Pay {payee}", {"payee": "{amount}", "amount": 5}, "Pay {amount}"),
        ("Order {items.name}", {"items": [{"name": "a"}, {"name": "b"}]}, "Order a, b"),
        ("Pay {flag} {nothing}", {"flag": True, "nothing": None}, "Pay true null"),
        ("Pay into {account}", {"account": "6222"}, "Pay into ?"),
        ("Pay into {account.number}", {"account": {"number": "6222"}}, "Pay into ?"),
        ("Pay {owner}", {"owner": {"phone": "123", "name": "x"}}, "Pay ?"),
        (None, {"payee": "Acme"}, "pay{payee}"),
    ],
)
def test_a_title_is_filled_with_plain_values(title: str | None, arguments: Any, shown: str) -> None:
    tool = Tool(name="pay{payee}", title=title, sensitive=("account", "owner.phone"))
    assert title_for(tool, arguments) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(80000, "80,000"), ("1234567.50", "1,234,567.50"), (-1000, "-1,000"), ("-999.1234", "-999.1234"), (None, "null")],
)
def test_money_in_a_title_is_grouped_and_other_numbers_are_not(amount: Any, shown: str) -> None:
    tool = Tool(name="pay", title="Pay {order.amount} for {number}", money=("order.amount",))
    assert title_for(tool, {"order": {"amount": amount}, "number": 20261120}) == f"Pay {shown} for 20261120"


@given(st.from_regex(r"-?[0-9]{1,40}(\.[0-9]{1,8})?", fullmatch=True) | st.integers())
def test_grouped_money_without_its_commas_is_the_money(amount: str | int) -> None:
    text = money_text(amount)
    assert text is not None
    assert text.replace(",", "") == str(amount)
    whole = text.removeprefix("-").partition(".")[0].split(",")
    assert 1 <= len(whole[0]) <= 3
    assert {len(group) for group in whole[1:]} <= {3}


@pytest.mark.parametrize("value", [1.5, True, None, "1,000", "1e5", "", "٣", "1\n", [], {}])
def test_what_is_no_exact_money_is_not_grouped(value: Any) -> None:
    assert money_text(value) is None


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (SCHEMA, None),
        ({"$defs": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a"}}}, None),
        ({"type": "objekt"}, "type is not JSON Schema"),
        ({"properties": {"a": {"minimum": "1"}}}, "properties.a.minimum is not JSON Schema"),
        ({"properties": {"a": {"$ref": "https://evil.example/schema"}}}, "may only point into the schema itself"),
        ({"allOf": [{"$ref": "file:///etc/passwd"}]}, "may only point into the schema itself"),
    ],
)
def test_a_schema_is_checked_when_it_is_read(schema: Any, says: str | None) -> None:
    why = schema_fault(schema)
    assert why is None if says is None else says in (why or "")


@pytest.mark.parametrize(
    ("note", "begins"),
    [
        ("a\nb", "Note a⏎ b: 5"),
        ("\n" * 60 + "b", "Note ⏎×60 b: 5"),
        ("line\n" * 60, "Note line⏎ line⏎ "),
        ("x" * 1_000, "Note xxx"),
        ("\u202e" * 300, "Note \\u{202E}\\u{202E}"),
    ],
)
def test_a_title_is_one_line_of_bounded_length_whatever_stands_in_it(note: str, begins: str) -> None:
    title = title_line(Tool(name="t", title="Note {note}: {n}"), {"note": note, "n": 5})
    assert title.startswith(begins)
    assert "\n" not in title
    assert len(title) <= LONGEST_TITLE
    assert title.endswith("…") == ("5" not in title)
