"""The checker itself: histories that it must accept, and one for each rule that it must reject."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.durability.history import EXPIRED, PENDING, Call, first_impossible


def won(begin: float, end: float, wrote: str = "approved") -> Call:
    return Call(begin=begin, end=end, wrote=wrote, won=True)


def lost(begin: float, end: float, saw: str = "approved", wrote: str = "denied") -> Call:
    return Call(begin=begin, end=end, wrote=wrote, saw=saw)


def read(begin: float, end: float, saw: str) -> Call:
    return Call(begin=begin, end=end, saw=saw)


def crashed(begin: float, wrote: str = "approved") -> Call:
    return Call(begin=begin, wrote=wrote)


POSSIBLE = {
    "nothing happened": [read(0, 1, PENDING)],
    "one decided and the others were told": [won(0, 5), lost(1, 6), read(2, 3, PENDING), read(4, 7, "approved")],
    "a read overlaps the decision and sees it already": [won(0, 10), read(1, 2, "approved"), read(3, 4, "approved")],
    "a read that began before the end still sees pending": [won(0, 5), read(4, 9, PENDING)],
    "a call that never came back had decided": [crashed(0), lost(1, 2), read(3, 4, "approved")],
    "a call that never came back had not decided": [crashed(0), read(5, 6, PENDING), won(7, 8, "denied")],
    "of two that never came back, the first can have been it": [crashed(0), crashed(9), read(1, 2, "approved")],
    "it expired, and the late vote was told": [won(100, 101, EXPIRED), lost(99, 102, EXPIRED, "approved")],
    "approved just before the deadline, answered after it": [won(99.9, 100.4)],
}
IMPOSSIBLE = {
    "a": [won(0, 5), won(1, 6, "denied")],
    "a: told, but nobody did it": [lost(0, 1), read(2, 3, "approved")],
    "a: the one that never came back wanted something else": [crashed(0, "denied"), read(2, 3, "approved")],
    "b: two values": [won(0, 5), lost(1, 6, "expired")],
    "b: told before it began": [lost(0, 1), won(2, 3)],
    "c": [won(0, 1), read(2, 3, PENDING)],
    "d": [read(0, 1, "approved"), won(2, 3)],
    "e": [won(0, 10), read(1, 2, "approved"), read(3, 4, PENDING)],
    "e: of one that never came back": [crashed(0), read(1, 2, "approved"), read(3, 4, PENDING)],
    "e: a loser has seen it": [won(0, 10), lost(1, 2), read(3, 4, PENDING)],
    "f": [won(0, 1, EXPIRED)],
    "f: approved too late": [won(100, 101)],
}


@pytest.mark.parametrize("what", POSSIBLE)
def test_it_accepts_what_can_have_been(what: str) -> None:
    assert first_impossible(POSSIBLE[what], deadline=100) is None


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_it_rejects_what_cannot_have_been_and_names_the_rule(what: str) -> None:
    fault = first_impossible(IMPOSSIBLE[what], deadline=100)
    assert fault is not None
    # (a value that is seen out of nowhere breaks several rules; the table names the first)
    assert fault.startswith(f"({what[0]})")


SPANS = st.tuples(st.floats(0, 10), st.floats(0, 3))


@given(
    st.lists(st.tuples(SPANS, st.sampled_from(["approved", "denied", ""]), st.floats(0, 1), st.booleans()), max_size=8)
)
def test_it_accepts_every_history_of_a_real_register(
    drawn: list[tuple[tuple[float, float], str, float, bool]],
) -> None:
    """Let each call take effect somewhere inside its span, on a real write-once register, in that order."""
    effects = sorted((begin + length * at, index) for index, ((begin, length), _, at, _) in enumerate(drawn))
    value, calls = PENDING, list[Call]()
    for _, index in effects:
        (begin, length), wrote, _, comes_back = drawn[index]
        won_it = bool(wrote) and value == PENDING
        value = wrote if won_it else value
        if comes_back:
            calls.append(Call(begin=begin, end=begin + length, wrote=wrote, won=won_it, saw=None if won_it else value))
        else:
            calls.append(Call(begin=begin, wrote=wrote))
    assert first_impossible(calls) is None


@given(st.lists(st.floats(0, 10), min_size=2, max_size=2, unique=True))
def test_a_value_never_goes_away(times: list[float]) -> None:
    first, second = sorted(times)
    calls = [crashed(-1), Call(begin=first, end=first, saw="approved"), Call(begin=second, end=second, saw=PENDING)]
    assert first_impossible(calls) is not None
    assert math.isinf(calls[0].end)
