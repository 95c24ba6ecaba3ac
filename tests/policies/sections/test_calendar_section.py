"""The time of a file, and rules that cannot be meant: each fault with its line and its mend."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.requirements import requirement

TOP = """\
org: acme
default: deny
tools:
  pay:
    money: [amount]
    schema:
      type: object
      properties: {amount: {type: string}, payee: {type: object, properties: {name: {}}, additionalProperties: false}}
      additionalProperties: false
  read: {writes: false}
"""


def load(text: str) -> LoadedPolicy:
    return load_policy(TOP + text, environ={}, channel_types={})


def faults(text: str) -> list[tuple[int, str]]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text)
    return [
        (fault.line - TOP.count("\n"), f"{fault.path}: {fault.message}" + (f"; {fault.hint}" if fault.hint else ""))
        for fault in refused.value.faults
    ]


def test_a_file_without_a_zone_is_in_utc_and_has_no_calendar() -> None:
    policy = load("").policy
    assert policy.zone is UTC
    assert policy.hours is None


def test_the_calendar_is_that_of_the_orgs_zone_unless_it_has_its_own() -> None:
    text = "timezone: Asia/Shanghai\ncalendar: {work: {mon-fri: '09:00-18:00'}, holidays: [2026-12-25..2026-12-27]}\n"
    policy = load(text).policy
    assert policy.zone == ZoneInfo("Asia/Shanghai")
    assert policy.hours is not None
    assert policy.hours.holidays == {date(2026, 12, 25), date(2026, 12, 26), date(2026, 12, 27)}
    assert policy.hours.is_working(datetime(2026, 1, 5, 1, 0, tzinfo=UTC))
    elsewhere = load(text.replace("{work", "{timezone: Europe/London, work")).policy
    assert elsewhere.hours is not None
    assert not elsewhere.hours.is_working(datetime(2026, 1, 5, 1, 0, tzinfo=UTC))


def test_the_clock_is_put_forward_where_it_is() -> None:
    hours = load("timezone: Europe/Berlin\ncalendar: {work: {sun: '09:00-10:00'}}\n").policy.hours
    assert hours is not None
    assert hours.is_working(datetime(2026, 3, 22, 8, 30, tzinfo=UTC)), "winter: an hour ahead"
    assert hours.is_working(datetime(2026, 3, 29, 7, 30, tzinfo=UTC)), "summer: two"
    assert not hours.is_working(datetime(2026, 3, 29, 8, 30, tzinfo=UTC))


@requirement("S-57")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("timezone: Asia/Shanghia\n", 'timezone: unknown time zone "Asia/Shanghia"; did you mean "Asia/Shanghai"?'),
        ("timezone: ../../etc/passwd\n", "timezone: unknown time zone"),
        ("timezone: Asia\n", "timezone: unknown time zone"),
        ("calendar: {holidays: []}\n", 'calendar: "work" is missing'),
        ("calendar: {work: {}}\n", "calendar.work: is empty"),
        ("calendar: {work: {mon-fry: '09:00-18:00'}}\n", "calendar.work.mon-fry: is no day"),
        ("calendar: {work: {fri-mon: '09:00-18:00'}}\n", "calendar.work.fri-mon: is no day"),
        ("calendar: {work: {mon: '9-18'}}\n", "calendar.work.mon: are no hours of a day"),
        ("calendar: {work: {mon: '22:00-06:00'}}\n", "calendar.work.mon: are no hours of a day"),
        ("calendar: {work: {mon: '09:00-12:00, 11:00-18:00'}}\n", "calendar.work.mon: has spans that overlap"),
        ("calendar: {work: {mon-fri: '09:00-18:00', tue: '09:00-10:00'}}\n", "calendar.work.tue: tue has its hours"),
        ("calendar: {work: {mon: '09:00-18:00'}, holidays: [2026-02-30]}\n", "calendar.holidays[0]: is no date"),
        ("calendar: {work: {mon: '09:00-18:00'}, holidays: [2026-02-03..2026-02-01]}\n", "calendar.holidays[0]: must"),
        (
            "calendar: {work: {mon: '09:00-18:00'}, holidays: [2026-02-01, 2026-01-30..2026-02-02]}\n",
            "calendar.holidays[1]: 2026-02-01 again",
        ),
        (
            "calendar: {work: {mon: '09:00-18:00'}, holidays: [2026-02-01], workdays: [2026-02-01]}\n",
            "calendar.workdays: 2026-02-01 is a holiday too",
        ),
        ("calendar: {work: {mon: '09:00-18:00'}, hollidays: []}\n", 'calendar.hollidays: unknown key "hollidays"'),
    ],
)
def test_a_time_that_cannot_be_meant_is_refused(text: str, fault: str) -> None:
    ((line, told),) = faults(text)
    assert line == 1
    assert told.startswith(fault)


def rule(when: str, tools: str = "[pay]") -> str:
    return f"rules:\n  - id: it\n    tools: {tools}\n    then: allow\n    when: |-\n      {when}\n"


@requirement("S-57")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (rule("working_hours"), 'rules[0].when: "working_hours" means nothing without a "calendar"; add: calendar:'),
        (rule("holiday && args.amount == 'x'"), 'rules[0].when: "holiday" means nothing without a "calendar"'),
        (rule("1 > 2"), "rules[0].when: can never match: the condition is never true"),
        (rule("true"), "rules[0].when: is always true"),
        (rule("args.payee.name == 'a' && args.payee.name == 'b'"), "rules[0].when: can never match"),
        (rule('tool.name == "read"'), "rules[0].when: can never match"),
        (rule("!tool.writes"), "rules[0].when: can never match"),
        (rule('tool.name == "reed" || args.payee.name == "1"', '["*"]'), 'rules[0].when: unknown tool "reed"; did you'),
        (rule("tool.writs"), 'rules[0].when: unknown fact of the tool "writs"; did you mean "writes"?'),
        (rule("amount(5.0) < amount(args.amount)"), "rules[0].when: amount(5.0) can never be evaluated"),
        (rule("args.payee.nmae == 'x'"), 'rules[0].when: payee of pay has no argument "nmae"; did you mean "name"?'),
        (rule("args.amonut == 'x'"), 'rules[0].when: pay has no argument "amonut"; did you mean "amount"?'),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused(text: str, fault: str) -> None:
    ((line, told),) = faults(text)
    assert line == 5
    assert told.startswith(fault)


def test_a_rule_behind_the_same_condition_can_never_match() -> None:
    text = """\
rules:
  - {id: one, tools: ["*"], when: 'args.payee.name == "1"', then: allow}
  - {id: two, tools: [pay], when: 'args.payee.name == "1"', then: deny}
  - {id: three, tools: [pay], when: 'args.payee.name == "2"', then: deny}
"""
    ((line, told),) = faults(text)
    assert line == 3
    assert 'can never match: rule "one"' in told
    assert told.endswith("on the same condition")


def test_a_rule_for_fewer_agents_does_not_shadow_one_for_all() -> None:
    text = """\
rules:
  - {id: one, tools: [pay], agents: [buyer], when: 'args.payee.name == "1"', then: allow}
  - {id: two, tools: [pay], when: 'args.payee.name == "1"', then: deny}
"""
    assert len(load(text).policy.rules) == 2


def test_the_calendar_is_part_of_the_version() -> None:
    one = load("calendar: {work: {mon: '09:00-18:00'}}\n").policy.version
    assert one != load("calendar: {work: {mon: '09:00-18:01'}}\n").policy.version
