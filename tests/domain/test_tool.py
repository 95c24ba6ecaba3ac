"""Arguments are checked before anything is judged or shown; titles say what they can and never what is sensitive."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.errors import BadArgumentsError, BadJsonError
from app.domain.tool import Tool, check_arguments, schema_fault, title_for
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
