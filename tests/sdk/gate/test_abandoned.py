"""A call whose caller is gone while people are asked leaves nothing behind that they could approve for nobody."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, BlockingGate, Gate, Gateway, Ran
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PAY = {"payee": "ACME", "amount": 80000}


async def pay(**arguments: Any) -> str:
    return f"paid {arguments['amount']}"


@pytest.fixture
async def client(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    gateway.one_call = True
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        yield opened


async def asked(gateway: StubGateway, gate: Gate, *, calls: int = 1) -> asyncio.Task[Any]:
    running = asyncio.ensure_future(gate.run("pay", PAY, pay, call_id="c-1"))
    await asyncio.to_thread(gateway.arrived, "check", calls)
    return running


async def cancelled(running: asyncio.Task[Any]) -> None:
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@requirement("F-75")
async def test_a_cancelled_call_is_withdrawn_and_made_again_it_is_asked_about_anew(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    await cancelled(await asked(gateway, Gate(client)))
    assert gateway.only.state == "cancelled"
    assert gateway.only.reason == "abandoned: whoever made this call is gone"
    again = await asked(gateway, Gate(client), calls=3)  # its own, and now under two keys
    gateway.decide("req_0002", "approved")
    assert await again == Ran(result="paid 80000")


async def test_where_it_is_kept_whoever_comes_back_meets_the_same_request(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    gate = Gate(client, abandoned="keep")
    await cancelled(await asked(gateway, gate))
    assert gateway.only.state == "pending"
    again = await asked(gateway, gate, calls=2)
    gateway.decide("req_0001", "approved")
    assert await again == Ran(result="paid 80000")
    with pytest.raises(ValueError, match='give "withdraw" or "keep"'):
        Gate(client, abandoned="drop")  # pyright: ignore[reportArgumentType] - what a typo does


async def test_a_call_for_which_another_of_ours_waits_stays(gateway: StubGateway, client: AsyncGateway) -> None:
    gate = Gate(client)
    gateway.faults["check"].append("hang")  # nothing is claimed for the one that goes
    one, other = await asked(gateway, gate), await asked(gateway, gate, calls=2)
    await cancelled(one)
    assert gateway.only.state == "pending"
    gateway.decide("req_0001", "approved")
    assert isinstance(await other, Ran)


async def test_what_was_taken_in_that_very_moment_is_given_back_as_not_run(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    running = await asked(gateway, Gate(client))
    _, said, _ = gateway.seen[0]
    row = gateway.only
    row.state, row.execution = "approved", None
    gateway._spend(row, said["claim_id"])  # and the answer does not arrive
    await cancelled(running)
    assert row.state == "failed"
    assert row.outcomes[0]["error"] == "not run: its caller was gone when it was approved"


@pytest.mark.heavy
async def test_a_gateway_that_is_away_does_not_hold_up_a_cancellation(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    running = await asked(gateway, Gate(client))
    gateway.stop()
    await cancelled(running)
    assert gateway.only.state == "pending"  # it expires by itself


def test_a_call_that_is_interrupted_by_ctrl_c_is_withdrawn(gateway: StubGateway) -> None:
    gateway.one_call = True

    def interrupt() -> None:
        gateway.arrived("check")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            BlockingGate(opened).run("pay", PAY, lambda **_: "paid", call_id="c-1")
        thread.join()
    assert gateway.only.state == "cancelled"


@requirement("F-75")
async def test_withdrawing_a_call_that_never_arrived_opens_nothing(gateway: StubGateway, client: AsyncGateway) -> None:
    gateway.stop()
    running = asyncio.ensure_future(Gate(client).run("pay", PAY, pay, call_id="c-1"))
    await asyncio.sleep(0.1)  # it is refused meanwhile
    gateway.start()
    gateway.faults["check"].extend(["reset"] * 1000)  # what it tries again does not arrive either
    await cancelled(running)
    assert gateway.rows == {}
    assert [kind for kind, _, _ in gateway.seen if kind != "check"] == ["list", "list"], "looked for, and not asked for"
