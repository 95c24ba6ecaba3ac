"""Reminders, escalation, other channels and risk in the file: what they become, and what is refused at which line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from app.domain.request.request import Risk
from app.domain.request.timetable import Act, Rung, timetable
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from channels import registry
from tests.fixtures.specs import a_spec
from tests.places import ROOT

if TYPE_CHECKING:
    from app.domain.rules.rule import Asking

PAGE = ROOT / "docs/reminders.md"
FILE = """\
org: acme
default: deny
people:
  wang@acme.example:
  chen@acme.example:
  li@acme.example:
groups:
  finance: [wang@acme.example, chen@acme.example]
  managers: [li@acme.example]
  everybody: [wang@acme.example, chen@acme.example, li@acme.example]
channels:
  room: {type: room, chat: C1}
  hall: {type: room, chat: C2}
  attic: {type: room, chat: C3}
ask:
  stages: [{of: [finance]}]
  channels: [room]
  timeout: 1h
  remind: [0.9, 0.25]
  escalate: [{after: 15m, to: [managers]}, {after: 0.5, channels: [hall]}]
  fallback: [attic]
  risk: low
rules:
  - {id: plain, tools: [plain], then: ask}
  - {id: own, tools: [own], then: ask, channels: [attic], remind: [], escalate: [], risk: high}
  - {id: open, tools: [open], then: ask,
     stages: [{all: [{of: [finance]}, {of: [managers]}], open_to: [everybody], allow_editor: true}]}
tools: {plain: {}, own: {}, open: {}}
"""


class Room(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["room"]
    chat: str


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={"room": a_spec("room", Room)})


def asking(name: str, text: str = FILE) -> Asking:
    rule = next(rule for rule in load(text).policy.rules if rule.id == name)
    assert rule.asking is not None
    return rule.asking


def test_a_rule_inherits_the_ladder_of_ask() -> None:
    plain = asking("plain")
    assert plain.remind == (0.25, 0.9)
    assert plain.escalate == (
        Rung(after=timedelta(minutes=15), to=("managers",)),
        Rung(after=0.5, channels=("hall",)),
    )
    assert (plain.fallback, plain.risk) == (("attic",), Risk.LOW)


def test_a_rule_says_otherwise_and_is_not_sent_where_it_asks_already() -> None:
    own = asking("own")
    assert (own.remind, own.escalate, own.fallback, own.risk) == ((), (), (), Risk.HIGH)


def test_without_a_word_people_are_reminded_at_half_and_at_nine_tenths() -> None:
    bare = re.sub(r"  remind:.*\n  escalate:.*\n  fallback:.*\n  risk:.*\n", "", FILE)
    plain = asking("plain", bare)
    assert (plain.remind, plain.escalate, plain.fallback, plain.risk) == ((0.5, 0.9), (), (), Risk.NORMAL)


def test_a_stage_says_to_whom_a_place_may_go_and_whether_who_changed_a_call_may_approve_it() -> None:
    first, second = asking("open").stages
    assert (first.open_to, first.allow_editor) == (("everybody",), True)
    assert (second.open_to, second.allow_editor, second.joined) == (("everybody",), True, True)


@pytest.mark.parametrize(
    ("old", "new", "path", "fault"),
    [
        ("remind: [0.9, 0.25]", "remind: [1.5]", "ask.remind[0]", "must be a part of the timeout"),
        ("remind: [0.9, 0.25]", "remind: [0]", "ask.remind[0]", "must be a part of the timeout"),
        ("remind: [0.9, 0.25]", "remind: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]", "ask.remind", "5 at most, and has 6"),
        ("after: 15m", "after: 60m", "ask.escalate[0].after", "is not before the timeout"),
        ("after: 15m", "after: soon", "ask.escalate[0].after", "must be a time such as"),
        ("after: 15m", "after: 1.5", "ask.escalate[0].after", "or a part of the timeout such as 0.5"),
        ("to: [managers]", "to: [manager]", "ask.escalate[0].to[0]", 'unknown group "manager"'),
        ("to: [managers]", "to: [no@acme.example]", "ask.escalate[0].to[0]", 'unknown person "no@acme.example"'),
        ("to: [managers]", "to: []", "ask.escalate[0]", "brings in nobody"),
        ("to: [managers]", "to: [finance]", "ask.escalate[0].to", "all of them are asked already"),
        ("channels: [hall]", "channels: [cellar]", "ask.escalate[1].channels[0]", 'unknown channel "cellar"'),
        ("channels: [hall]", "channels: [api]", "ask.escalate[1].channels[0]", "carries no cards"),
        ("fallback: [attic]", "fallback: [cellar]", "ask.fallback[0]", 'unknown channel "cellar"'),
        ("fallback: [attic]", "fallback: [room]", "ask.fallback[0]", "is asked from the beginning"),
        ("fallback: [attic]", "fallback: [api]", "ask.fallback[0]", "carries no cards"),
        ("risk: low", "risk: grave", "ask.risk", "must be"),
        ("open_to: [everybody]", "open_to: [nobody]", "rules[2].stages[0].open_to[0]", 'unknown group "nobody"'),
        ("open_to: [everybody]", "open_to: [finance]", "rules[2].stages[0].open_to[0]", "is asked already"),
        ("then: ask}", "then: ask, timeout: 15m}", "rules[0].timeout", 'before the "escalate" of "ask" is through'),
        ("then: ask}", "then: allow, remind: []}", "rules[0].remind", "means nothing"),
        ("  managers: [li@acme.example]", "  managers: []", "groups.managers", "has no members"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_at_its_place(old: str, new: str, path: str, fault: str) -> None:
    assert old in FILE
    with pytest.raises(PolicyFaultsError) as refused:
        load(FILE.replace(old, new, 1))
    found = [(each.path, each.message) for each in refused.value.faults]
    assert [where for where, said in found if where == path and fault in said], found


def test_a_ladder_that_brings_known_people_into_another_channel_is_meant() -> None:
    load(FILE.replace("to: [managers]", "to: [finance], channels: [attic]"))


def test_the_example_of_the_page_loads_and_means_what_the_page_says() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = blocks
    names = re.findall(r"\$\{([A-Z_]+)\}", block)
    secrets = {name: "xapp-1-2-3" if "APP" in name else "xoxb-1-2-3" for name in names}
    policy = load_policy(block, environ=secrets, channel_types=registry.platforms()).policy
    pay, wire = (rule.asking for rule in policy.rules)
    assert pay
    assert wire
    start = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
    timers = timetable(start, pay.timeout, remind=pay.remind, escalate=pay.escalate)
    assert [(timer.at - start, timer.act) for timer in timers] == [
        (timedelta(minutes=15), Act.ESCALATE),
        (timedelta(minutes=15), Act.REMIND),
        (timedelta(minutes=27), Act.REMIND),
    ]
    assert (pay.fallback, wire.fallback, wire.risk) == (("spare-slack",), ("spare-slack",), Risk.HIGH)
    assert wire.escalate[0].within(wire.timeout) == timedelta(hours=1)
