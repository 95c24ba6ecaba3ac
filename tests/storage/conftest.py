"""The databases, for this ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.storage.rig import ManualClock, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.storage.engine.store import Store


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands still until it is moved."""
    return ManualClock()


@pytest.fixture
async def store(database_url: str, clock: ManualClock) -> AsyncIterator[Store]:
    """Open a store on a database of the test's own, at the manual clock's time."""
    async with open_store(database_url, clock) as opened:
        yield opened
