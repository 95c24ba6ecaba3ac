"""What the adapters stand on, without a framework: both colours, calls between two hooks, suspended ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, Gateway, Ran, Refused, SuspendedCall, ToolCall
from assent.gate.permission import Permission
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.begun import Begun
from assent.integrations.ground.colours import OnThisThread, as_coroutine, at_once
from assent.integrations.ground.suspending import all_decided, as_metadata, is_ours, withdraw
from assent.integrations.ground.telling import told
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CALL = ToolCall("pay", {"amount": 7}, call_id="call_1", session="s-1")


@pytest.fixture
async def line(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    gateway.one_call = True
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as opened:
        yield opened


# --- both colours -----------------------------------------------------------------------------------------------------


@pytest.mark.may_block
@requirement("S-08")
def test_one_way_through_the_gate_serves_synchronous_tools_on_the_thread_that_calls(gateway: StubGateway) -> None:
    gateway.rules["pay"], gateway.rules["drop"] = "allow", "deny"
    with Gateway(gateway.url, KEY, pace=quick_pace()) as opened:
        here = OnThisThread(Adapter(opened))
        ran = at_once(here.run_call(CALL, as_coroutine(lambda amount: f"paid {amount}"), deadline=None))
        assert told(ran) == "paid 7"
        found = at_once(here.open_call(CALL, deadline=None))
        assert isinstance(found, SuspendedCall)
        after = at_once(here.finish(found, as_coroutine(lambda amount: amount), deadline=None))
        assert isinstance(after, Ran)
        refused = at_once(here.run_call(ToolCall("drop", {}), as_coroutine(pytest.fail), deadline=None))
        assert isinstance(refused, Refused)


@pytest.mark.may_block
def test_what_a_tool_raises_on_this_thread_passes(gateway: StubGateway) -> None:
    gateway.rules["pay"] = "allow"

    def explodes(amount: int) -> None:
        raise KeyError(amount)

    with Gateway(gateway.url, KEY, pace=quick_pace()) as opened, pytest.raises(KeyError):
        at_once(OnThisThread(Adapter(opened)).run_call(CALL, as_coroutine(explodes), deadline=None))


def test_a_coroutine_that_waits_is_no_work_for_this_thread() -> None:
    ended = list[str]()

    async def waits() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("closed")

    with pytest.raises(RuntimeError, match="waited for an event loop"):
        at_once(waits())
    assert ended == ["closed"]


async def test_without_an_event_loop_a_gateway_of_one_is_refused(line: AsyncGateway) -> None:
    with pytest.raises(TypeError, match="give the adapter a Gateway"):
        _ = Adapter(line).blocking


async def test_a_calls_session_is_the_gateways_and_else_the_frameworks(gateway: StubGateway) -> None:
    for session, filed in ((None, "thread-1"), ("order-1", None)):
        adapter = Adapter(AsyncGateway(gateway.url, KEY, session=session), sub_agent="scout")
        call = adapter.call("pay", {}, call_id="c", session="thread-1")
        assert (call.session, call.sub_agent, call.call_id) == (filed, "scout", "c")


# --- suspended calls --------------------------------------------------------------------------------------------------


@requirement("S-08")
async def test_only_what_people_decide_is_suspended_and_goes_on_when_they_have(
    line: AsyncGateway, gateway: StubGateway
) -> None:
    gateway.rules["look"], gateway.rules["drop"] = "allow", "deny"
    adapter = Adapter(line)
    assert await adapter.open(ToolCall("look", {}, call_id="1")) is None
    assert isinstance(await adapter.open(ToolCall("drop", {}, call_id="2")), Refused)
    waiting = await adapter.open(CALL)
    assert isinstance(waiting, SuspendedCall)
    kept = as_metadata(waiting)
    assert is_ours(kept)
    assert not any(is_ours(each) for each in (None, "assent", {"request_id": "req_0001"}))
    assert not await all_decided(line, [kept])
    gateway.decide("req_0001", "denied")
    assert await all_decided(line, [kept])
    await withdraw(line, "req_0001", "too late")
    assert gateway.only.state == "denied"


# --- calls between two hooks ------------------------------------------------------------------------------------------


@requirement("S-08")
@pytest.mark.parametrize("end", ["ran", "failed", "raised"])
async def test_what_was_begun_is_reported_once_and_nothing_else_is(
    line: AsyncGateway, gateway: StubGateway, end: str
) -> None:
    begun = Begun(Adapter(line).gate)
    obtaining = asyncio.ensure_future(Adapter(line).obtain(CALL))
    await asyncio.to_thread(gateway.arrived, "check")
    gateway.decide("req_0001", "approved")
    permission = await obtaining
    assert isinstance(permission, Permission)
    begun.begin("call_1", permission)
    assert "call_1" in begun
    ends: dict[str, Any] = {"ran": "paid", "failed": "no money", "raised": ValueError("no money")}
    for name in ("call_2", "call_1", "call_1"):  # another one, ours, and ours once more
        await getattr(begun, end)(name, ends[end])
    assert "call_1" not in begun
    assert [each["status"] for each in gateway.only.outcomes] == ["succeeded" if end == "ran" else "failed"]
