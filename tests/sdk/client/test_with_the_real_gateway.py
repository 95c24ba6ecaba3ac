"""The agent's side against the gateway itself: what the stand-in promises must be what the gateway does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from assent import (
    Allowed,
    AsyncGateway,
    Denied,
    Lost,
    NotApprovedError,
    Pending,
    Ran,
    RefusalCode,
    ToolCall,
    guarded,
    resume,
)
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.command.claude_program import ClaudeCode, find_program, printed_settings
from tests.sdk.command.claude_program import finish as finish_claude
from tests.sdk.command.fake_llm import Call, FakeLlm
from tests.sdk.hook_process import HookLine, event, finish
from tests.sdk.pace import quick_pace
from tests.sdk.real_gateway import RealGateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    with RealGateway(folder=tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture
async def client(real: RealGateway, request: pytest.FixtureRequest) -> AsyncIterator[AsyncGateway]:
    """A client whose session is this test's own."""
    async with AsyncGateway(real.url, real.key, session=request.node.name, pace=quick_pace(patience=20)) as opened:
        yield opened


def test_the_hook_waits_claims_allows_and_reports(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    process = hook.begin(event(session="hook-1"))
    request = real.pending(session="hook-1")
    real.decide(request, "approve")
    assert finish(process).decision == "allow"
    assert hook.run(event(moment="PostToolUse", session="hook-1")).code == 0
    assert {each["id"]: each["state"] for each in real.requests()}[request["id"]] == "succeeded"


def test_a_waiting_hook_comes_back_to_its_request_through_a_killed_gateway(real: RealGateway, tmp_path: Path) -> None:
    process = HookLine(url=real.url, key=real.key, folder=tmp_path).begin(event(session="hook-2"))
    request = real.pending(session="hook-2")
    real.kill()
    real.start()
    real.decide(request, "deny", reason="not today")
    assert 'Reason given: "not today"' in finish(process).reason


async def test_what_stands_under_a_key_is_found_and_asking_opens_nothing(client: AsyncGateway) -> None:
    assert await client.find("order-1") is None
    asked = await client.check(ToolCall("pay", {"payee": "ACME", "amount": 7}), idempotency_key="order-1")
    assert isinstance(asked, Pending)
    found = await client.find("order-1")
    assert found is not None
    assert found.id == asked.request.id
    assert (await client.cancel(found, reason="over")).state == "cancelled"


@requirement("F-07")
def test_a_call_asked_again_joins_its_request(real: RealGateway, tmp_path: Path) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    call = event(session="hook-3", call_id="toolu_1")
    said = (hook.run(call, "--deadline", seconds, within=HANGS) for seconds in ("6", "60"))
    assert any("still waits" in each.reason for each in said)  # the second, where six seconds are too few to answer in
    real.decide(real.pending(session="hook-3"), "approve")
    assert hook.run(event(session="hook-3", call_id="toolu_2")).decision == "allow"
    assert len([each for each in real.requests() if each["session"] == "hook-3"]) == 1


async def test_a_check_answers_with_one_of_three(client: AsyncGateway) -> None:
    assert isinstance(await client.check(ToolCall("read", {})), Allowed)
    assert isinstance(await client.check(ToolCall("drop", {})), Denied)


async def test_a_guarded_function_runs_exactly_when_approved(real: RealGateway, client: AsyncGateway) -> None:
    @guarded(client, tool="pay")
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    running = asyncio.ensure_future(pay(1))
    real.decide(await asyncio.to_thread(real.pending, session=client.session), "approve")
    assert await running == "paid 1"
    running = asyncio.ensure_future(pay(2))
    real.decide(await asyncio.to_thread(real.pending, session=client.session), "deny", reason="too dear")
    with pytest.raises(NotApprovedError) as caught:
        await running
    assert (caught.value.code, caught.value.reason) == (RefusalCode.DENIED, "too dear")


@requirement("F-07", "F-08")
async def test_a_restarted_agent_carries_on_and_runs_nothing_twice(real: RealGateway, client: AsyncGateway) -> None:
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    for amount in (3, 4):
        verdict = await client.check(ToolCall("pay", {"amount": amount}))
        assert isinstance(verdict, Pending)
        real.decide(await asyncio.to_thread(real.pending, session=client.session), "approve")
        if amount == 3:
            await client.claim(await client.wait(verdict.request))
    async with AsyncGateway(real.url, real.key, session=client.session, pace=quick_pace()) as after:
        after.claims_made.clear()  # it starts again in another process, which knows of no claim
        lost, ran = [past.outcome for past in await resume(after, {"pay": pay})]
    assert lost == Lost()
    assert ran == Ran(result="paid 4")


@pytest.mark.claude
@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_claude_code_leaves_its_mark_exactly_when_approved(real: RealGateway, tmp_path: Path, verdict: str) -> None:
    hook = HookLine(url=real.url, key=real.key, folder=tmp_path)
    touch = Call(tool="Bash", arguments={"command": f"touch {tmp_path / 'marker'}"})
    with FakeLlm([touch, "done"]) as llm:
        claude = ClaudeCode(program=find_program(), llm=llm, folder=tmp_path)
        running = claude.start(printed_settings(hook))
        request = real.pending()
        real.decide(request, verdict, reason="decided by the test")
        finish_claude(running)
    assert claude.marker.exists() is (verdict == "approve")
    state = {each["id"]: each["state"] for each in real.requests()}[request["id"]]
    assert state == ("succeeded" if verdict == "approve" else "denied")
