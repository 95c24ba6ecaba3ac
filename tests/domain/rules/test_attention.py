"""When people are asked, how long they must have read, and who no longer reads: pure, over clocks that are shifted."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.request.request import Risk
from app.domain.rules.attention import Answer, Attention, Held, goes_out_at, reading_left, rubber_stamps
from app.domain.words.ladder import EN, ZH
from tests.requirements import requirement

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = (time(22), time(7, 30))
ALL = Attention(cards_per_hour=20, digest=(time(9), time(14)), quiet=NIGHT)
DAY = timedelta(days=1)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def out(
    attention: Attention, now: str, risk: Risk = Risk.NORMAL, *, window: timedelta = 2 * DAY, zone: ZoneInfo = BERLIN
) -> tuple[str, Held | None]:
    """Return when a card goes out, in the zone's own time, and why not before."""
    at = instant(now)
    posting = goes_out_at(attention, now=at, risk=risk, expires_at=at + window, zone=zone)
    return f"{posting.at.astimezone(zone):%m-%d %H:%M %z}", posting.held


@requirement("S-30")
@pytest.mark.parametrize(
    ("risk", "now", "at", "held"),
    [
        (Risk.HIGH, "2026-01-05T23:00", "01-06 00:00 +0100", None),
        (Risk.NORMAL, "2026-01-05T12:00", "01-05 13:00 +0100", None),
        (Risk.NORMAL, "2026-01-05T23:00", "01-06 07:30 +0100", Held.QUIET),
        (Risk.NORMAL, "2026-01-05T20:59", "01-05 21:59 +0100", None),
        (Risk.NORMAL, "2026-01-05T21:00", "01-06 07:30 +0100", Held.QUIET),
        (Risk.NORMAL, "2026-01-05T06:30", "01-05 07:30 +0100", None),
        (Risk.LOW, "2026-01-05T07:00", "01-05 09:00 +0100", Held.DIGEST),
        (Risk.LOW, "2026-01-05T08:00", "01-05 09:00 +0100", None),
        (Risk.LOW, "2026-01-05T08:01", "01-05 14:00 +0100", Held.DIGEST),
        (Risk.LOW, "2026-01-05T13:01", "01-06 09:00 +0100", Held.DIGEST),
        (Risk.LOW, "2026-01-05T23:00", "01-06 09:00 +0100", Held.DIGEST),
    ],
)
def test_what_may_wait_waits_for_the_digest_and_the_end_of_the_night(
    risk: Risk, now: str, at: str, held: Held | None
) -> None:
    assert out(ALL, now, risk) == (at, held)


def test_without_a_digest_a_low_risk_goes_out_like_any_other() -> None:
    attention = Attention(quiet=NIGHT)
    assert out(attention, "2026-01-05T12:00", Risk.LOW) == ("01-05 13:00 +0100", None)
    assert out(attention, "2026-01-05T23:00", Risk.LOW) == ("01-06 07:30 +0100", Held.QUIET)
    assert out(Attention(), "2026-01-05T23:00", Risk.LOW) == ("01-06 00:00 +0100", None)


@requirement("S-30")
def test_half_of_the_window_is_always_left_to_decide() -> None:
    half_hour = timedelta(minutes=30)
    assert out(ALL, "2026-01-05T23:00", window=half_hour) == ("01-06 00:15 +0100", Held.QUIET)
    assert out(ALL, "2026-01-05T07:00", Risk.LOW, window=half_hour) == ("01-05 08:15 +0100", Held.DIGEST)


@requirement("S-30")
def test_what_is_above_the_budget_waits_for_the_digest_or_else_until_somebody_has_room() -> None:
    now = instant("2026-01-05T12:00")

    def above(attention: Attention, risk: Risk = Risk.NORMAL) -> tuple[timedelta, Held | None]:
        room_in = timedelta(minutes=12)
        found = goes_out_at(attention, now=now, risk=risk, expires_at=now + DAY, zone=BERLIN, room_in=room_in)
        return found.at - now, found.held

    assert above(ALL) == (timedelta(hours=1), Held.BUDGET)
    assert above(Attention(cards_per_hour=20)) == (timedelta(minutes=12), Held.BUDGET)
    assert above(ALL, Risk.HIGH) == (timedelta(0), None)


@requirement("S-30")
@pytest.mark.parametrize(
    ("quiet_until", "now", "at"),
    [
        (time(7, 30), "2026-03-28T22:00", "03-29 07:30 +0200"),  # the night in which clocks are put forward
        (time(7, 30), "2026-10-24T21:00", "10-25 07:30 +0100"),  # and the one in which they are put back
        (time(2, 30), "2026-03-28T23:00", "03-29 03:30 +0200"),  # there is no 02:30
        (time(2, 30), "2026-10-24T22:00", "10-25 02:30 +0200"),  # there are two: quiet ends with the first,
        (time(2, 30), "2026-10-25T01:10", "10-25 02:30 +0100"),  # and whoever asks between them waits for the second
    ],
)
def test_times_are_those_on_the_orgs_clocks_when_these_are_shifted(quiet_until: time, now: str, at: str) -> None:
    assert out(Attention(quiet=(time(22), quiet_until)), now) == (at, Held.QUIET)


def test_half_of_the_window_is_half_of_the_time_that_really_passes_in_a_night_of_25_hours() -> None:
    start = datetime(2026, 10, 24, 22, 0, tzinfo=BERLIN)
    end = datetime(2026, 10, 25, 22, 0, tzinfo=BERLIN)
    found = goes_out_at(Attention(digest=(time(21, 59),)), now=start, risk=Risk.LOW, expires_at=end, zone=BERLIN)
    assert found.at - start.astimezone(UTC) == timedelta(hours=12, minutes=30)


@requirement("S-30")
@given(
    risk=st.sampled_from(Risk),
    minute=st.integers(min_value=0, max_value=400 * 24 * 60),
    window=st.integers(min_value=10, max_value=30 * 86_400),
    quiet=st.none() | st.tuples(st.times(), st.times()).filter(lambda pair: pair[0] != pair[1]),
    digest=st.lists(st.times(), max_size=3).map(tuple),
    room_in=st.none() | st.timedeltas(min_value=timedelta(0), max_value=timedelta(hours=1)),
    zone=st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Shanghai"]).map(ZoneInfo),
)
def test_no_card_ever_goes_out_before_it_is_asked_for_or_in_the_second_half_of_its_window(
    *,
    risk: Risk,
    minute: int,
    window: int,
    quiet: tuple[time, time] | None,
    digest: tuple[time, ...],
    room_in: timedelta | None,
    zone: ZoneInfo,
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    expires_at = now + timedelta(seconds=window)
    attention = Attention(quiet=quiet, digest=digest)
    found = goes_out_at(attention, now=now, risk=risk, expires_at=expires_at, zone=zone, room_in=room_in)
    assert now <= found.at <= now + timedelta(seconds=window) / 2
    assert (found.held is None) == (found.at == now)
    if risk is Risk.HIGH:
        assert found.held is None


# --- reading ----------------------------------------------------------------------------------------------------------


@requirement("S-30")
def test_only_a_high_risk_must_have_been_there_to_be_read() -> None:
    shown = instant("2026-01-05T12:00")

    def left(risk: Risk, after: float, read_for: float = 3) -> float:
        attention = Attention(read_for=timedelta(seconds=read_for))
        now = shown + timedelta(seconds=after)
        return reading_left(attention, risk=risk, shown_at=shown, now=now).total_seconds()

    assert [left(Risk.HIGH, after) for after in (0, 2.5, 3, 60)] == [3, 0.5, 0, 0]
    assert left(Risk.HIGH, -1) == 4, "the card was posted by a clock that is ahead"
    assert left(Risk.HIGH, 0, read_for=0) == 0
    assert left(Risk.NORMAL, 0) == left(Risk.LOW, 0) == 0


# --- who no longer reads ----------------------------------------------------------------------------------------------


def decisions(person: str, quick: int, slow: int = 0, denied: int = 0) -> list[Answer]:
    second, minute = timedelta(seconds=1), timedelta(minutes=1)
    return [
        *(Answer(person=person, approved=True, took=second) for _ in range(quick)),
        *(Answer(person=person, approved=True, took=minute) for _ in range(slow)),
        *(Answer(person=person, approved=False, took=second) for _ in range(denied)),
    ]


@requirement("S-30")
@pytest.mark.parametrize(
    ("quick", "slow", "denied", "alarm"),
    [
        (20, 0, 0, True),
        (19, 0, 0, False),  # too few to say
        (19, 1, 0, False),  # 95 %, not more
        (39, 1, 0, True),
        (20, 0, 2, False),  # whoever denies has read
    ],
)
def test_whoever_approves_nearly_everything_at_once_is_named(quick: int, slow: int, denied: int, alarm: bool) -> None:
    found = rubber_stamps([*decisions("ann", quick, slow, denied), *decisions("bob", 3, 40)])
    assert [(one.person, one.decisions, one.at_once) for one in found] == (
        [("ann", quick + slow + denied, quick)] if alarm else []
    )


def test_three_seconds_are_within_three_seconds() -> None:
    edge = [Answer(person="ann", approved=True, took=timedelta(seconds=3)) for _ in range(20)]
    assert rubber_stamps(edge)
    assert not rubber_stamps([Answer(person="ann", approved=True, took=timedelta(seconds=3.001)) for _ in range(20)])


def test_both_languages_have_every_sentence() -> None:
    assert set(EN) == set(ZH)
    assert list(pairwise(EN)) == list(pairwise(ZH)), "in the same order, to be read side by side"
