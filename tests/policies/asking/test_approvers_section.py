"""Stages, limits and absences in the file: what they become, and what is refused at which line."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from app.domain.people.people import Amount, Away
from app.domain.request.quorum import Stage
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from app.usecases.voters.electorate import voters_for
from channels import registry
from tests.domain.samples import a_call
from tests.places import ROOT
from tests.requirements import requirement

PAGE = ROOT / "docs/approvers.md"
FILE = """\
org: acme
default: deny
people:
  wang@acme.example: {limit: {CNY: 200000, USD: "1500.50"}}
  chen@acme.example: {limit: "200000 CNY"}
  Li@acme.example:
  zhao@acme.example: {away: [{from: 2026-12-20, until: 2027-01-05, to: li@ACME.example}]}
groups:
  finance: [wang@acme.example, chen@acme.example]
  security: [li@acme.example, zhao@acme.example]
rules:
  - id: all
    tools: ["*"]
    then: ask
    stages: [{all: [{of: [finance]}, {of: [security], need: 2}], denials: 2, allow_owner: true}, {of: [finance]}]
    channels: [api]
"""


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={"OKTA_SECRET": "o" * 32}, channel_types={})


def test_the_parts_of_a_stage_are_stages_that_are_asked_together() -> None:
    asking = load().policy.rules[0].asking
    assert asking is not None
    assert asking.stages == (
        Stage(of=("finance",), need=1, denials=2, allow_owner=True),
        Stage(of=("security",), need=2, joined=True, denials=2, allow_owner=True),
        Stage(of=("finance",), need=1),
    )


def test_limits_are_exact_and_by_currency() -> None:
    directory = load().policy.directory
    wang, chen, li = (directory.find(f"{name}@acme.example") for name in ("wang", "chen", "li"))
    assert wang
    assert chen
    assert li
    assert wang.limits == {"CNY": Decimal(200000), "USD": Decimal("1500.50")}
    assert chen.limits == {"CNY": Decimal(200000)}
    assert wang.may_approve(Amount(value=Decimal("1500.500"), currency="USD"))
    assert not wang.may_approve(Amount(value=Decimal("1500.501"), currency="USD"))
    assert not chen.may_approve(Amount(value=Decimal(1), currency="USD"))
    assert not chen.may_approve(None)
    assert li.may_approve(None)


def test_an_absence_names_who_acts_on_which_days() -> None:
    directory = load().policy.directory
    zhao = directory.find("zhao@acme.example")
    assert zhao is not None
    assert zhao.away == (Away(first=date(2026, 12, 20), last=date(2027, 1, 5), to="li@acme.example"),)
    acting = (("li@acme.example", "zhao@acme.example"),)
    days = [date(2026, 12, 19), date(2026, 12, 20), date(2027, 1, 5), date(2027, 1, 6)]
    assert [directory.acting_on(day) for day in days] == [(), acting, acting, ()]


@requirement("S-57")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{of: [finance]}]\n", "{of: [finance], all: [{of: [finance]}, {of: [security]}]}]\n",
         '15: rules[0].stages[1]: has "of" and "all": one of them says who'),
        ("{of: [finance]}]\n", "{need: 1}]\n", '15: rules[0].stages[1]: "of" is missing'),
        ("need: 2}], denials", "need: 2}], need: 2, denials",
         '15: rules[0].stages[0].need: stands in each part of "all"'),
        ("need: 2}], denials", "need: 3}], denials",
         "15: rules[0].stages[0].all[1].need: needs 3 people, but there are only 2"),
        ("of: [security], need", "of: [secrity], need",
         '15: rules[0].stages[0].all[1].of[0]: unknown group "secrity"; did you mean "security"?'),
        ("[{of: [finance]}, {of: [security], need: 2}]", "[{of: [finance]}]", "15: rules[0].stages[0].all: "),
        ("{of: [finance]}]\n", "{of: [finance], need: 2}]\n",
         "15: rules[0].stages: stages 1.1 and 2 need 3 different people together, but there are only 2"),
        ("denials: 2", "denials: 5", "15: rules[0].stages[0].denials: wants 5 people to deny, but there are only 4"),
        ("denials: 2", "denials: 0", "15: rules[0].stages[0].denials: must be 1 or more, and here is"),
        ("allow_owner: true", "allow_owner: yes", "15: rules[0].stages[0].allow_owner: must be true or false"),
        ("allow_owner: true", "alow_owner: true", '15: rules[0].stages[0].alow_owner: unknown key "alow_owner"'),
        ("allow_owner: true}, {of: [finance]}]", "allow_alone: true}]",
         "15: rules[0].stages: allow_alone takes L3: one who decides about their own proves that it is them"),
        ("allow_owner: true}, {of: [finance]}]", "allow_alone: true}]\n    assurance: L3",
         "16: rules[0].assurance: allow_alone takes one stage that needs one person"),
        ('"1500.50"', "1500.50", "4: people.wang@acme.example.limit: must be exact: a whole number, or a decimal text"),
        ('"1500.50"', "-1", "4: people.wang@acme.example.limit: is below 0"),
        ('"1500.50"', "true", "4: people.wang@acme.example.limit: must be exact"),
        ("USD:", "usd:", "4: people.wang@acme.example.limit: must name its currency by three capital letters"),
        ('"200000 CNY"', '"200000"', "5: people.chen@acme.example.limit: must name its currency"),
        ('"200000 CNY"', "{}", "5: people.chen@acme.example.limit: must be a limit such as"),
        ('"200000 CNY"', "200000", "5: people.chen@acme.example.limit: must be a limit such as"),
        ("2026-12-20", "2026-02-30", "7: people.zhao@acme.example.away[0].from: there is no day 2026-02-30"),
        ("2026-12-20", "20.12.2026", "7: people.zhao@acme.example.away[0].from: must be a day such as 2026-12-20"),
        ("2026-12-20", "2027-12-20", "7: people.zhao@acme.example.away[0].until: is before the first day"),
        ("to: li@", "to: lii@",
         '7: people.zhao@acme.example.away[0].to: unknown person "lii@ACME.example"; did you mean "li@acme.example"?'),
        ("to: li@", "to: lee@",
         '7: people.zhao@acme.example.away[0].to: unknown person "lee@ACME.example"; people: '),
        ("to: li@", "to: Zhao@", "7: people.zhao@acme.example.away[0].to: nobody acts for themselves"),
        (", to: li@ACME.example}", "}", '7: people.zhao@acme.example.away[0]: "to" is missing'),
        ("[{from: 2026-12-20", "[{from: 2027-01-05, until: 2027-01-05, to: chen@acme.example}, {from: 2026-12-20",
         "7: people.zhao@acme.example.away[1]: overlaps another absence"),
        ("{away: ", "{awy: ", "7: people.zhao@acme.example.awy: "),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_its_line(old: str, new: str, expected: str) -> None:
    assert old in FILE
    with pytest.raises(PolicyFaultsError) as refused:
        load(FILE.replace(old, new, 1))
    found = [str(fault).removeprefix("assent.yaml:") for fault in refused.value.faults]
    assert any(fault.startswith(expected) for fault in found), found


def test_the_examples_of_the_page_about_approvers_load() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 1
    environ = {"OKTA_SECRET": "o" * 32, "SLACK_BOT_TOKEN": "xoxb-1-2-3", "SLACK_APP_TOKEN": "xapp-1-2-3"}
    for block in blocks:
        assert load_policy(block, environ=environ, channel_types=registry.platforms()).policy.rules


def test_the_stories_of_the_page_are_so() -> None:
    """The page's first file: what it says of three calls."""
    (block, *_) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    policy = load(block).policy
    asking = policy.rules[0].asking
    assert asking is not None
    call = replace(
        a_call(), tool="pay", arguments={"amount": "250000.00", "currency": "CNY"}, requester=None, owner=None
    )
    christmas = datetime(2026, 12, 24, 12, tzinfo=UTC)
    voters = voters_for(call, asking.stages, policy, now=christmas)
    assert voters.over_limit == {"wang@acme.example"}
    assert voters.acting == {("li@acme.example", "zhao@acme.example"): {1}}
    assert voters_for(call, asking.stages, policy, now=datetime(2027, 1, 6, 12, tzinfo=UTC)).acting == {}
    assert not voters_for(replace(call, requester="ZHAO@acme.example"), asking.stages, policy, now=christmas).places_of(
        "li@acme.example", "zhao@acme.example"
    )
