"""The file's `attention`: what it says, what is left out, and every fault with its line and its mend."""

from __future__ import annotations

import re
from datetime import time, timedelta

import pytest

from app.domain.rules.attention import Attention
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from app.policies.sections.attention_section import AttentionEntry
from tests.places import ROOT
from tests.requirements import requirement

TOP = "org: acme\ndefault: deny\n"
PAGE = (ROOT / "docs/attention.md").read_text(encoding="utf-8")


def load(text: str) -> Attention:
    return load_policy(TOP + text, environ={}, channel_types={}).policy.attention


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text)
    return [
        f"{fault.line - TOP.count(chr(10))}: {fault.path}: {fault.message}" + (f"; {fault.hint}" if fault.hint else "")
        for fault in refused.value.faults
    ]


def test_a_file_that_says_nothing_holds_no_card_back_and_lets_nobody_nag() -> None:
    assert load("") == load("attention: {}\n") == Attention()
    assert Attention().read_for == timedelta(seconds=3)
    assert Attention().cool_down == timedelta(minutes=10)
    assert Attention().remember_denials == timedelta(hours=24)
    assert (Attention().cards_per_hour, Attention().digest, Attention().quiet, Attention().group) == (
        None,
        (),
        None,
        None,
    )


def test_the_file_says_all_of_it() -> None:
    text = (
        'attention:\n  cards_per_hour: 20\n  digest: ["14:00", "09:00"]\n  quiet: "22:00 - 07:30"\n'
        "  read_for: 5s\n  cool_down: 1h\n  remember_denials: 2d\n  group: 2m\n"
    )
    assert load(text) == Attention(
        cards_per_hour=20,
        digest=(time(9), time(14)),
        quiet=(time(22), time(7, 30)),
        read_for=timedelta(seconds=5),
        cool_down=timedelta(hours=1),
        remember_denials=timedelta(days=2),
        group=timedelta(minutes=2),
    )
    assert load("attention: {digest: [09:00], quiet: 22:00-07:30}\n").digest == (time(9),), "times need no quotes here"


def test_a_span_of_zero_switches_a_control_off() -> None:
    off = load("attention: {read_for: 0s, cool_down: 0s, remember_denials: 0s, group: 0m}\n")
    assert (off.read_for, off.cool_down, off.remember_denials, off.group) == (*[timedelta(0)] * 3, None)


@requirement("S-57")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("attention: 20\n", "1: attention: must be a mapping"),
        ("attention: []\n", "1: attention: must be a mapping"),
        ("attention: {cards: 20}\n", '1: attention.cards: unknown key "cards"; keys: cards_per_hour, cool_down'),
        ("attention: {cards_per_hour: 0}\n", "1: attention.cards_per_hour: must be 1 or more, and here is"),
        ("attention: {cards_per_hour: '20'}\n", "1: attention.cards_per_hour: must be a whole number, and here is"),
        ("attention:\n  digest: '09:00'\n", "2: attention.digest: must be a list, and here is"),
        ("attention:\n  digest: [9]\n", "2: attention.digest[0]: must be a text, and here is"),
        ("attention:\n  digest: ['24:00']\n", '2: attention.digest[0]: is no time of day; write "09:00"'),
        ("attention:\n  digest: ['9:00']\n", '2: attention.digest[0]: is no time of day; write "09:00"'),
        ("attention:\n  digest: ['09:00', '09:00']\n", "2: attention.digest[1]: 09:00 again"),
        (
            "attention:\n  quiet: 22:00-07:30\n  digest: ['07:00']\n",
            "3: attention.digest[0]: 07:00 is within the quiet hours, so nothing would go out then",
        ),
        ("attention:\n  quiet: nights\n", '2: attention.quiet: are no hours; write "22:00-07:30"'),
        ("attention:\n  quiet: 22:00-25:00\n", '2: attention.quiet: are no hours; write "22:00-07:30"'),
        ("attention:\n  quiet: 08:00-08:00\n", "2: attention.quiet: must end at another time than it begins"),
        (
            "attention: {read_for: 5}\n",
            "1: attention.read_for: must be a time such as 5s, 10m or 2h; 0s switches it off",
        ),
        ("attention: {read_for: -1s}\n", "1: attention.read_for: must be a time such as"),
        ("attention: {read_for: 61s}\n", "1: attention.read_for: must be 1m at most"),
        ("attention: {cool_down: 8d}\n", "1: attention.cool_down: must be 7d at most"),
        ("attention: {remember_denials: 91d}\n", "1: attention.remember_denials: must be 90d at most"),
        ("attention: {group: 2h}\n", "1: attention.group: must be 1h at most"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(text: str, fault: str) -> None:
    (found,) = faults(text)
    assert found.startswith(fault)


@requirement("S-57")
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("{id: pay, tools: [pay], then: ask, risk: high, timeout: 30s}", 'rule "pay"'),
        ("{id: pay, tools: [pay], then: ask, timeout: 5m}", None),
    ],
)
def test_a_high_risk_that_ends_before_it_may_be_approved_is_refused(rule: str, name: str | None) -> None:
    text = (
        "attention: {read_for: 30s}\npeople: {ann@acme.example: {}}\ntools: {pay: {}}\n"
        f"ask: {{stages: [{{of: [ann@acme.example]}}], channels: [api]}}\nrules: [{rule}]\n"
    )
    if name is None:
        load(text)
    else:
        assert faults(text) == [f"1: attention.read_for: leaves no time to approve {name}: its timeout is no longer"]


# --- docs/attention.md ------------------------------------------------------------------------------------------------


def test_the_file_on_the_page_loads_and_uses_every_key() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    attention = load_policy(block, environ={}, channel_types={}).policy.attention
    assert all(getattr(attention, name) for name in AttentionEntry.model_fields)


def test_every_key_has_its_row_and_its_default_on_the_page() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]*?)`? \|", PAGE, re.MULTILINE))
    assert set(rows) == set(AttentionEntry.model_fields)
    for name, written in rows.items():
        spoken = "" if written == "off" else f"attention: {{{name}: {written}}}\n"
        assert load(spoken) == Attention(), name
