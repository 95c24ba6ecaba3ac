"""What is no amount, no zone, no name or no YAML is told in words, with how it is written."""

from __future__ import annotations

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError

HEAD = "org: acme\ndefault: deny\n"
EXACT = 'must be exact: a whole number, or a decimal text such as "1500.50"'
NO_SUMMER = "an offset is no zone; write one that is as far from UTC when there is no summer time: "


def fault(text: str) -> str:
    with pytest.raises(PolicyFaultsError) as refused:
        load_policy(text, environ={}, channel_types={})
    [only] = refused.value.faults
    return str(only).removeprefix("assent.yaml:")


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        ("-5", "is below 0: no amount is"),
        ('"-5.00"', "is below 0: no amount is"),
        ("1e3", f"{EXACT}; this one is a number with a point or an exponent: write 1000"),
        ("1500.5", EXACT),
        ("5_000", f"{EXACT}, with no marks between its digits but a point before decimals"),
        ('"5,50"', f"{EXACT}, with no marks between its digits but a point before decimals"),
        ("true", EXACT),
    ],
)
def test_an_amount(amount: str, told: str) -> None:
    assert fault(f"{HEAD}people:\n  a@acme.example: {{limit: {{CNY: {amount}}}}}\n") == (
        f"4: people.a@acme.example.limit: {told}"
    )


@pytest.mark.parametrize(
    ("zone", "begins"),
    [
        ("UTC+8", f"{NO_SUMMER}Asia/Shanghai, Asia/Singapore, Asia/Hong_Kong, Etc/GMT-8 ("),
        ("GMT+8", f"{NO_SUMMER}Asia/Shanghai, "),
        ("+08:00", f"{NO_SUMMER}Asia/Shanghai, "),
        ("UTC-5", f"{NO_SUMMER}America/New_York, America/Bogota, Etc/GMT+5 ("),
        ("UTC+5:30", f"{NO_SUMMER}Asia/Kolkata"),
        ("UTC+99", "an offset is no zone; write one such as Asia/Shanghai"),
        ("CST", "an abbreviation is no zone: write Asia/Shanghai, America/Chicago or America/Havana"),
        ("Asia/Beijing", 'write "Asia/Shanghai": that is its zone'),
        ("Asia/Shanghia", 'did you mean "Asia/Shanghai"?'),
    ],
)
def test_a_time_zone(zone: str, begins: str) -> None:
    assert fault(f'{HEAD}timezone: "{zone}"\n').startswith(f'3: timezone: unknown time zone "{zone}"; {begins}')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"{HEAD}people:\n  a@acme.example: {{name: \0}}\n",
            "4: not YAML: the NUL byte (U+0000) stands here",
        ),
        (f"{HEAD}language: en\a\n", "3: not YAML: a character that no YAML may have (U+0007) stands here"),
        (f"{HEAD}people:\n\ta@acme.example: {{}}\n", "4: not YAML: a tab stands where only spaces may; indent with"),
    ],
)
def test_a_character(text: str, told: str) -> None:
    assert fault(text).startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("org: Acme Inc\ndefault: deny\n", "1: org: must be of small letters (a to z), digits, _ and -"),
        (
            f"{HEAD}tools: {{pay: {{}}}}\nrules:\n  - {{id: a b, tools: [pay], then: deny}}\n",
            "5: rules[0].id: must be of letters (a to z, A to Z), digits, _, . and -",
        ),
        (
            f"{HEAD}tools: {{pay: {{}}}}\nrules:\n  - {{id: a, tools: [p y], then: deny}}\n",
            "5: rules[0].tools[0]: must be a name or a pattern without spaces",
        ),
        (
            f"{HEAD}tools: {{pay: {{pin: [a b]}}}}\n",
            "3: tools.pay.pin[0]: must be an argument's name, or a path such as payee.name",
        ),
        (
            f"{HEAD}tools: {{pay: {{}}}}\nrules:\n  - {{id: a, tools: [pay], when: true, then: deny}}\n",
            "5: rules[0].when: must be a condition such as args.n < 5: leave it out if the rule is meant",
        ),
    ],
)
def test_a_name_and_a_condition(text: str, told: str) -> None:
    assert fault(text).startswith(told)
    assert "[a-z" not in fault(text).lower()
