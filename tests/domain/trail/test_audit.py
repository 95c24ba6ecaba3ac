"""The chain: whatever is edited, dropped, moved or put in, the first bad place is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.chain import GENESIS, first_fault, hash_of, leaf_of, link
from tests.domain.samples import START
from tests.requirements import requirement

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def chain(length: int = 6, *, org: str = "acme", since: tuple[int, str] = (-1, GENESIS)) -> list[AuditEvent]:
    events: list[AuditEvent] = []
    seq, prev = since
    for index in range(length):
        seq += 1
        event = link(
            Record(kind=Kind.VOTE, actor=f"p{index}@acme.example", facts={"verdict": "approve", "n": index}),
            org=org,
            seq=seq,
            event_id=f"evt_{index}",
            at=START + timedelta(seconds=index),
            request_id="req_1",
            request_version=index + 1,
            prev_hash=prev,
        )
        events.append(event)
        prev = event.hash
    return events


def relinked(events: list[AuditEvent], start: int) -> list[AuditEvent]:
    """Recompute every hash from `start` on, as somebody who can write the whole table would."""
    forged = events[:start]
    for event in events[start:]:
        prev = forged[-1].hash if forged else GENESIS
        bare = replace(event, prev_hash=prev, hash="")
        forged.append(replace(bare, hash=hash_of(bare)))
    return forged


def edited(events: list[AuditEvent], where: int, /, **changes: Any) -> list[AuditEvent]:
    return [*events[:where], replace(events[where], **changes), *events[where + 1 :]]


def test_an_untouched_chain_has_no_fault() -> None:
    events = chain()
    assert first_fault(events) is None
    assert first_fault([]) is None
    assert first_fault(events[3:], after=(2, events[2].hash)) is None


WHOLE = chain()
FORGED = Record(kind=Kind.APPROVED, actor="mallory@acme.example", facts={})
TAMPERED = {
    "one byte of a value": (2, edited(WHOLE, 2, record=replace(WHOLE[2].record, facts={"verdict": "approvf", "n": 2}))),
    "the actor": (2, edited(WHOLE, 2, record=replace(WHOLE[2].record, actor="other@acme.example"))),
    "the kind": (2, edited(WHOLE, 2, record=replace(WHOLE[2].record, kind=Kind.APPROVED))),
    "the time": (2, edited(WHOLE, 2, at=WHOLE[2].at + timedelta(microseconds=1))),
    "the id": (2, edited(WHOLE, 2, id="evt_x")),
    "the org": (2, edited(WHOLE, 2, org="beta")),
    "the request": (2, edited(WHOLE, 2, request_id="req_2")),
    "the version": (2, edited(WHOLE, 2, request_version=9)),
    "the hash": (2, edited(WHOLE, 2, hash="0" * 64)),
    "the predecessor's hash": (2, edited(WHOLE, 2, prev_hash="0" * 64)),
    "a middle row deleted": (2, WHOLE[:2] + WHOLE[3:]),
    "the first row deleted": (0, WHOLE[1:]),
    "a forged row put in": (3, [*WHOLE[:3], *chain(1, since=(2, "1" * 64)), *WHOLE[3:]]),
    "two rows swapped": (2, [*WHOLE[:2], WHOLE[3], WHOLE[2], *WHOLE[4:]]),
    "a row doubled": (3, [*WHOLE[:3], WHOLE[2], *WHOLE[3:]]),
    "a row of another org put in": (2, [*WHOLE[:2], chain(3, org="beta")[2], *WHOLE[3:]]),
    "one row rewritten with its hash": (3, [*relinked(edited(WHOLE[:3], 2, record=FORGED), 2), *WHOLE[3:]]),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_every_edit_is_found_where_it_is(what: str) -> None:
    at, events = TAMPERED[what]
    fault = first_fault(events)
    assert fault is not None
    assert fault.startswith(f"event {at} ")


@requirement("S-17")
@given(st.integers(0, 5), JSON, st.sampled_from([*Kind]), st.text(max_size=10))
def test_any_other_content_gives_another_hash(at: int, value: Any, kind: Kind, actor: str) -> None:
    record = Record(kind=kind, actor=actor, facts={"value": value})
    fault = first_fault(edited(WHOLE, at, record=record))
    assert fault == f"event {at} was changed: its content does not give its hash"


@given(st.lists(st.integers(0, 5), min_size=0, max_size=6))
def test_only_the_whole_chain_in_its_order_and_its_beginnings_are_without_fault(picked: list[int]) -> None:
    beginning = picked == list(range(len(picked)))
    assert (first_fault([WHOLE[index] for index in picked]) is None) == beginning


@pytest.mark.parametrize("gone", [1, 2, 5])
def test_a_cut_tail_is_only_seen_against_a_head_that_was_kept(gone: int) -> None:
    # The chain alone cannot know that it was longer: whoever verifies compares its end with a head kept elsewhere.
    assert first_fault(WHOLE[:-gone]) is None
    assert WHOLE[: 6 - gone][-1].hash != WHOLE[-1].hash


def test_a_wholly_rewritten_chain_no_longer_ends_at_a_head_that_was_kept() -> None:
    forged = relinked(edited(WHOLE, 2, record=FORGED), 2)
    assert first_fault(forged) is None
    assert forged[-1].hash != WHOLE[-1].hash
    assert first_fault(forged[3:], after=(2, WHOLE[2].hash)) is not None


@requirement("S-17")
@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=8))])), st.booleans())
def test_an_instant_is_hashed_as_it_is_written_everywhere_else(at: datetime, is_whole: bool) -> None:
    at = at.replace(microsecond=0) if is_whole else at
    assert json.loads(leaf_of(replace(chain(1)[0], at=at)))["at"] == at.isoformat()
