"""Conditions: compiled at load, and in doubt neither true nor false."""

from __future__ import annotations

from datetime import UTC, datetime
from operator import eq, ge, gt, le, lt
from typing import Any
from zoneinfo import ZoneInfo

import cel
import pytest

from app.domain.money.exact_money import amount
from app.domain.rules.condition import (
    FUNCTIONS,
    BadConditionError,
    Condition,
    ConditionFailedError,
    Demand,
    compile_condition,
    scope_of,
)
from tests.requirements import requirement

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
ARGUMENTS: dict[str, Any] = {
    "amount": 1200,
    "rate": 0.5,
    "name": "Acme",
    "none": None,
    "items": [{"price": 3}],
    "a b": 1,
    "tool_name": 1,
}


def holds(source: str, **variables: Any) -> bool:
    given = {"agent": "buyer", "user": None, "session": None, "tool": "pay", **variables}
    return compile_condition(source).holds(scope_of(arguments=ARGUMENTS, now=NOW, **given))


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("args.amount >= 1000.0", True),
        ("args.amount == 1200.0", True),
        ("1200.0 <= args.amount && args.amount < 1200.5", True),
        ("args.rate < 1", True),
        ("args.rate > 0 && args.rate != 1", True),
        ("args.amount in [1.0, 1200.0]", True),
        ("args.none == null", True),
        ('has(args.name) && args.name.startsWith("Ac")', True),
        ("has(args.absent)", False),
        ("args.items.all(item, item.price < 10)", True),
        ("args['a b'] == 1", True),
        ('agent == "buyer" && tool.name == "pay" && user == null && session == null', True),
        ('tool["name"] == "pay" && has(tool.name) && args.tool_name == 1', True),
        ('now < timestamp("2027-01-01T00:00:00Z") && now.getHours() == 12', True),
        ("args.amount > 1000 ? false : true", False),
    ],
)
def test_a_condition_is_true_or_false_of_a_call(source: str, answer: bool) -> None:
    assert holds(source) is answer


@pytest.mark.parametrize(
    "source",
    [
        "args.absent > 1",  # KeyError in the binding
        "args.name > 1",  # TypeError
        "args.none > 1",
        "args.amount / 0 == 1",  # ZeroDivisionError
        "args.amount + 9223372036854775807 > 0",  # OverflowError
        'user.endsWith("@acme.example")',  # RuntimeError: null has no such function
        "int(args.name) > 1",
        'args.name.matches("(")',
        "args.amount",  # not a yes or no
        '"true"',
        "args.items[7].price > 1",
        "!args.none",
    ],
)
def test_a_condition_that_cannot_be_evaluated_says_so_and_tells_no_value(source: str) -> None:
    with pytest.raises(ConditionFailedError) as failed:
        holds(source)
    assert "Acme" not in failed.value.why
    assert "1200" not in failed.value.why


def test_a_missing_argument_is_named_only_if_the_condition_names_it() -> None:
    with pytest.raises(ConditionFailedError, match=r"there is no args\.absent"):
        holds("args.absent > 1")
    with pytest.raises(ConditionFailedError, match="there is no such key"):
        holds("args[args.name] > 1")


def test_values_that_the_library_cannot_take_are_a_failed_condition_too() -> None:
    odd: Any = {"odd": object()}
    scope = scope_of(arguments=odd, agent="", user=None, session=None, tool="", now=NOW)
    with pytest.raises(ConditionFailedError):
        compile_condition("has(args.odd)").holds(scope)


def test_a_defect_of_the_library_is_a_failed_condition_too() -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        def execute(self, _context: object) -> bool:
            raise PanicException

    condition = Condition(source="x", reads=(), _program=Broken())  # pyright: ignore[reportArgumentType]
    scope = scope_of(arguments={}, agent="", user=None, session=None, tool="", now=NOW)
    with pytest.raises(ConditionFailedError):
        condition.holds(scope)


def test_an_interruption_is_no_answer_and_goes_on_its_way() -> None:
    class Interrupted:
        def execute(self, _context: object) -> bool:
            raise KeyboardInterrupt

    condition = Condition(source="x", reads=(), _program=Interrupted())  # pyright: ignore[reportArgumentType]
    scope = scope_of(arguments={}, agent="", user=None, session=None, tool="", now=NOW)
    with pytest.raises(KeyboardInterrupt):
        condition.holds(scope)


@requirement("S-57")
@pytest.mark.parametrize(
    ("source", "why", "hint"),
    [
        (
            "amount > 1",
            'unknown variable "amount"',
            "there are: args, agent, user, session, tool, now, working_hours, holiday",
        ),
        ("tool == 'pay'", '"tool" is what the file says of the tool', 'write tool.name == "…"'),
        ("'pay' in [tool]", '"tool" is what the file says of the tool', None),
        ("tool.wriets", 'unknown fact of the tool "wriets"', 'did you mean "writes"?'),
        ("arg.amount > 1", 'unknown variable "arg"', 'did you mean "args"?'),
        ("args.items.all(item, itm.price > 1)", 'unknown variable "itm"', None),
        ("args.items.all(args, true)", '"args" is given a second meaning here', None),
        ('args.name.startwith("A")', 'unknown function "startwith"', 'did you mean "startsWith"?'),
        ("approved()", 'unknown function "approved"', None),
        ("args.amount >", "no condition: nothing follows", None),
        ("", "no condition: it cannot be read", None),
    ],
)
def test_a_condition_that_can_never_work_is_refused_when_it_is_read(source: str, why: str, hint: str | None) -> None:
    with pytest.raises(BadConditionError) as refused:
        compile_condition(source)
    assert refused.value.why.startswith(why)
    assert hint is None or refused.value.hint == hint


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ('args.currency == "CNY" && args.amount <= 5 && args.amount > 1', ("currency", "amount")),
        ('args.payee.name.startsWith("A")', ("payee.name",)),
        ('args["two words"] == 1', ("two words",)),
        ("size(args.items) > 1 || args.items.exists(item, item.price > 1)", ("items",)),
        ('agent == "x"', ()),
        ("args.size() > 1", ()),
        ("args.a == 1 // and not args.b", ("a",)),
    ],
)
def test_a_condition_knows_which_arguments_it_names(source: str, reads: tuple[str, ...]) -> None:
    assert compile_condition(source).reads == reads


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_that_we_accept_is_known_to_the_library(name: str) -> None:
    """A name that the library does not know would be accepted at load and fail every call."""
    argument = '"2026-01-01T00:00:00Z"' if name == "timestamp" else '"1h"' if name == "duration" else '"1"'
    tries = [f"{name}({argument})", f'"x".{name}("x")', f"now.{name}()"]
    for source in tries:
        try:
            context = cel.Context(variables={"now": NOW}, functions={"amount": amount})
            cel.compile(source).execute(context)
        except RuntimeError:
            continue
        return
    pytest.fail(f"{name} is unknown to the library")


MONEY: dict[str, Any] = {
    "text": "50000.00",
    "whole": 50000,
    "cents": 5000001,
    "float": 50000.0,
    "null": None,
    "word": "5k",
}


def pays(source: str) -> bool:
    scope = scope_of(arguments=MONEY, agent="a", user=None, session=None, tool="pay", now=NOW)
    return compile_condition(source).holds(scope)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ('amount(args.text) <= amount("50000")', True),
        ("amount(args.text) == amount(args.whole)", True),
        ('amount(args.whole) > amount("49999.999999")', True),
        ('amount(args.cents, 2) > amount("50000.00")', True),
        ('amount(args.cents, 2) == amount("50000.01")', True),
        ('amount("0.1") + amount("0.2") == amount("0.3")', True),
        ('amount("9007199254740993") < amount(1)', None),
        ('amount("9007199254.740993") == amount("9007199254.740992")', False),
        ('amount("9999999999999.999999") < amount("10000000000000")', None),
        ('amount("-5.5") < amount(0)', True),
    ],
)
def test_money_is_compared_exactly(source: str, answer: bool | None) -> None:
    if answer is None:
        with pytest.raises(ConditionFailedError, match="an amount must be"):
            pays(source)
    else:
        assert pays(source) is answer


@pytest.mark.parametrize("field", ["float", "none", "word", "absent"])
def test_what_is_no_exact_money_makes_the_condition_fail(field: str, capfd: pytest.CaptureFixture[str]) -> None:
    for operator in ("<", "==", "!="):
        with pytest.raises(ConditionFailedError):
            pays(f'amount(args.{field}) {operator} amount("1")')
    assert capfd.readouterr() == ("", ""), "the binding prints what a function raises, and that may be a value"


@pytest.mark.parametrize(
    "source", ["amount(args.text) > 5", "amount(args.text) * 2 > amount(1)", 'amount("0.0000001") < amount(1)']
)
def test_an_amount_meets_only_other_amounts(source: str) -> None:
    with pytest.raises(ConditionFailedError):
        pays(source)


def test_now_has_the_hours_of_its_zone() -> None:
    evening = datetime(2026, 1, 5, 23, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
    scope = scope_of(arguments={}, agent="a", user=None, session=None, tool="pay", now=evening)
    assert compile_condition("now.getHours() == 23 && now.getDayOfWeek() == 1").holds(scope)
    assert compile_condition('now == timestamp("2026-01-05T15:30:00Z")').holds(scope)


def test_a_condition_about_the_calendar_fails_where_there_is_none() -> None:
    scope = scope_of(arguments={}, agent="a", user=None, session=None, tool="pay", now=NOW)
    for source in ("working_hours", "!working_hours", "holiday || true == false"):
        with pytest.raises(ConditionFailedError):
            compile_condition(source).holds(scope)


def test_a_condition_knows_what_it_sees_besides_the_arguments() -> None:
    condition = compile_condition('user != agent && tool.writes && now.getHours() < 6 && args.user == "x"')
    assert condition.sees == ("agent", "user", "now", "tool.writes")
    assert condition.reads == ("user",)


CNY = Demand("currency", eq, "CNY")


@pytest.mark.parametrize(
    ("source", "demands"),
    [
        ('args.currency == "CNY"', (CNY,)),
        (' args.currency=="CNY"  &&  args.n > 5 && (args.a || args.b)', (CNY, Demand("n", gt, 5))),
        ('args.currency == "" && args.payee in ["a || b", "c ? d : e"]', (Demand("currency", eq, ""),)),
        (
            'args.n <= -5 && args.m==0 && args.currency == "CNY" && args.k >= 7',
            (Demand("n", le, -5), Demand("m", eq, 0), CNY, Demand("k", ge, 7)),
        ),
        ('args.n < 100 && user != agent && args.currency == "CNY"', (Demand("n", lt, 100),)),
        ('args.currency == "CNY" || args.n > 5', ()),
        ('args.currency == "CNY" && args.n > 5 || args.ok', ()),
        ("args.n > 5 && args.ok ? args.a : args.b", ()),
        ('!(args.currency == "CNY" && args.n > 5)', ()),
        ('args.n > 5.5 && args.currency == "CNY"', ()),
        ("args.n > 5u", ()),
        ("args.n > 0x10", ()),
        ("args.n > 5 + 5", ()),
        ("args.n > 05", ()),
        ("args.n > 9007199254740993", ()),
        ("args.n != 5", ()),
        ("5 < args.n", ()),
        ('args.currency == "CN" + "Y"', ()),
        ('args.currency == """CNY""" && args.ok', ()),
        ('args.currency == "C\\u004eY" && args.ok', ()),
        ("args.currency.size() == 3", ()),
        ('args.to.currency == "CNY"', ()),
    ],
)
def test_a_condition_knows_what_it_plainly_demands(source: str, demands: tuple[Demand, ...]) -> None:
    try:
        assert compile_condition(source).demands == demands
    except BadConditionError:
        assert demands == ()
