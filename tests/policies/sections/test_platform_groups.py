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
