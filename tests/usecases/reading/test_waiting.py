"""Nothing that happens between looking at a row and waiting for it is missed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from app.domain.errors import WrongScopeError
from app.domain.request.request import State, Status
from app.usecases.reading.wait import Wait, Waiters
from tests.domain.samples import a_request, settled
from tests.fixtures.patience import HANGS, eventually

if TYPE_CHECKING:
    from app.domain.errors import AssentError
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store


class Settling:
    """A store whose row is settled in the very moment after it was read, and says so once."""

    def __init__(self, waiters: Waiters) -> None:
        self._waiters = waiters
        self._rows = [a_request("req_1"), settled(Status.DENIED)]

    async def read(self, _work: object, *, org: str, long: bool = False) -> Any:
        row = self._rows.pop(0) if len(self._rows) > 1 else self._rows[0]
        await asyncio.sleep(0)
        self._waiters.wake({(org, "req_1"): None})
        return row


async def test_a_change_between_the_look_and_the_waiting_is_heard() -> None:
    waiters = Waiters(most=10)
    wait = Wait(store=cast("Store", Settling(waiters)), waiters=waiters)
    asked = wait(org="acme", request_id="req_1", agent=None, seconds=60, since=None)
    assert (await asyncio.wait_for(asked, HANGS)).state is State.DENIED
    assert len(waiters) == 0


class Counting:
    """A store of one row that counts how often it is read."""

    def __init__(self, row: ConfirmationRequest) -> None:
        self.row, self.reads = row, 0

    async def read(self, _work: object, *, org: str, long: bool = False) -> Any:
        self.reads += 1
        return self.row


def _held(store: Counting, waiters: Waiters, **more: Any) -> asyncio.Future[ConfirmationRequest]:
    wait = Wait(store=cast("Store", store), waiters=waiters)

    def is_answered(request: ConfirmationRequest) -> bool:
        return request.state is not State.PENDING

    def refused(request: ConfirmationRequest) -> AssentError | None:
        return WrongScopeError() if request.enforced else None

    held = wait.held("acme", "req_1", refused=refused, answered=is_answered, seconds=60, who="", **more)
    return asyncio.ensure_future(held)


async def test_who_waits_is_handed_what_was_committed_here_and_reads_nothing_more() -> None:
    store, waiters = Counting(a_request("req_1")), Waiters(most=10)
    held = _held(store, waiters)
    await eventually(waiters.waited_for)
    waiters.wake({("acme", "req_1"): a_request("req_1")})  # somebody votes, and one vote is not enough
    await eventually(lambda: store.reads == 2 and waiters.waited_for())
    assert not held.done()
    denied = settled(Status.DENIED)
    waiters.wake({("acme", "req_1"): denied})
    assert await asyncio.wait_for(held, HANGS) is denied
    assert store.reads == 2, "at first, and after what did not answer: another change may have come in between"


async def test_who_has_just_opened_it_reads_nothing_at_all() -> None:
    store, waiters = Counting(a_request("req_1")), Waiters(most=10)
    held = _held(store, waiters, opened=1)
    await eventually(waiters.waited_for)
    assert waiters.waited_for() == {("acme", "req_1"): 1}  # the poll knows which version was seen
    denied = settled(Status.DENIED)
    waiters.wake({("acme", "req_1"): denied})
    assert await asyncio.wait_for(held, HANGS) is denied
    assert store.reads == 0


async def test_who_has_just_opened_it_looks_if_it_changed_before_they_began_to_wait() -> None:
    store, waiters = Counting(settled(Status.DENIED)), Waiters(most=10)
    waiters.wake({("acme", "req_1"): settled(Status.DENIED)})  # nobody was there to hear it
    assert (await asyncio.wait_for(_held(store, waiters, opened=1), HANGS)).state is State.DENIED
    assert store.reads == 1


async def test_of_changes_that_nobody_waited_for_only_so_many_are_remembered() -> None:
    waiters = Waiters(most=10)
    waiters.wake({("acme", f"req_{n}"): None for n in range(5_000)})
    assert waiters.went_unheard("acme", "req_4999")
    assert not waiters.went_unheard("acme", "req_0")


async def test_what_is_handed_on_is_refused_to_whom_it_may_not_be_shown() -> None:
    store, waiters = Counting(a_request("req_1")), Waiters(most=10)
    held = _held(store, waiters, opened=1)
    await eventually(waiters.waited_for)
    waiters.wake({("acme", "req_1"): replace(settled(Status.DENIED), enforced=True)})
    with pytest.raises(WrongScopeError):
        await asyncio.wait_for(held, HANGS)
    assert len(waiters) == 0


async def test_who_has_just_opened_it_looks_again_after_what_does_not_answer() -> None:
    store, waiters = Counting(settled(Status.DENIED)), Waiters(most=10)  # denied already, in a moment that nobody heard
    held = _held(store, waiters, opened=1)
    await eventually(waiters.waited_for)
    waiters.wake({("acme", "req_1"): a_request("req_1")})
    assert (await asyncio.wait_for(held, HANGS)).state is State.DENIED
    assert store.reads == 1
