"""One NOTIFY a commit: what changed is packed into as few payloads as fit, and every replica hears of it."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.domain.lifecycle.lifecycle import advance
from app.storage.engine.dialect import from_us, to_us
from app.storage.statements.payloads import CHANNEL, payloads, told_by_others
from app.workers.notifications import Notifications
from tests.domain.samples import START, vote
from tests.fixtures.patience import HANGS
from tests.storage.rig import ORG, ManualClock, given_request, open_store, stepping

SENDER = "0123456789abcdef"
SERVER_LIMIT = 8_000  # bytes; PostgreSQL refuses a payload of so many
PAIRS = st.lists(st.tuples(st.sampled_from(["acme", "beta"]), st.text(min_size=1, max_size=200)), max_size=300)


@given(PAIRS)
def test_every_pair_is_in_exactly_one_payload_and_each_fits(pairs: list[tuple[str, str]]) -> None:
    packed = payloads(pairs, sender=SENDER)
    assert [pair for payload in packed for pair in told_by_others(payload, own="another")] == pairs
    assert all(len(payload.encode()) < SERVER_LIMIT for payload in packed)
    assert not any(told_by_others(payload, own=SENDER) for payload in packed)


def test_a_usual_commit_is_one_payload_and_a_large_one_a_few() -> None:
    pairs = [("acme", f"req_{index:032}") for index in range(128)]
    assert len(payloads(pairs, sender=SENDER)) == 1
    assert len(payloads(pairs * 8, sender=SENDER)) == -(-len(json.dumps(pairs * 8)) // 7_800)
    assert payloads([], sender=SENDER) == []


@given(st.integers(-(10**15), 4 * 10**15))
def test_instants_survive_to_the_microsecond(microseconds: int) -> None:
    assert to_us(from_us(microseconds)) == microseconds


@pytest.mark.postgres
async def test_another_replica_hears_of_a_commit_that_changed_something(postgres_url: str) -> None:
    heard: asyncio.Queue[list[tuple[str, str]]] = asyncio.Queue()
    connected = asyncio.Event()
    listener = Notifications(postgres_url, own=SENDER, heard=heard.put_nowait, missed=connected.set)
    listening = asyncio.ensure_future(listener.run())
    try:
        await asyncio.wait_for(connected.wait(), HANGS)
        async with open_store(postgres_url, ManualClock()) as store:
            for index in range(3):
                await given_request(store, f"req_{index}")  # opening wakes nobody: nobody can wait for it yet
            await store.write(
                stepping("req_1", lambda r, now: advance(r, vote(r, "ann@acme.example"), now=now)),
                org=ORG,
                about="req_1",
            )
        assert await asyncio.wait_for(heard.get(), HANGS) == [(ORG, "req_1")]
        assert heard.empty()
    finally:
        listening.cancel()


@pytest.mark.postgres
async def test_what_was_rolled_back_is_not_told(postgres_url: str) -> None:
    def broken(tx: object) -> None:
        tx.changed("req_ghost", None)  # type: ignore[attr-defined]
        raise ZeroDivisionError

    with psycopg.connect(postgres_url, autocommit=True) as listening:
        listening.execute(f"LISTEN {CHANNEL}")
        async with open_store(postgres_url, ManualClock(START)) as store:
            with pytest.raises(ZeroDivisionError):
                await store.write(broken, org=ORG)
            await store.write(lambda tx: tx.changed("req_real", None), org=ORG)
            own = store.dialect.sender
        [told] = [note.payload for note in listening.notifies(timeout=5, stop_after=1)]
    assert told == f'[["", "{own}"], ["acme", "req_real"]]'


@pytest.mark.postgres
async def test_a_process_does_not_hear_what_it_has_told_itself(postgres_url: str) -> None:
    heard: asyncio.Queue[list[tuple[str, str]]] = asyncio.Queue()
    connected = asyncio.Event()
    async with open_store(postgres_url, ManualClock()) as ours, open_store(postgres_url, ManualClock()) as theirs:
        listener = Notifications(postgres_url, own=ours.dialect.sender, heard=heard.put_nowait, missed=connected.set)
        listening = asyncio.ensure_future(listener.run())
        try:
            await asyncio.wait_for(connected.wait(), HANGS)
            await ours.write(lambda tx: tx.changed("req_ours", None), org=ORG)
            await theirs.write(lambda tx: tx.changed("req_theirs", None), org=ORG)
            told = [await asyncio.wait_for(heard.get(), HANGS) for _ in range(2)]
            assert told == [[], [(ORG, "req_theirs")]]
        finally:
            listening.cancel()


@pytest.mark.parametrize("junk", ["", "req_1", "{}", "[1]", "[[1, 2]]", '[["acme"]]', '[["acme", null]]', "[" * 7_000])
def test_what_no_gateway_says_is_told_from_what_one_does(junk: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        told_by_others(junk, own=SENDER)


@pytest.mark.postgres
async def test_whoever_says_what_cannot_be_read_keeps_nobody_from_being_heard(postgres_url: str) -> None:
    """Any role that may connect may say anything there; so may a gateway of another version."""
    heard: asyncio.Queue[list[tuple[str, str]]] = asyncio.Queue()
    looked: asyncio.Queue[None] = asyncio.Queue()
    listener = Notifications(postgres_url, own=SENDER, heard=heard.put_nowait, missed=lambda: looked.put_nowait(None))
    listening = asyncio.ensure_future(listener.run())
    try:
        await asyncio.wait_for(looked.get(), HANGS)  # connected
        with capture_logs() as logs, psycopg.connect(postgres_url, autocommit=True) as stranger:
            for junk in ("nonsense", '[["acme", 5]]', "[" * 7_000):
                stranger.execute("SELECT pg_notify(%s, %s)", (CHANNEL, junk))
            stranger.execute("SELECT pg_notify(%s, %s)", (CHANNEL, '[["", "them"], ["acme", "req_1"]]'))
            hearing = asyncio.ensure_future(heard.get())
            await asyncio.wait({hearing, listening}, timeout=HANGS, return_when=asyncio.FIRST_COMPLETED)
            assert not listening.done()
            assert await hearing == [(ORG, "req_1")]
        assert [each["event"] for each in logs] == ["notifications.unreadable"]
        assert looked.qsize() == 1  # everything was looked at for it, once
    finally:
        listening.cancel()
