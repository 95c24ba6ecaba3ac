"""Behind a batch of many the loop has its turns before the next one begins; behind a few nobody waits."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from app.storage.engine import answers
from tests.fixtures.patience import HANGS
from tests.storage.rig import ORG, note, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Batch

pytestmark = pytest.mark.may_block  # here it is the loop that is slow


class Heard:
    """A store's commits: how many units each had."""

    def __init__(self, store: Store) -> None:
        self.commits: list[int] = []
        writer, self._store = store._writer, store
        committed = writer._committed

        def hear(batch: Batch) -> None:
            self.commits.append(len(writer._ran))
            committed(batch)

        writer._committed = hear

    async def write(self, count: int) -> None:
        await asyncio.gather(*[self._store.write(note(f"n{each}"), org=ORG) for each in range(count)])

    async def write_late(self, until: Callable[[], bool]) -> None:
        """Hand in a unit, let the loop stand still until something is so, and hand in another one in the same turn."""
        first = asyncio.ensure_future(self._store.write(note("first"), org=ORG))
        await asyncio.sleep(0)  # it is handed in
        stand_still(until)
        await asyncio.gather(first, self._store.write(note("second"), org=ORG))


def stand_still(until: Callable[[], bool]) -> None:
    """Block the loop."""
    began = time.monotonic()
    while not until() and time.monotonic() - began < HANGS / 2:
        time.sleep(0.001)


@pytest.fixture
async def heard(database_url: str) -> AsyncIterator[Heard]:
    async with open_store(database_url) as store, asyncio.timeout(HANGS):
        yield Heard(store)


async def _many(heard: Heard) -> None:
    while not heard.commits or heard.commits[-1] < 8:  # the first of many may be taken alone
        await heard.write(32)
    heard.commits.clear()


async def test_behind_many_what_a_loop_hands_in_next_comes_into_one_batch(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_MOMENT", HANGS)  # however slow the machine is
    await _many(heard)
    soon = time.monotonic() + 0.05
    await heard.write_late(until=lambda: time.monotonic() > soon)
    assert heard.commits == [2]


async def test_behind_a_few_nobody_waits_for_more(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_MOMENT", HANGS)
    await heard.write(1)
    heard.commits.clear()
    await heard.write_late(until=lambda: bool(heard.commits))
    assert heard.commits == [1, 1]


async def test_a_loop_that_does_not_turn_is_not_waited_for(heard: Heard) -> None:
    await _many(heard)
    await heard.write_late(until=lambda: bool(heard.commits))
    assert heard.commits == [1, 1]
