"""Calls counted in a moving window: exactly, by many at once, over restarts, and forgotten when their time is over."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from app.storage.engine.transaction import EVERY_ORG
from app.storage.requests.due import forget
from app.storage.sessions.counters import take
from tests.storage.rig import ORG, ManualClock, look, open_store

if TYPE_CHECKING:
    from app.storage.engine.store import Store

SECOND = timedelta(seconds=1)


async def took(store: Store, key: str = "k", *, calls: int = 3, window: float = 10, org: str = ORG) -> float | None:
    return await store.write(lambda tx: take(tx, key, calls=calls, window_seconds=window), org=org)


async def test_a_window_has_room_for_so_many_calls_and_moves_with_them(store: Store, clock: ManualClock) -> None:
    for _ in range(3):
        assert await took(store) is None
        clock.advance(SECOND)
    assert await took(store) == 7  # the first of the three leaves the window in seven seconds
    clock.advance(7 * SECOND)
    assert await took(store) is None
    assert await took(store) == 1
    clock.advance(SECOND)
    assert await took(store) is None
    clock.advance(100 * SECOND)
    assert [await took(store) for _ in range(4)] == [None, None, None, 10]


async def test_a_refused_call_is_not_counted(store: Store, clock: ManualClock) -> None:
    for _ in range(3):
        await took(store)
    for _ in range(5):
        clock.advance(SECOND)
        await took(store)
    clock.advance(5 * SECOND)
    assert await took(store) is None


async def test_keys_and_orgs_count_for_themselves(store: Store) -> None:
    assert await took(store, calls=1) is None
    assert await took(store, "other", calls=1) is None
    assert await took(store, calls=1, org="beta") is None
    assert await took(store, calls=1) == 10


async def test_of_many_at_once_on_two_replicas_exactly_so_many_get_through(
    database_url: str, clock: ManualClock
) -> None:
    async with open_store(database_url, clock) as first, open_store(database_url, clock) as second:
        stores = (first, second) if database_url.startswith("postgresql") else (first,)
        for _ in range(6):  # also when the places of the window before are taken anew
            taken = await asyncio.gather(*(took(stores[n % len(stores)], calls=7) for n in range(40)))
            assert sum(wait is None for wait in taken) == 7
            clock.advance(11 * SECOND)


async def test_a_restart_forgets_nothing(database_url: str, clock: ManualClock) -> None:
    for _ in range(3):
        async with open_store(database_url, clock) as store:
            assert await took(store) is None
    async with open_store(database_url, clock) as store:
        assert await took(store) == 10


async def test_what_has_left_its_window_is_swept_and_nothing_else(
    store: Store, clock: ManualClock, database_url: str
) -> None:
    await took(store, "old")
    clock.advance(5 * SECOND)
    await took(store, "young", calls=1)
    clock.advance(5 * SECOND)
    await store.write(lambda tx: forget(tx, tx.now()), org=EVERY_ORG)
    assert look(database_url, "SELECT key FROM counters") == [("young",)]
    assert look(database_url, "SELECT key FROM counted_calls") == [("young",)]
    assert await took(store, "young", calls=1) == 5
    assert await took(store, "old") is None
