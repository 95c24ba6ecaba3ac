"""Turns that replicas take together: each has one of its own, in the order of a row that all of them lock."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from app.storage.cards.turns import TURN_RETENTION, forget_turns, hold_turns, take_turn
from app.storage.engine.transaction import EVERY_ORG
from tests.requirements import requirement
from tests.storage.rig import ORG, open_store

if TYPE_CHECKING:
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

LANE = ("pay", "post", "C1")
MINUTE = timedelta(minutes=1)


async def take(store: Store, *, burst: int = 1, patience: timedelta = 60 * MINUTE) -> tuple[timedelta, bool]:
    def unit(tx: Tx) -> tuple[timedelta, bool]:
        return take_turn(tx, LANE, every=MINUTE, burst=burst, patience=patience)

    return await store.write(unit, org=ORG)


@requirement("F-45")
async def test_replicas_that_ask_at_once_each_have_a_turn_of_their_own(database_url: str) -> None:
    async with open_store(database_url) as one, open_store(database_url) as other:
        await one.read(
            lambda tx: tx.now(), org=ORG
        )  # a new SQLite file goes over to its log once, with nobody beside it
        turns = await asyncio.gather(*(take(store) for _ in range(5) for store in (one, other)))
    assert all(taken for _, taken in turns)
    waits = sorted(wait for wait, _ in turns)
    assert waits[0] == timedelta(0)
    gaps = [later - earlier for earlier, later in pairwise(waits)]
    assert all(gap > MINUTE / 2 for gap in gaps)  # as they waited for one another, a little less than a minute
    assert timedelta(minutes=8) < waits[-1] <= timedelta(minutes=9)


async def test_a_burst_is_free_and_what_is_too_far_off_is_not_taken(database_url: str) -> None:
    async with open_store(database_url) as store:
        first = [await take(store, burst=3, patience=MINUTE / 2) for _ in range(4)]
        again = await take(store, burst=3, patience=2 * MINUTE)
    assert [taken for _, taken in first] == [True, True, True, False]
    assert [wait for wait, _ in first[:3]] == [timedelta(0)] * 3
    assert again[1]  # the one that was refused has cost nobody anything
    assert again[0] <= MINUTE


async def test_what_a_platform_said_holds_every_replica_and_is_forgotten_long_after(database_url: str) -> None:
    async with open_store(database_url) as one, open_store(database_url) as other:
        await one.read(
            lambda tx: tx.now(), org=ORG
        )  # a new SQLite file goes over to its log once, with nobody beside it
        await one.write(lambda tx: hold_turns(tx, LANE, wait=10 * MINUTE), org=ORG)
        wait, taken = await take(other, patience=MINUTE)
        assert not taken
        assert 9 * MINUTE < wait <= 10 * MINUTE

        def forget(tx: Tx, later: timedelta) -> int:
            return forget_turns(tx, before=tx.now() + later - TURN_RETENTION)

        assert await one.write(lambda tx: forget(tx, TURN_RETENTION), org=EVERY_ORG) == 0
        assert await one.write(lambda tx: forget(tx, 2 * TURN_RETENTION), org=EVERY_ORG) == 1
