"""Tiers never become laxer as amounts rise: not in their answer, their people, their level, nor in their risk."""

from __future__ import annotations

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError

FILE = """\
org: acme
default: deny
people: {{wang@acme.example: {{}}, chen@acme.example: {{}}, li@acme.example: {{}}}}
groups:
  finance: [wang@acme.example, chen@acme.example, li@acme.example]
  security: [wang@acme.example, chen@acme.example, li@acme.example]
  board: [wang@acme.example, chen@acme.example, li@acme.example]
ask: {{stages: [{{of: [finance]}}], channels: [api], assurance: L2, risk: high}}
tools: {{pay: {{payment: {{amount: amount, currency: currency, payee: payee}}}}}}
rules:
  - id: pays
    tools: [pay]
    tiers:
      - {{up_to: {{CNY: 5}}, {lower}}}
      - {{{higher}}}
"""
HINT = "; a tier takes at least what the one below it does: say {key} here"


def faults(lower: str, higher: str) -> list[str]:
    try:
        load_policy(FILE.format(lower=lower, higher=higher), environ={}, channel_types={})
    except PolicyFaultsError as refused:
        return [str(fault).removeprefix("assent.yaml:") for fault in refused.faults]
    return []


@pytest.mark.parametrize(
    ("lower", "higher", "key", "why"),
    [
        ("assurance: L2", "assurance: L1", "assurance", "L1 is less than L2"),
        ("assurance: L3", "then: ask", "assurance", "L2 is less than L3"),  # as `ask` says
        ("timeout: 1h", "assurance: L1", "assurance", "L1 is less than L2"),
        ("risk: high", "risk: low", "risk", "low is less than high"),
        ("timeout: 1h", "risk: normal", "risk", "normal is less than high"),
        (
            "stages: [{of: [finance], need: 2}]",
            "stages: [{of: [finance], need: 1}]",
            "stages",
            "2 of finance must agree there, and 1 here",
        ),
        (
            "stages: [{of: [finance], need: 2}]",
            "then: ask",
            "stages",
            "2 of finance must agree there, and 1 here",
        ),
        (
            "stages: [{of: [finance]}, {of: [security]}]",
            "stages: [{of: [finance], need: 2}]",
            "stages",
            "1 of security must agree there, and none here",
        ),
        (
            "stages: [{all: [{of: [finance]}, {of: [security]}]}]",
            "stages: [{of: [finance, security], need: 2}]",
            "stages",
            "1 of finance must agree there, and none here",
        ),
        (
            "stages: [{of: [finance]}]",
            "stages: [{of: [finance, security]}]",
            "stages",
            "1 of finance must agree there, and none here",
        ),
        (
            "stages: [{of: [finance], need: 2}]",
            "stages: [{of: [board]}]",
            "stages",
            "2 of finance must agree there, and 1 here",
        ),
        (
            "stages: [{of: [finance]}]",
            "stages: [{of: [finance], allow_requester: true}]",
            "stages",
            "allow_requester stands here alone",
        ),
        ("assurance: L4", "assurance: L3", "assurance", "L3 is less than L4"),
    ],
)
def test_a_tier_that_asks_for_less_than_the_one_below_it_is_refused(
    lower: str, higher: str, key: str, why: str
) -> None:
    expected = f"{key} of tier 2 is laxer than that of tier 1, which is for less: {why}{HINT.format(key=key)}"
    assert any(
        fault.startswith("15: rules[0].tiers[1]") and fault.endswith(expected) for fault in faults(lower, higher)
    )


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("timeout: 1h", "timeout: 30m"),
        ("assurance: L2", "assurance: L3"),
        ("stages: [{of: [finance]}]", "stages: [{of: [finance], need: 2}]"),
        ("stages: [{of: [finance]}]", "stages: [{of: [security]}, {of: [finance]}]"),
        ("stages: [{of: [finance, security]}]", "stages: [{of: [finance]}]"),
        ("stages: [{of: [finance, security], need: 2}]", "stages: [{of: [finance]}, {of: [security]}]"),
        ("stages: [{of: [finance]}]", "stages: [{of: [board]}]"),
        ("stages: [{of: [finance]}, {of: [security]}]", "stages: [{of: [board], need: 2}]"),
        ("stages: [{of: [finance]}, {of: [security]}]", "stages: [{of: [finance]}, {of: [board]}]"),
        ("stages: [{of: [finance], need: 2}]", "stages: [{of: [finance]}], assurance: L4"),
        ("then: ask", "then: deny"),
    ],
)
def test_a_tier_that_asks_for_as_much_or_of_other_people_is_not(lower: str, higher: str) -> None:
    assert faults(lower, higher) == []
