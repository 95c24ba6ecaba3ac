"""Conditions: compiled at load, and in doubt neither true nor false."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import cel
import pytest

from app.domain.condition import (
    FUNCTIONS,
    BadConditionError,
    Condition,
    ConditionFailedError,
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
        ('agent == "buyer" && tool == "pay" && user == null && session == null', True),
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
    with pytest.raises(ConditionFailedError):
        scope_of(arguments={"odd": object()}, agent="", user=None, session=None, tool="", now=NOW)  # pyright: ignore[reportArgumentType]


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
        ("amount > 1", 'unknown variable "amount"', "there are: args, agent, user, session, tool, now"),
        ("arg.amount > 1", 'unknown variable "arg"', 'did you mean "args"?'),
        ("args.items.all(item, itm.price > 1)", 'unknown variable "itm"', None),
        ("args.items.all(args, true)", '"args" is given a second meaning here', None),
        ('args.name.startwith("A")', 'unknown function "startwith"', 'did you mean "startsWith"?'),
        ("approved()", 'unknown function "approved"', None),
        ("args.amount >", "not a CEL expression", None),
        ("", "not a CEL expression", None),
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
            cel.compile(source).execute({"now": NOW})
        except RuntimeError:
            continue
        return
    pytest.fail(f"{name} is unknown to the library")
