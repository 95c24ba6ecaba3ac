"""Groups that a platform keeps, in the file: where they are asked for, and what is refused at which line."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from app.domain.people.people import GroupSource, Staff
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.fixtures.specs import a_spec
from tests.requirements import requirement

FILE = """\
org: acme
default: deny
people:
  wang@acme.example:
groups:
  finance: {channel: pay, group: S0FINANCE}
  legal: {channel: pay-feishu, department: od-12ab}
channels:
  pay: {type: slack}
  pay-feishu: {type: feishu}
rules:
  - {id: all, tools: ["*"], then: ask, stages: [{of: [finance], need: 2}, {of: [legal]}], channels: [pay]}
"""


class _Slack(BaseModel):
    type: Literal["slack"]


class _Feishu(BaseModel):
    type: Literal["feishu"]


TYPES = {"slack": a_spec("slack", _Slack), "feishu": a_spec("feishu", _Feishu, has_departments=True)}


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types=TYPES)


@requirement("S-07")
def test_a_platforms_group_is_known_to_the_file_and_empty_until_the_platform_was_asked() -> None:
    loaded = load()
    finance, legal = (
        GroupSource(channel="pay", source="group:S0FINANCE"),
        GroupSource(channel="pay-feishu", source="department:od-12ab"),
    )
    assert loaded.policy.directory.sources == {"finance": finance, "legal": legal}
    assert loaded.policy.directory.members("finance") == frozenset()
    told = loaded.staffed(Staff(rosters={finance: frozenset({"wang@acme.example"})}))
    assert told.policy.directory.members("finance") == {"wang@acme.example"}
    assert told.policy.directory.members("legal") == frozenset()
    assert told.is_load_of(loaded)
    assert not load().is_load_of(loaded)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("channel: pay,", "channel: pey,", 'unknown channel "pey"'),
        ("group: S0FINANCE", "group: S0FINANCE, department: d1", 'names either a "group" or a "department"'),
        ("{channel: pay, group: S0FINANCE}", "{channel: pay}", 'names either a "group" or a "department"'),
        ("group: S0FINANCE", "department: d1", "slack has no departments"),
        ("group: S0FINANCE", "group: S0 FINANCE", "groups.finance.group"),
        ("group: S0FINANCE", "grup: S0FINANCE", "grup"),
        ("channel: pay, group: S0FINANCE", "group: S0FINANCE", "channel"),
    ],
)
def test_a_group_that_leads_nowhere_is_refused(old: str, new: str, why: str) -> None:
    assert old in FILE
    with pytest.raises(PolicyFaultsError) as refused:
        load(FILE.replace(old, new, 1))
    assert why in str(refused.value)
    assert ":6:" in str(refused.value) or "line 6" in str(refused.value)


VERIFIED = "{channel: pay, group: S0FINANCE, members: verified, domains: [acme.example, b.example]}"
WHOSE = {**TYPES, "slack": a_spec("slack", _Slack, verifies_members=True)}


def test_whose_e_mails_count_stands_with_the_group() -> None:
    text = FILE.replace("{channel: pay, group: S0FINANCE}", VERIFIED)
    sources = load_policy(text, environ={}, channel_types=WHOSE).policy.directory.sources
    assert sources["finance"].domains == ("acme.example", "b.example")
    assert sources["legal"].domains == ()


@requirement("S-06", "S-07")
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (", domains: [acme.example, b.example]", "", "whose e-mails count?"),
        ("[acme.example, b.example]", "[]", "groups.finance.domains"),
        ("[acme.example, b.example]", '["@acme.example"]', "groups.finance.domains"),
        ("[acme.example, b.example]", '["*.example"]', "groups.finance.domains"),
        ("[acme.example, b.example]", "[example]", "groups.finance.domains"),
        ("[acme.example, b.example]", "[Acme.example]", "groups.finance.domains"),
        ("members: verified, ", "", "is for a platform's group with members: verified"),
        ("members: verified", "members: everybody", "groups.finance.members"),
        ("channel: pay, group: S0FINANCE, ", "", "has no members"),
        ("channel: pay, group: S0FINANCE", "channel: pay-feishu, group: g1", "feishu does not say whose e-mail"),
        ("members: verified", "members: [wang@acme.example]", "has members here, or a platform's: not both"),
    ],
)
def test_a_group_of_whomever_the_platform_verifies_is_bound_or_refused(old: str, new: str, why: str) -> None:
    text = FILE.replace("{channel: pay, group: S0FINANCE}", VERIFIED)
    assert old in text
    with pytest.raises(PolicyFaultsError) as refused:
        load_policy(text.replace(old, new, 1), environ={}, channel_types=WHOSE)
    assert why in str(refused.value)


@requirement("S-06")
def test_no_role_is_given_to_whomever_a_platform_verifies() -> None:
    text = FILE.replace("{channel: pay, group: S0FINANCE}", VERIFIED) + "roles: {admin: [finance]}\n"
    with pytest.raises(PolicyFaultsError, match="a role is given to people by name"):
        load_policy(text, environ={}, channel_types=WHOSE)
    load(FILE + "roles: {admin: [finance]}\n")
