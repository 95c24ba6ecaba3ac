"""In what gateways of one database differ, said in words; what a rollout brings counts once it has lasted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from app.domain.text.language import Language
from app.domain.trail.audit import Kind, Record
from app.domain.trail.replicas import (
    APART,
    GRACE,
    SILENT_AFTER,
    Difference,
    Matter,
    Replica,
    agree,
    differ,
    unread_secrets,
)
from app.domain.trail.told import told
from tests.requirements import requirement

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)
ONE = Replica(
    id="gw_1",
    policy_version="v1",
    key_ids=("k1",),
    software="1.0",
    ahead=timedelta(0),
    refused=None,
    since=NOW - timedelta(hours=1),
    seen_at=NOW,
)
TWO = replace(ONE, id="gw_2")


def said(*replicas: Replica) -> list[str]:
    return [str(each) for each in differ(replicas, now=NOW)]


@requirement("S-75")
@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (replace(TWO, policy_version="v2"), "the configuration (gw_1: v1, gw_2: v2)"),
        (replace(TWO, key_ids=("k2",)), "the secret (gw_1: k1, gw_2: k2)"),
        (replace(TWO, key_ids=("k1", "k2")), "the secrets that are accepted (gw_1: k1, gw_2: k1+k2)"),
        (replace(TWO, key_ids=("k2", "k1")), "the secret (gw_1: k1, gw_2: k2+k1)"),
        (replace(TWO, software="1.1"), "the software (gw_1: 1.0, gw_2: 1.1)"),
        (replace(TWO, ahead=timedelta(seconds=40)), "the clock (gw_1: +0 s, gw_2: +40 s)"),
        (replace(TWO, ahead=-timedelta(seconds=40)), "the clock (gw_1: +0 s, gw_2: -40 s)"),
        (
            replace(TWO, refused="assent.yaml:3: no such group"),
            "a refused configuration (gw_2: assent.yaml:3: no such group)",
        ),
    ],
)
def test_what_is_not_the_same_is_said_with_what_each_of_them_has(other: Replica, sentence: str) -> None:
    assert said(ONE, other) == said(other, ONE) == [sentence]
    assert not agree([ONE, other], now=NOW)


@requirement("S-75")
def test_those_that_have_the_same_agree_and_so_does_one_alone() -> None:
    assert agree([ONE, TWO], now=NOW)
    assert agree([ONE], now=NOW)
    assert agree([], now=NOW)


@requirement("S-75")
@pytest.mark.parametrize(
    "other", [replace(TWO, policy_version="v2"), replace(TWO, software="2"), replace(TWO, key_ids=("k1", "k2"))]
)
def test_what_a_rollout_makes_differ_counts_once_it_has_lasted(other: Replica) -> None:
    assert differ([ONE, replace(other, since=NOW - GRACE + MOMENT)], now=NOW) == ()
    assert len(differ([ONE, replace(other, since=NOW - GRACE)], now=NOW)) == 1
    # Whoever restarts again and again does not hide that two others have differed all the time.
    restarting = replace(TWO, id="gw_3", since=NOW)
    assert len(differ([ONE, other, restarting], now=NOW)) == 1


@requirement("S-75")
def test_another_secret_a_refused_file_and_a_wrong_clock_count_at_once() -> None:
    young = replace(TWO, since=NOW)
    others = [replace(young, key_ids=("k9",)), replace(young, refused="x"), replace(young, ahead=timedelta(minutes=1))]
    assert [differ([ONE, other], now=NOW)[0].matter for other in others] == [
        Matter.SECRET,
        Matter.REFUSED,
        Matter.CLOCK,
    ]


@requirement("S-44", "S-75")
def test_clocks_are_apart_by_more_than_half_a_minute_from_one_another_or_from_the_database() -> None:
    assert agree([replace(ONE, ahead=APART)], now=NOW)
    assert not agree([replace(ONE, ahead=APART + MOMENT)], now=NOW)
    assert said(replace(ONE, ahead=-timedelta(seconds=20)), replace(TWO, ahead=timedelta(seconds=20))) == [
        "the clock (gw_1: -20 s, gw_2: +20 s)"
    ]


@requirement("S-75")
def test_whoever_was_not_heard_of_for_some_beats_is_gone() -> None:
    other = replace(TWO, policy_version="v2", seen_at=NOW - SILENT_AFTER)
    assert not agree([ONE, other], now=NOW)
    assert agree([ONE, replace(other, seen_at=other.seen_at - MOMENT)], now=NOW)


@requirement("S-75")
def test_only_whoever_lacks_a_secret_that_rows_are_sealed_with_is_unfit() -> None:
    stranger = replace(TWO, key_ids=("k9",))
    assert unread_secrets(("k1",), [stranger], ["k1"]) == set()  # the stranger is wrong, not this one
    assert unread_secrets(("k9",), [ONE], ["k1"]) == {"k1"}
    assert unread_secrets(("k9",), [], ["k1"]) == {"k1"}  # also alone
    assert unread_secrets(("k9",), [], []) == set()  # nothing is sealed yet
    # A rotation whose first step was left out: who has not got the new secret cannot read what is sealed from now on.
    hasty = replace(TWO, key_ids=("k2", "k1"))
    assert unread_secrets(("k1",), [hasty], ["k1", "k2"]) == {"k2"}
    assert unread_secrets(("k2", "k1"), [ONE], ["k1", "k2"]) == set()


def test_the_trail_says_it_in_both_languages() -> None:
    found = Difference(matter=Matter.POLICY, values={"gw_2": "v2", "gw_1": "v1"})
    facts = {"replicas": 2, found.matter.value: found.listed}
    record = Record(kind=Kind.REPLICAS_DIFFER, actor="system", facts=facts)
    assert told(record, Language.EN).endswith("differ: the configuration (gw_1: v1, gw_2: v2)")
    assert told(record, Language.ZH).endswith("不一致：配置版本 (gw_1: v1, gw_2: v2)")
    again = Record(kind=Kind.REPLICAS_AGREE, actor="system", facts={"replicas": 2})
    assert told(again, Language.EN) == "the gateways of this database agree again; they are 2"
    assert told(again, Language.ZH).endswith("共 2 个")
