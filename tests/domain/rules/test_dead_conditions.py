"""What can be told of a condition before any call."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from app.domain.rules.condition import BadConditionError
from app.domain.rules.dead_conditions import foresee
from tests.requirements import requirement

TOOLS: list[dict[str, Any]] = [{"name": "pay", "writes": True}, {"name": "refund", "writes": True}]


@requirement("S-57")
@pytest.mark.parametrize(
    "source",
    [
        "false",
        "2 < 1",
        "!true",
        "args.a > 1 && false",
        "(args.a > 1) && (1 == 2)",
        "args.a > 10 && args.a < 5",
        "args.a > 5 && args.a <= 5",
        "args.a == 1 && args.a == 2",
        "args.c == 'A' && args.c == \"B\"",
        "amount(args.a) > amount(\"5.00\") && amount(args.a) < amount('4.99')",
        "(args.a == 1 && args.a == 2) || (args.a < 1 && args.a > 3)",
        'tool.name == "x"',
        "!tool.writes && args.a > 1",
        "!(tool.writes || args.a > 1)",
        "args.a == 1 && !(args.b || args.a == 1)",
        "args.c == 'A' && args.c != 'A'",
        "args.c == 'A' && args.c in ['B', 'C']",
        "args.c in ['A'] && !(args.c in ['A', 'B'])",
        "args.c == 'A' && args.c > 5",
        "args.b && !args.b",
        "5 < args.a && 4 > args.a",
        "args.a == 5 && args.a != 5",
        'args["c"] == "A" && args.c == "B"',
        "now.getHours() > 22 && now.getHours() < 6",
        "now.getHours() > 22 && now.getHours() < 23",
        "now.getHours() > 24",
        "now.getDayOfWeek() == 7",
        "now.getMonth() == 12",
        '(now + duration("8h")).getHours() == 24',
    ],
)
def test_a_condition_that_no_call_makes_true_is_told(source: str) -> None:
    assert foresee(source, TOOLS) is False


@requirement("S-57")
@pytest.mark.parametrize(
    "source",
    [
        "true",
        "1 < 2 // always",
        "args.a > 1 || true",
        '(amount("1") < amount("2"))',
        'args.c != "USD" || args.c != "EUR"',
        '!(args.c == "USD" && args.c == "EUR")',
        "args.a <= 100 || args.a > 100",
        'amount(args.a) <= amount("100") || args.b || amount(args.a) > amount("99.99")',
        'args.c == "USD" || args.c != "USD"',
        "!args.b || (args.b || args.c)",
        "now.getHours() < 24",
        "now.getHours() >= 6 || now.getHours() < 22",
    ],
)
def test_a_condition_that_is_always_true_is_told(source: str) -> None:
    assert foresee(source, TOOLS) is True


@pytest.mark.parametrize(
    "source",
    [
        "args.a > 1",
        "args.a >= 5 && args.a <= 5",
        "args.n == 5 && args.n == 5.0 && args.n < 5.1",
        "args.c == 'A' && args.c == \"A\"",
        "args.c == 'A' && args.d == 'B'",
        "args.a > 10 || args.a < 5",
        "args.a ? true : false",
        "args.a > 10 && args.b ? args.a < 5 : true",
        "args.s == 'a && false' && args.t",
        "args.x.exists(i, i > 1 && false)",
        'tool.name == "pay"',
        "tool.writes",
        "args.s == 'amount(5.0)'",
        "args.n > 3 // && false",
        "now.getHours() >= 22 || now.getHours() < 6",
        "now.getHours() > 6 && now.getHours() < 22",
        "now.getMonth() == 11",
        "args.a < 100 || args.a > 100",
        "args.c != 'A' && args.c != 'B'",
        "args.c in ['A', 'B'] && args.c != 'A'",
        "!(args.a == 1 && args.b == 2)",
        "args.s == 'args.b' && args.b",
        "!args.b ? args.c : true",
        "args.a == 1 || args.a == 2",
    ],
)
def test_what_hangs_on_the_call_is_left_to_the_calls(source: str) -> None:
    assert foresee(source, TOOLS) is None


def test_tools_that_cannot_be_listed_may_be_any() -> None:
    assert foresee('tool.name == "x"', None) is None


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("1 + 1", "is no true or false"),
        ("1 / 0 == 1", "arithmetic failed"),
        ('args.a.matches("(")', "can never be evaluated"),
        ('amount("abc") < amount(args.a)', "an amount must be"),
        ("amount(5.0) < amount(args.a)", "an amount must be"),
        ('now < timestamp("soon")', "can never be evaluated"),
        ("amount(args.a) == 5", "an amount equals only another amount"),
        ('amount(args.a) != "5.00"', "an amount equals only another amount"),
    ],
)
def test_a_part_that_can_never_be_evaluated_is_refused(source: str, why: str) -> None:
    with pytest.raises(BadConditionError) as refused:
        foresee(source, TOOLS)
    assert why in refused.value.why


def test_a_hostile_condition_takes_no_long_time_to_be_foretold() -> None:
    for source in ("(" * 60 + "args.a" + ")" * 60, "!(" * 60 + "args.a" + ")" * 60, " || ".join(["args.a > 1"] * 300)):
        before = process_time()
        assert foresee(source, TOOLS) is None
        assert process_time() - before < 2


@pytest.mark.parametrize(
    "source", ['args.memo == "amount(x) == 5"', "args.memo == 'amount(args.a) == 5' // amount(args.a) == 5"]
)
def test_what_stands_in_a_text_or_a_comment_is_no_comparison(source: str) -> None:
    assert foresee(source, TOOLS) is None


@pytest.mark.parametrize(
    ("source", "known", "answer"),
    [
        ('args.c == "BTC"', {"CNY", "USD"}, False),
        ('args.c != "CNY" && args.c != "USD"', {"CNY", "USD"}, False),
        ('args.c in ["CNY", "USD", "EUR"]', {"CNY", "USD"}, True),
        ('args.c != "BTC"', {"CNY", "USD"}, True),
        ('args.c == "CNY"', {"CNY", "USD"}, None),
    ],
)
def test_a_text_that_an_argument_can_never_be_is_told(source: str, known: set[str], answer: bool | None) -> None:
    assert foresee(source, TOOLS, {"args.c": frozenset(known)}) is answer


@pytest.mark.parametrize(
    ("source", "mend"),
    [
        ('now > timestamp("2026-01-01T00:00:00")', "has its zone"),
        ('now - args.t > duration("1d")', 'duration("24h")'),
        ('args.a.matches("[a")', "close its brackets"),
    ],
)
def test_what_can_never_be_evaluated_is_told_with_what_to_write(source: str, mend: str) -> None:
    with pytest.raises(BadConditionError) as refused:
        foresee(source, TOOLS)
    assert "RuntimeError" not in refused.value.why
    assert mend in (refused.value.hint or "")
