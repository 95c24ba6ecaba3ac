"""What can be told of a condition before any call."""

from __future__ import annotations

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
    ],
)
def test_a_condition_that_no_call_makes_true_is_told(source: str) -> None:
    assert foresee(source, TOOLS) is False


@pytest.mark.parametrize("source", ["true", "1 < 2 // always", "args.a > 1 || true", '(amount("1") < amount("2"))'])
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
