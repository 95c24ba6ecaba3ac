"""Resuming: an agent that starts again finds every open request and does the one right thing with each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from assent import (
    AsyncGateway,
    Failed,
    Gateway,
    GatewayAwayError,
    LeftAlone,
    Lost,
    Pending,
    Ran,
    RefusalCode,
    Refused,
    Replayed,
    ToolCall,
    current_grant,
    guarded,
    resume,
)
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import ManualSeconds, manual_pace, quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

RAN: list[tuple[object, str | None]] = []


async def pay(amount: int) -> str:
    RAN.append((amount, current_grant()))
    if amount == 13:
        raise LookupError("bank away")
    return f"paid {amount}"


def pay_plainly(amount: int) -> str:
    RAN.append((amount, current_grant()))
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@pytest.fixture
async def before(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    """The agent's life before the crash."""
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        yield opened


@pytest.fixture
async def after(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    """Its life after it."""
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        yield opened


async def ask(client: AsyncGateway, amount: int, *, tool: str = "pay") -> Pending:
    verdict = await client.check(ToolCall(tool, {"amount": amount}))
    assert isinstance(verdict, Pending)
    return verdict


@requirement("F-07")
async def test_what_was_approved_meanwhile_runs_with_the_stored_arguments(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    await ask(before, 80000)
    gateway.only.arguments = {"amount": 8}
    gateway.decide("req_0001", "approved")
    (past,) = await resume(after, {"pay": pay})
    assert past.request.id == "req_0001"
    assert past.outcome == Ran(result="paid 8")
    assert RAN == [(8, "gr_req_0001")]
    assert gateway.only.state == "succeeded"


async def test_what_is_pending_is_waited_for(gateway: StubGateway, before: AsyncGateway, after: AsyncGateway) -> None:
    await ask(before, 1)
    await ask(before, 2)
    resuming = asyncio.ensure_future(resume(after, {"pay": pay_plainly}))
    await asyncio.to_thread(gateway.arrived, "get", 2)
    gateway.decide("req_0002", "approved")
    gateway.decide("req_0001", "denied", reason="no")
    first, second = await resuming
    assert isinstance(first.outcome, Refused)
    assert first.outcome.code is RefusalCode.DENIED
    assert "do not retry" in first.outcome.message
    assert second.outcome == Ran(result="paid 2")
    assert RAN == [(2, "gr_req_0002")]
    assert len(gateway.rows) == 2


@requirement("F-08")
async def test_what_was_claimed_before_the_crash_is_reported_unknown_and_never_run_again(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    pending = await ask(before, 1)
    gateway.decide("req_0001", "approved")
    await before.claim(pending.request)
    after.claims_made.clear()  # what another process has claimed, this one does not know
    (past,) = await resume(after, {"pay": pay})
    assert past.outcome == Lost()
    assert gateway.only.state == "unknown"
    (again,) = await resume(after, {"pay": pay})
    assert isinstance(again.outcome, LeftAlone)
    assert RAN == []


async def test_what_runs_in_this_very_process_is_left_alone_by_each_of_its_gateways(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    pending = await ask(before, 1)
    gateway.decide("req_0001", "approved")
    await before.claim(pending.request)
    for client in (before, after):
        (past,) = await resume(client, {"pay": pay})
        assert past.outcome == LeftAlone(
            why="it was claimed in this process, or in the one that it was forked off, and may be running"
        )
    assert gateway.only.state == "executing"


async def test_a_tool_that_returns_what_is_to_be_awaited_runs(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    await ask(before, 1)
    gateway.decide("req_0001", "approved")
    (past,) = await resume(after, {"pay": lambda amount: pay(amount)})  # noqa: PLW0108 - no coroutine function
    assert past.outcome == Ran(result="paid 1")
    assert RAN == [(1, "gr_req_0001")]


class Till:
    """A tool that is an object, whose call is asynchronous."""

    async def __call__(self, amount: int) -> str:
        return await pay(amount)


async def test_a_tool_that_is_an_object_with_an_asynchronous_call_runs(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    await ask(before, 1)
    gateway.decide("req_0001", "approved")
    (past,) = await resume(after, {"pay": Till()})
    assert past.outcome == Ran(result="paid 1")
    assert RAN == [(1, "gr_req_0001")]


async def test_a_tool_that_raises_does_not_stop_the_others(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    await ask(before, 13)
    await ask(before, 2)
    gateway.decide("req_0001", "approved")
    gateway.decide("req_0002", "approved")
    first, second = await resume(after, {"pay": pay})
    assert isinstance(first.outcome, Failed)
    assert second.outcome == Ran(result="paid 2")
    assert [row.state for row in gateway.rows.values()] == ["failed", "succeeded"]


async def test_a_tool_that_this_agent_no_longer_has_is_left_alone(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    await ask(before, 1, tool="retired")
    gateway.decide("req_0001", "approved")
    (past,) = await resume(after, {"pay": pay})
    assert isinstance(past.outcome, LeftAlone)
    assert gateway.only.state == "approved"


async def test_other_sessions_are_not_touched(gateway: StubGateway, before: AsyncGateway, after: AsyncGateway) -> None:
    await ask(before, 1)
    gateway.decide("req_0001", "approved")
    assert await resume(after, {"pay": pay}, session="another") == []
    assert gateway.only.state == "approved"


async def test_two_processes_that_resume_at_once_run_it_once(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    await ask(before, 1)
    resuming = [asyncio.ensure_future(resume(client, {"pay": pay})) for client in (before, after)]
    await asyncio.to_thread(gateway.arrived, "get", 2)
    gateway.decide("req_0001", "approved")
    outcomes = [past.outcome for (past,) in await asyncio.gather(*resuming)]
    assert len(RAN) == 1
    assert sum(isinstance(outcome, Ran) for outcome in outcomes) == 1
    (other,) = [each for each in outcomes if isinstance(each, Refused | Replayed)]
    if isinstance(other, Refused):  # it was told while the tool ran
        assert other.code is RefusalCode.OUTCOME_UNKNOWN
    else:
        assert other == Replayed(result="paid 1", request=other.request)


async def test_a_gateway_that_goes_away_meanwhile_is_a_no(gateway: StubGateway, before: AsyncGateway) -> None:
    await ask(before, 1)
    gateway.faults["get"].extend(["reset"] * 9999)
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=manual_pace(ManualSeconds())) as after:
        (past,) = await resume(after, {"pay": pay})
    assert isinstance(past.outcome, Refused)
    assert past.outcome.code is RefusalCode.GATEWAY_AWAY
    assert RAN == []


async def test_a_gateway_that_is_away_from_the_start_is_said(gateway: StubGateway) -> None:
    gateway.stop()
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(ManualSeconds())) as after:
        with pytest.raises(GatewayAwayError):
            await resume(after, {"pay": pay})


def test_synchronous_agents_resume_too(gateway: StubGateway) -> None:
    with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as before:
        before.check(ToolCall("pay", {"amount": 1}))
    gateway.decide("req_0001", "approved")
    with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as after:
        (past,) = after.resume({"pay": pay_plainly})
    assert past.outcome == Ran(result="paid 1")
    assert RAN == [(1, "gr_req_0001")]


async def test_a_guarded_function_is_carried_on_bare_and_nobody_is_asked_again(
    gateway: StubGateway, before: AsyncGateway, after: AsyncGateway
) -> None:
    asked = await before.check(ToolCall("oa__purchase_pay", {"amount": 5}))
    assert isinstance(asked, Pending)
    gateway.decide(asked.request.id, "approved")
    [past] = await resume(after, tools={"oa__purchase_pay": guarded(after, tool="oa__purchase_pay")(pay)})
    assert past.outcome == Ran(result="paid 5")
    assert len(gateway.rows) == 1
