"""A key that stands there with nothing behind it is refused: it was emptied, and would mean as much as left out."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, ConfigDict

from app.policies.file.case_file import read_cases
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.fixtures.specs import a_spec

if TYPE_CHECKING:
    from pathlib import Path

MEND = "is empty; leave the key out, or give it a value"
FILE = """\
org: acme
default: deny
timezone: UTC
url: https://assent.acme.example
people:
  wang@acme.example:
    limit: {CNY: 5}
  chen@acme.example:
groups:
  finance: [wang@acme.example, chen@acme.example]
channels:
  room:
    type: room
    topic: x
ask:
  stages: [{of: [finance], need: 1}]
  channels: [room]
  risk: high
tools:
  pay:
    schema: {type: object, properties: {amount: {default: null, enum: [null, "1"]}}}
    payment: {amount: amount, currency: currency, payee: payee}
    writes: true
  deploy:
rules:
  - id: small
    agents: [buyer]
    tools: [deploy]
    when: args.n < 5
    then: allow
  - id: pays
    tools: [pay]
    tiers:
      - {up_to: {CNY: 5}}
      - stages: [{of: [finance], need: 2}]
        assurance: L2
payments:
  step_up: [first_payee]
  budgets:
    - id: day
      per: org
      within: 1d
      count: 5
      limit: {CNY: 5}
agents:
  buyer:
  seller:
    hooks:
      - {on: PreToolUse, use: read-only, tools: [deploy]}
"""


class RoomLike(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    topic: str | None = None


def load(text: str) -> None:
    load_policy(text, environ={}, channel_types={"room": a_spec("room", RoomLike)})


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text)
    return [str(fault).removeprefix("assent.yaml:") for fault in refused.value.faults]


def test_bare_names_and_the_null_of_a_schema_are_none() -> None:
    load(FILE)


@pytest.mark.parametrize("left", ["", " # nothing but a comment", " null", " ~"])
def test_a_rule_whose_condition_was_emptied_is_no_rule_for_everything(left: str) -> None:
    assert f"29: rules[0].when: {MEND}" in faults(FILE.replace("when: args.n < 5", f"when:{left}"))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("timezone: UTC", "timezone"),
        ("url: https://assent.acme.example", "url"),
        ("    limit: {CNY: 5}", "people.wang@acme.example.limit"),
        ("    topic: x", "channels.room.topic"),
        ("  risk: high", "ask.risk"),
        ("    writes: true", "tools.pay.writes"),
        ("    payment: {amount: amount, currency: currency, payee: payee}", "tools.pay.payment"),
        ("    agents: [buyer]", "rules[0].agents"),
        ("      - stages: [{of: [finance], need: 2}]", "rules[1].tiers[1].stages"),
        ("        assurance: L2", "rules[1].tiers[1].assurance"),
        ("  step_up: [first_payee]", "payments.step_up"),
        ("      limit: {CNY: 5}", "payments.budgets[0].limit"),
    ],
)
def test_an_emptied_key_is_told_with_its_line_and_its_name(line: str, path: str) -> None:
    assert FILE.count(f"\n{line}\n") == 1
    number = FILE[: FILE.index(f"\n{line}\n")].count("\n") + 2
    emptied = line.partition(":")[0] + ":"
    assert f"{number}: {path}: {MEND}" in faults(FILE.replace(f"\n{line}\n", f"\n{emptied}\n"))


@pytest.mark.parametrize("key", ["hooks", "webhooks", "sign_in", "roles", "calendar", "attention", "retention", "use"])
def test_an_emptied_section_is_told_once(key: str) -> None:
    line = FILE.count("\n") + 1
    assert faults(f"{FILE}{key}:\n  # all of it was commented out\n") == [f"{line}: {key}: {MEND}"]


def test_what_asks_of_a_rule_may_not_be_emptied_in_braces_either() -> None:
    text = FILE.replace("    agents: [buyer]\n", "    requester: {}\n").replace("need: 1}", "need: }")
    assert f"16: ask.stages[0].need: {MEND}" in faults(text)


def test_a_case_has_no_empty_key_but_the_arguments_of_its_call(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text("cases:\n  - {it: one, tool: pay, args: {note: null}, expect: deny}\n", encoding="utf-8")
    [case] = read_cases(path, org="acme", zone=UTC, rules=frozenset())
    assert case.call.arguments == {"note": None}
    path.write_text("cases:\n  - it: one\n    tool: pay\n    expect: deny\n    rule:\n", encoding="utf-8")
    with pytest.raises(PolicyFaultsError, match=r"5: cases\[0\].rule: is empty"):
        read_cases(path, org="acme", zone=UTC, rules=frozenset())
