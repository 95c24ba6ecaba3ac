"""Comparisons that mean something else than they say, each with what to write instead."""

from __future__ import annotations

from time import process_time

import pytest

from app.domain.call.tool import Tool
from app.domain.money.payment import PaymentFields
from app.domain.rules.condition import BadConditionError, compile_condition
from app.domain.rules.meaning.condition_kinds import Arguments
from app.domain.rules.meaning.condition_misread import refuse_misread
from tests.requirements import requirement

PAY = Tool(
    name="pay",
    money=("amount", "items.price", "cents", "whole", "金额"),
    payment=PaymentFields(amount="cents", currency="currency", payee="payee", minor_units=True),
    schema={
        "properties": {
            "note": {"type": "string"},
            "currency": {"enum": ["CNY", "USD"]},
            "b": {"type": "boolean"},
            "n": {"type": "integer"},
            "whole": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        }
    },
)
OPEN = Tool(name="open")


def refused(source: str, *tools: Tool, are_all: bool = True) -> BadConditionError:
    with pytest.raises(BadConditionError) as found:
        refuse_misread(source, Arguments(tools or (PAY,), are_all))
    return found.value


@requirement("S-57")
@pytest.mark.parametrize(
    ("source", "mend"),
    [
        ('args.amount <= "5000"', 'amount(args.amount) <= amount("5000")'),
        ('"5,000" >= args.amount', 'amount("5000") >= amount(args.amount)'),
        ('string(args.amount) <= "5000"', 'amount(args.amount) <= amount("5000")'),
        ('args.amount == "5000.00"', 'amount(args.amount) == amount("5000.00")'),
        ('args.amount != "x"', 'amount(args.amount) != amount("10.00")'),
        ('args.amount in ["5", "6"]', 'amount(args.amount) in [amount("5"), amount("6")]'),
        ("args.amount == 5000", 'amount(args.amount) == amount("5000")'),
        ("args.amount <= args.limit", "amount(args.amount) <= amount(args.limit)"),
        ('args["amount"] <= "5"', 'amount(args["amount"]) <= amount("5")'),
        ('args["金额"] <= "5"', 'amount(args["金额"]) <= amount("5")'),
        ('!(args.b && (args.amount) <= "5")', 'amount(args.amount) <= amount("5")'),
        ('args.b ? args.amount <= "5" : false', 'amount(args.amount) <= amount("5")'),
        ('args.items.all(i, i.price <= "5")', 'amount(i.price) <= amount("5")'),
        ('args.items[0].price <= "5"', 'amount(args.items[0].price) <= amount("5")'),
        ('args.cents <= "500"', 'amount(args.cents, 2) <= amount("500")'),
    ],
)
@pytest.mark.parametrize("are_all", [True, False])
def test_money_is_compared_as_an_amount_alone(source: str, mend: str, *, are_all: bool) -> None:
    compile_condition(source)
    told = refused(source, PAY, OPEN, are_all=are_all)
    assert "is money" in told.why
    assert told.hint == f"write {mend}"


@pytest.mark.parametrize(
    "source",
    [
        "args.amount <= 5000",
        "args.net + args.amount <= 5",
        "args.amount != null",
        "args.whole == 5000",
        "size(string(args.amount)) > 3",
        "args.amount.size() > 3",
        "double(args.amount) < 100.0",
        'has(args.amount) && args.payee == "5000"',
        '"amount" in tool.money',
        'amount(args.amount) <= amount("5") && amount(args.amount) in [amount("1")]',
        'args.items.exists(i, amount(i.price) > amount("5"))',
        'args.day < "2026-01-01" && args.at < "09:00"',
        "args.memo == \"args.amount <= '5000'\"",
        'args.tags.exists(t, t == "x") && args.tags[0] == "y"',
        "args.n < 3.5 && args.n in [1, 2]",
        'args.note == "5"',
        "args.b == true && !args.b",
        'user == "wang@acme.example" || user == null || user in ["a@b.example"] || user.endsWith("@acme")',
        'args.name == "Wang" && agent == "Buyer"',
        "now.getHours() >= 22 || now.getHours() < 6 || now.getFullYear() == 2026",
        'now - timestamp("2026-01-01T00:00:00Z") > duration("1h")',
        'args.currency in ["CNY", "USD"] && args.currency != "CNY"',
        "working_hours && !holiday && tool.writes",
        "5.0 / 0.5 > args.x",
    ],
)
def test_what_means_what_it_says_is_kept(source: str) -> None:
    compile_condition(source)
    refuse_misread(source, Arguments((PAY,), are_all=True))


@requirement("S-57")
@pytest.mark.parametrize(
    ("source", "why", "mend"),
    [
        ('args.qty <= "10"', "compare by alphabet", "write args.qty <= 10"),
        ('"1,000.5" < args.qty', "compare by alphabet", "write 1000.5 < args.qty"),
        ('user == "Wang@acme.example"', '"user" is put in small letters', 'write "wang@acme.example"'),
        ('user in ["a@b.example", "B@b.example"]', '"user" is put in small letters', 'write "b@b.example"'),
        ('"Wang@x" != user', '"user" is put in small letters', 'write "wang@x"'),
        ('user.endsWith("@Acme.example")', '"user" is put in small letters', 'write "@acme.example"'),
        ('user.startsWith("ｗang")', '"user" is put in small letters', 'write "wang"'),
        ("amount(args.amount) <= 5000", "never be compared", 'write amount(args.amount) <= amount("5000")'),
        ('amount(args.amount) <= "5000"', "never be compared", 'write amount(args.amount) <= amount("5000")'),
        ('now > "2026-01-01"', "never be compared", 'write now > timestamp("2026-01-01T00:00:00Z")'),
        ("args.x <= 5 / 0", "divided by 0", "take the 0 out"),
        ('args.c in "CNY,USD"', "is no list", 'write args.c in ["CNY", "USD"]'),
        ("args.amount", "no true or false", 'amount(args.amount) > amount("0")'),
        ("args.b && !args.note", "args.note is a text, no true or false", "args.note == …"),
        ('now.getHours("America/New_York") == 19', "takes no zone", "timezone: Europe/Berlin"),
        ('now.getDayOfWeek() == "Monday"', "never equal", "from Sunday, 0"),
        ("args.b || now.getDayOfWeek() == 7", "never true", "from Sunday, 0"),
        ("now.getMonth() == 12 && args.b", "never true", "from January, 0"),
        ("args.b && now.getHours() <= 24", "always true", "hours are 0 to 23"),
        ("args.note == 5000", "never equal", 'write "5000"'),
        ("args.note < now", "never be compared", "write timestamp(args.note) < now"),
        ("args.note <= 5000", "never be compared", "write amount(args.note)"),
        ('args.n == "5"', "never equal", "write args.n == 5"),
        ('tool.writes == "false"', "never equal", "write tool.writes or !tool.writes"),
        ('args.currency == "BTC"', 'never "BTC"', "its schema has: CNY, USD"),
        ('args.b || args.currency in ["CNY", "BTC"]', 'never "BTC"', "its schema has: CNY, USD"),
        ("args.tags.exists(t, t == 5)", "never equal", 'write "5"'),
    ],
)
def test_what_means_something_else_is_refused_with_what_to_write(source: str, why: str, mend: str) -> None:
    compile_condition(source)
    told = refused(source)
    assert why in told.why
    assert mend in (told.hint or "")


@pytest.mark.parametrize("source", ["args.note == 5000", 'args.currency == "BTC"', "args.b && args.note"])
def test_a_schema_says_nothing_of_tools_that_are_not_listed(source: str) -> None:
    refuse_misread(source, Arguments((PAY,), are_all=False))
    refuse_misread(source, Arguments((PAY, OPEN), are_all=True))


@pytest.mark.parametrize(
    ("source", "mend"),
    [
        ("args.金额 == 1", 'write args["金额"]'),
        ("args.b && args.payee.größe == 1", 'write args.payee["größe"]'),
        ("has(args.金额)", 'write "金额" in args'),
    ],
)
def test_a_name_in_other_letters_is_told_how_it_is_written(source: str, mend: str) -> None:
    with pytest.raises(BadConditionError) as found:
        compile_condition(source)
    assert found.value.hint == mend
    assert compile_condition('"金额" in args && args["金额"] == 1').reads == ("金额",)


def test_a_hostile_condition_is_read_in_bounded_time() -> None:
    for source in (
        "(" * 60 + "args.a == 1" + ")" * 60,
        " || ".join(["args.a.b[0] > 1"] * 230),
        "-" * 3900 + "1 < 2",
        f"args.{'a' * 3900} == 1",
        f"args{'.a' * 1900} == 1",
        f"args.a == {'[' * 1900}{']' * 1900}",
        f"{'args.a.all(i, ' * 270} true {')' * 270}",
        f'args.a == "{" " * 3900}"',
    ):
        before = process_time()
        refuse_misread(source, Arguments((PAY,), are_all=True))
        assert process_time() - before < 2
