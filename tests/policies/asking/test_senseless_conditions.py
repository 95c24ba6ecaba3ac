"""Conditions of rules that say something else than was meant, and rules that an earlier one always answers before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.domain.rules.meaning.implication import Meaning
from app.policies.asking import shadowed_rules
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import Fault, PolicyFaultsError
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

TOP = """\
org: acme
default: deny
tools:
  pay:
    money: [amount]
    schema: {type: object, properties: {currency: {enum: [CNY, USD]}, memo: {type: string}, payee: {}, amount: {}},
             additionalProperties: false}
  wire: {payment: {amount: amount, currency: currency, payee: payee}, pin: [payee]}
  note: {}
"""


def faults(*rules: tuple[str, str], tools: str = "[pay]") -> tuple[Fault, ...]:
    text = "".join(
        f"  - id: r{index}\n    tools: {tools}\n    then: {then}\n    when: |-\n      {when}\n"
        for index, (when, then) in enumerate(rules)
    )
    try:
        load_policy(f"{TOP}rules:\n{text}", environ={}, channel_types={})
    except PolicyFaultsError as refused:
        return refused.faults
    return ()


@requirement("S-57")
@pytest.mark.parametrize("tools", ["[pay]", "[wire]", '["*"]', "[note, wire]"])
def test_money_of_the_tool_is_compared_as_an_amount(tools: str) -> None:
    (fault,) = faults(('args.amount > "50000"', "deny"), tools=tools)
    assert fault.path == "rules[0].when"
    assert "is money: texts compare by alphabet" in fault.message
    assert fault.hint == 'write amount(args.amount) > amount("50000")'
    assert not faults(('amount(args.amount) > amount("50000")', "deny"), ("args.amount > 50000", "allow"), tools=tools)


def test_the_amount_of_a_tool_that_has_none_is_no_money() -> None:
    assert not faults(('args.amount == "5000"', "deny"), tools="[note]")


@requirement("S-57")
@pytest.mark.parametrize(
    ("when", "told", "hint"),
    [
        ("now.getHours() > 22 && now.getHours() < 6", "can never match", "write || in place of &&"),
        ('args.payee != "A" || args.payee != "B"', "is always true", "write && in place of ||"),
        ('args.currency != "CNY" && args.currency != "USD"', "can never match", "write ||"),
        ('args.currency == "CYN"', 'is never "CYN"', "its schema has: CNY, USD"),
        ("args.memo == 5", "never equal", 'write "5"'),
        ('user == "Wang@acme.example"', '"user"', 'write "wang@acme.example"'),
    ],
)
def test_a_condition_without_sense_is_refused_with_its_mend(when: str, told: str, hint: str) -> None:
    (fault,) = faults((when, "deny"))
    assert told in fault.message
    assert hint in (fault.hint or "")


@pytest.mark.parametrize(
    "when",
    [
        'args.memo == "amount(x) == 5"',
        'args.memo == "args.foo"',
        "args.memo == 'tool.name == \"reed\"'",
        'args.memo == "a" // args.foo == tool.fact',
    ],
)
def test_what_stands_in_quotes_or_a_comment_is_no_code(when: str) -> None:
    assert not faults((when, "allow"))


def test_a_text_with_two_slashes_hides_no_argument() -> None:
    (fault,) = faults(('args.memo == "http://a.example" && args.foo == "x"', "allow"))
    assert fault.message == 'pay has no argument "foo"'


@requirement("S-57")
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("args.amount <= 5000", "args.amount <= 1000"),
        ("args.amount <= 5000", "args.amount < 5000 || args.amount < 70.5"),
        (
            'amount(args.amount) <= amount("5000")',
            'args.payee == "Evil" && amount(args.amount)  <=  amount("5000.00")',
        ),
        ('args.payee in ["A", "B"]', 'args.payee == "A"'),
        ('args.payee == "A"', 'args.payee in ["A"] && args.memo == "x"'),
        (
            'args.amount > 5 && args.payee == "A"',
            '(args.payee == "A" && args.memo == "x" && args.amount > 7) || (args.amount > 9 && args.payee == "A")',
        ),
        ('args.payee != "B"', 'args.payee == "A" && args.memo == "x"'),
        ('args.payee == "A" || args.memo == "x"', 'args.memo == "x" && args.payee != "A"'),
        ('!(args.payee == "A" && args.memo == "x")', 'args.payee != "A"'),
        ('has(args.memo) && args.payee == "A"', 'args.payee == "A" && has( args.memo ) && args.amount > 5'),
    ],
)
def test_a_rule_that_an_earlier_one_always_answers_before_is_told(earlier: str, later: str) -> None:
    (fault,) = faults((earlier, "allow"), (later, "deny"))
    assert fault.path == "rules[1]"
    assert "answers first, on a condition that is true whenever this one is" in fault.message
    assert fault.hint == 'put it before "r0"'
    assert not faults((later, "deny"), (earlier, "allow"))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("args.amount <= 1000", "args.amount <= 5000"),
        ("args.amount < 1000", "args.amount <= 1000"),
        ('args.payee == "A"', 'args.payee == "B"'),
        ('args.payee == "A"', 'args.payee != "B"'),
        ('args.payee == "A" && args.memo == "x"', 'args.payee == "A"'),
        ('args.payee == "A"', 'args.payee == "A" || args.memo == "x"'),
        ("args.amount <= 5000", 'amount(args.amount) <= amount("1000")'),
        ("args.payee > 5", 'args.payee == "A"'),
        ('!args.payee ? true : args.memo == "a"', '!args.payee ? true : args.memo == "b"'),
        ('args.payee.contains("A")', 'args.payee == "BAB"'),
    ],
)
def test_a_rule_that_some_calls_reach_is_kept(earlier: str, later: str) -> None:
    assert not faults((earlier, "allow"), (later, "deny"))


def compared(monkeypatch: pytest.MonkeyPatch, rules: Iterable[tuple[str, str]], tools: str = "[pay]") -> int:
    """Return how often the conditions of two of these rules were compared."""
    pairs: list[str] = []
    implies = Meaning.implies

    def counted(later: Meaning, earlier: Meaning) -> bool:
        pairs.append("one more")
        return implies(later, earlier)

    monkeypatch.setattr(Meaning, "implies", counted)
    assert not faults(*rules, tools=tools)
    return len(pairs)


def test_rules_that_pin_different_texts_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [(f'amount(args.amount) > amount("{n}") && args.payee == "P{n}"', "deny") for n in range(50)]
    assert compared(monkeypatch, rules) == 0
    several = [(f'args.payee in ["P{n}", "P{n + 1}"]', "deny") for n in range(0, 20, 2)]
    by_text = 20  # each with the two that it could be about
    assert compared(monkeypatch, [*rules, *several]) == by_text + 10 * 9 // 2


def test_rules_of_other_tools_or_agents_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    covered: list[str] = []
    covers = shadowed_rules._covers

    def counted(*patterns: Any, **options: Any) -> bool:
        covered.append("one more")
        return covers(*patterns, **options)

    monkeypatch.setattr(shadowed_rules, "_covers", counted)
    text = "".join(
        f"  - {{id: r{n}, tools: [{('pay', 'wire')[n % 2]}], agents: [bot{n // 2}], then: deny}}\n" for n in range(60)
    )
    loaded = load_policy(f"{TOP}rules:\n{text}", environ={}, channel_types={})
    assert len(loaded.policy.rules) == 60
    assert not covered


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("", "agents: [bot]"),
        ("agents: [bot, tot]", "agents: [tot, bot]"),
        ('agents: ["b*"]', 'agents: [bot, "bo*"]'),
        ("agents: [tot, bot]", "agents: [bot]"),
    ],
)
@pytest.mark.parametrize(
    ("wider", "narrower"), [('["*"]', "[pay]"), ("[pay, wire]", "[wire, pay]"), ('["p*"]', "[pay]")]
)
def test_a_rule_that_covers_more_tools_and_agents_answers_first(
    earlier: str, later: str, wider: str, narrower: str
) -> None:
    def rules(*shown: tuple[str, str]) -> str:
        return "".join(
            f"  - {{id: r{at}, then: deny, tools: {tools}{agents and ', ' + agents}}}\n"
            for at, (tools, agents) in enumerate(shown)
        )

    with pytest.raises(PolicyFaultsError) as refused:
        load_policy(f"{TOP}rules:\n{rules((wider, earlier), (narrower, later))}", environ={}, channel_types={})
    (fault,) = refused.value.faults
    assert "answers first, without a condition" in fault.message


def test_a_rule_is_compared_with_so_many_before_it_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [(f'amount(args.amount) > amount("{50 - n}")', "deny") for n in range(50)]
    assert compared(monkeypatch, rules) == 50 * 49 // 2
    monkeypatch.setattr(shadowed_rules, "_MOST", 10)
    assert compared(monkeypatch, rules) == 10 * 9 // 2 + 40 * 10
