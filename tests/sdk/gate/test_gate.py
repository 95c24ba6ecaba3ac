"""The gate of an adapter: refusals are values, control flow passes, suspended calls wait, and nothing runs twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from assent import (
    AsyncGateway,
    BlockingGate,
    Gate,
    Gateway,
    Ran,
    RefusalCode,
    Refused,
    Replayed,
    SuspendedCall,
    current_grant,
)
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import ManualSeconds, manual_pace, quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

PAY = {"payee": "ACME", "amount": 80000}


class BubbleUpError(Exception):
    """What a framework raises through a tool to stop its run."""


class Tool:
    """A tool that counts what it did."""

    def __init__(self, raises: BaseException | None = None) -> None:
        self.ran: list[tuple[dict[str, Any], str | None]] = []
        self.raises = raises

    async def __call__(self, **arguments: Any) -> dict[str, Any]:
        self.ran.append((arguments, current_grant()))
        if self.raises is not None:
            raise self.raises
        return {"receipt": f"R-{len(self.ran)}"}


@pytest.fixture
async def client(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    gateway.one_call = True
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        yield opened


async def decided(gateway: StubGateway, running: Awaitable[Any], state: str, *, request: str = "req_0001") -> Any:
    task = asyncio.ensure_future(running)
    await asyncio.to_thread(gateway.arrived, "check", len(gateway.rows) + 1)
    gateway.decide(request, state)
    return await task


@requirement("F-08")
async def test_a_call_runs_once_and_a_replay_of_it_gets_the_stored_result(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    tool = Tool()
    first = await decided(gateway, Gate(client).run("pay", PAY, tool, call_id="toolu_1"), "approved")
    assert first == Ran(result={"receipt": "R-1"})
    assert tool.ran == [(PAY, "gr_req_0001")]
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as after:  # killed before a checkpoint
        again = await Gate(after).run("pay", PAY, tool, call_id="toolu_1")
        other = asyncio.ensure_future(Gate(after, session="s-2").run("pay", PAY, tool, call_id="toolu_1"))
        await asyncio.to_thread(gateway.arrived, "check", 3)
        gateway.decide("req_0002", "denied")  # the same id in another run is another call
        assert isinstance(await other, Refused)
    assert isinstance(again, Replayed)
    assert again.result == {"receipt": "R-1"}
    assert "ran once, and succeeded" in again.message
    assert '{"receipt": "R-1"}' in again.message
    assert len(tool.ran) == 1


async def test_control_flow_passes_is_not_run_and_the_call_can_be_asked_about_again(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    gate, tool = Gate(client, control_flow=(BubbleUpError,)), Tool(BubbleUpError("wait for the form"))
    with pytest.raises(BubbleUpError):
        await decided(gateway, gate.run("pay", PAY, tool, call_id="c-1"), "approved")
    assert gateway.only.state == "failed"
    assert gateway.only.outcomes[0]["error"] == "not run: BubbleUpError: wait for the form"
    tool.raises = None
    for _ in range(2):  # the framework replays the call, and once more
        running = asyncio.ensure_future(gate.run("pay", PAY, tool, call_id="c-1"))
        await asyncio.to_thread(gateway.arrived, "check", 3)
        if gateway.rows["req_0002"].state == "pending":
            gateway.decide("req_0002", "approved")
        found = await running
        assert isinstance(found, Ran | Replayed)
        assert found.result == {"receipt": "R-2"}
    assert len(gateway.rows) == 2


async def test_the_tools_own_exception_passes_and_its_replay_is_told_the_failure(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    gate, tool = Gate(client), Tool(LookupError("bank away"))
    with pytest.raises(LookupError):
        await decided(gateway, gate.run("pay", PAY, tool, call_id="c-1"), "approved")
    assert gateway.only.state == "failed"
    refused = await gate.run("pay", PAY, tool, call_id="c-1")
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.ALREADY_FAILED
    assert (
        'ran before, once, and failed. It did not run again. Reason given: "LookupError: bank away"' in refused.message
    )
    assert len(tool.ran) == 1


@pytest.mark.parametrize("arguments", [{"amount": float("nan")}, {"when": object()}, {"half": "\ud800"}])
async def test_no_refusal_is_an_exception(
    gateway: StubGateway, client: AsyncGateway, arguments: dict[str, Any]
) -> None:
    tool = Tool()
    bad = await Gate(client).run("pay", arguments, tool)
    gateway.rules["pay"] = "deny"
    denied = await Gate(client).run("pay", PAY, tool)
    gateway.stop()
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(ManualSeconds())) as away:
        lost = await Gate(away).run("pay", PAY, tool, deadline=3)
    codes = [each.code for each in (bad, denied, lost) if isinstance(each, Refused)]
    assert codes == [RefusalCode.BAD_ARGUMENTS, RefusalCode.DENIED_BY_RULE, RefusalCode.GATEWAY_AWAY]
    assert tool.ran == []


async def test_a_deadline_is_answered_and_the_same_call_finds_its_request_again(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    tool = Tool()
    refused = await Gate(client).run("pay", PAY, tool, call_id="c-1", deadline=2)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.STILL_PENDING
    assert "still waits for a person's decision. Request req_0001" in refused.message
    gateway.decide("req_0001", "approved")
    assert await Gate(client).run("pay", PAY, tool, call_id="c-1") == Ran(result={"receipt": "R-1"})
    assert len(gateway.rows) == 1


async def test_a_ticket_is_finished_by_any_process_once(gateway: StubGateway, client: AsyncGateway) -> None:
    tool = Tool()
    suspended = await Gate(client).open("pay", PAY, call_id="c-1", claim="the March invoice")
    assert isinstance(suspended, SuspendedCall)
    assert suspended.waits
    text = suspended.as_json()
    for other in ("", " ", "{", "[]", "7", '{"assent": 1}', text.replace('"key"', '"kee"')):
        with pytest.raises(ValueError, match=r"^that is no suspended call of Assent, as its as_json"):
            await Gate(client).finish(other, tool, deadline=0)
    early = await Gate(client).finish(text, tool, deadline=0)
    assert isinstance(early, Refused)
    assert early.code is RefusalCode.STILL_PENDING
    gateway.decide("req_0001", "approved")
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as elsewhere:
        found = await asyncio.gather(Gate(elsewhere).finish(text, tool), Gate(client).finish(text, tool))
    assert [type(each) for each in found].count(Ran) == 1
    assert all(each.code is RefusalCode.OUTCOME_UNKNOWN for each in found if isinstance(each, Refused))
    assert len(tool.ran) == 1
    late = await Gate(client).finish(text, tool)
    assert isinstance(late, Replayed)
    assert late.result == {"receipt": "R-1"}


async def test_a_ticket_that_waits_for_nobody_asks_the_rules_again(gateway: StubGateway, client: AsyncGateway) -> None:
    gateway.rules["pay"] = "allow"
    suspended = await Gate(client).open("pay", PAY)
    assert isinstance(suspended, SuspendedCall)
    assert not suspended.waits
    gateway.rules["pay"] = "deny"
    tool = Tool()
    assert isinstance(await Gate(client).finish(suspended, tool), Refused)
    assert tool.ran == []


async def test_a_ticket_that_was_tampered_with_spends_no_other_tools_approval(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    paying, refunding = [await Gate(client).open(tool, PAY, call_id=f"c-{tool}") for tool in ("pay", "refund")]
    assert isinstance(paying, SuspendedCall)
    assert isinstance(refunding, SuspendedCall)
    gateway.decide("req_0002", "approved")
    forged, tool = replace(paying, request_id=refunding.request_id), Tool()
    found = await Gate(client).finish(forged.as_json(), tool)
    assert isinstance(found, Refused)
    assert "it is a call of pay, and request req_0002 is about refund" in found.message
    assert tool.ran == []
    assert gateway.rows["req_0002"].state == "approved"  # whose it is can still take it


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"assent": 2}', '{"assent": 1, "key": 7, "call": {}}'])
def test_a_text_that_is_no_ticket_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"suspended|Expecting"):
        SuspendedCall.parse(text)


def test_the_synchronous_gate_does_the_same(gateway: StubGateway) -> None:
    gateway.one_call = True
    ran: list[str | None] = []

    def pay(payee: str, amount: int) -> str:
        ran.append(current_grant())
        if payee == "stop":
            raise BubbleUpError
        return f"paid {amount}"

    with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as client:
        gate = BlockingGate(client, control_flow=(BubbleUpError,))
        suspended = gate.open("pay", PAY, call_id="c-1")
        assert isinstance(suspended, SuspendedCall)
        gateway.decide("req_0001", "approved")
        assert gate.run("pay", PAY, pay, call_id="c-1") == Ran(result="paid 80000")
        found = gate.finish(suspended.as_json(), pay)
        assert isinstance(found, Replayed)
        assert isinstance(gate.open("pay", {**PAY, "payee": "stop"}, call_id="c-2"), SuspendedCall)
        gateway.decide("req_0002", "approved")
        with pytest.raises(BubbleUpError):
            gate.run("pay", {**PAY, "payee": "stop"}, pay, call_id="c-2")
    assert ran == ["gr_req_0001", "gr_req_0002"]
    assert gateway.rows["req_0002"].outcomes[0]["error"] == "not run: BubbleUpError: "


async def test_what_its_caller_changes_meanwhile_is_not_what_runs(gateway: StubGateway, client: AsyncGateway) -> None:
    tool, lines = Tool(), [{"amount": 1}]
    gateway.rules["pay"] = "allow"
    gateway.faults["check"].append("hang")
    running = asyncio.ensure_future(Gate(client).run("pay", {"lines": lines, "pair": (1, 2)}, tool, call_id="c-1"))
    await asyncio.to_thread(gateway.arrived, "check", 1)
    lines.append({"amount": 999_999})
    assert isinstance(await running, Ran)
    assert tool.ran == [({"lines": [{"amount": 1}], "pair": [1, 2]}, None)], "and as people would have approved it"


def test_that_there_was_no_answer_is_not_told_as_a_decision() -> None:
    told = Refused(code=RefusalCode.GATEWAY_AWAY).message
    assert told.startswith("Not run here: ")
    assert "Not approved" not in told
    assert "where an executor runs this tool, it may still run the call" in told
