"""What was read of a key and of an org is believed for half a second: one of many reads it, and never much longer."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.usecases.hooks.known_call import AgentRun
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import HANGS, eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from tests.fixtures.gateway import Gateway

pytestmark = pytest.mark.may_block


class Reads:
    """The reads of a store: each is counted, and waits as long as they are held."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_go = asyncio.Event()


@pytest.fixture
def reads(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    read, held = gateway.container.store.read, Reads()

    async def slow(*what: Any, **of: Any) -> Any:
        held.begun += 1
        await held.may_go.wait()
        return await read(*what, **of)

    monkeypatch.setattr(gateway.container.store, "read", slow)
    yield held
    held.may_go.set()


async def is_read_by_one(ask: Callable[[], Awaitable[object]], reads: Reads, gateway: Gateway) -> None:
    """Ask while a read hangs: who comes within a tenth of a second goes on with what is known, who comes later not."""
    clock = gateway.clock
    assert isinstance(clock, ManualClock)
    reads.may_go.set()
    await ask()
    reads.may_go.clear()
    at_first = reads.begun
    await ask()
    assert reads.begun == at_first, "it is believed"
    clock.advance(timedelta(seconds=0.55))
    first = asyncio.ensure_future(ask())
    await eventually(lambda: reads.begun == at_first + 1)
    async with asyncio.timeout(HANGS):
        await asyncio.gather(*(ask() for _ in range(20)))
    assert reads.begun == at_first + 1, "one of them reads"
    clock.advance(timedelta(seconds=0.05))
    late = asyncio.ensure_future(ask())
    await eventually(lambda: reads.begun == at_first + 2 or late.done())
    assert not late.done(), "what was read is too old"
    reads.may_go.set()
    await asyncio.gather(first, late)


@requirement("S-34")
async def test_a_key_is_read_once_for_all_who_come_meanwhile_and_believed_no_longer_while_that_hangs(
    gateway: Gateway, reads: Reads
) -> None:
    reads.may_go.set()
    text = (await gateway.key("auditor"))["authorization"].removeprefix("Bearer ")
    await is_read_by_one(lambda: gateway.container.keys.authenticate(text), reads, gateway)


@requirement("S-34")
async def test_how_an_org_stands_is_believed_no_longer_while_a_read_of_it_hangs(gateway: Gateway, reads: Reads) -> None:
    look_up = gateway.container.run_hooks.look_up
    await is_read_by_one(lambda: look_up(AgentRun(org="acme", agent="shop")), reads, gateway)


@requirement("S-34")
async def test_what_was_being_read_when_it_was_forgotten_is_not_believed(gateway: Gateway, reads: Reads) -> None:
    look_up = gateway.container.run_hooks.look_up
    run = AgentRun(org="acme", agent="shop")
    of_before = asyncio.ensure_future(look_up(run))
    await eventually(lambda: reads.begun == 1)
    look_up.forget("acme")  # a switch was flipped, and the read began before that
    reads.may_go.set()
    await of_before
    await look_up(run)
    assert reads.begun == 2, "it is read anew"
    await look_up(run)
    assert reads.begun == 2, "and believed from then on"
