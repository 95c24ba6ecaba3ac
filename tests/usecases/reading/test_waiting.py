"""Nothing that happens between looking at a row and waiting for it is missed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from app.domain.request.request import State, Status
from app.usecases.reading.wait import Wait, Waiters
from tests.domain.samples import a_request, settled

if TYPE_CHECKING:
    from app.storage.engine.store import Store


class Settling:
    """A store whose row is settled in the very moment after it was read, and says so once."""

    def __init__(self, waiters: Waiters) -> None:
        self._waiters = waiters
        self._rows = [a_request("req_1"), settled(Status.DENIED)]

    async def read(self, _work: object, *, org: str, long: bool = False) -> Any:
        row = self._rows.pop(0) if len(self._rows) > 1 else self._rows[0]
        await asyncio.sleep(0)
        self._waiters.wake([(org, "req_1")])
        return row


async def test_a_change_between_the_look_and_the_waiting_is_heard() -> None:
    waiters = Waiters(most=10)
    wait = Wait(store=cast("Store", Settling(waiters)), waiters=waiters)
    asked = wait(org="acme", request_id="req_1", agent=None, seconds=60, since=None)
    assert (await asyncio.wait_for(asked, 5)).state is State.DENIED
    assert len(waiters) == 0
