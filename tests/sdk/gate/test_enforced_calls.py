"""The agent's side of a tool that only an executor runs: nothing runs here, and the outcome is waited for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from assent import AsyncGateway, Gate, NotApprovedError, Refused, ToolElsewhere, guarded
from assent.client.messages import RefusalCode
from assent.executor.executor import ToolFailed, ToolSucceeded, ToolUnknown
from assent.hooks import Hooks
from assent.hooks.ready.approval_gate import RUN_BY_EXECUTOR, ApprovalGate
from tests.fixtures.enforced import enforce
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.executor.executor_gateway import Spy, executing
from tests.sdk.gateway_stub import KEY
from tests.sdk.hook_process import event, finish
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.sdk.gateway_stub import StubGateway
    from tests.sdk.hook_process import HookLine

ENDS = {
    "succeeded": {"result": {"receipt": "R-1"}, "error": None},
    "failed": {"result": None, "error": "declined"},
    "unknown": {"result": None, "error": None},
    "pending_elsewhere": {"result": None, "error": None, "elsewhere": {"id": "apr_1", "link": None}},
}


@pytest.fixture
async def real(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(sqlite_url, config, platform) as running:
        yield await enforce(running)


async def _asks_while_the_executor_works(
    real: Gateway, does: Any, *, lookup: Any = None, patience: float = 0.3
) -> tuple[Any, Spy]:
    """Let an agent call the guarded tool that a rule allows, while an executor serves; return what it got."""
    spy, own = Spy(does=does), Spy()
    async with (
        executing(real, spy, tool="ping", who="executor", lookup=lookup or spy.lookup) as (executor, _),
        executing(real, own, tool="ping", who="agent:shop") as (agent, _),
    ):
        agent._gateway.pace = replace(agent._gateway.pace, lookup=patience)
        working = asyncio.ensure_future(executor.work())

        @guarded(agent._gateway, tool="ping")
        async def ping(host: str) -> str:
            own.calls.append(({}, host))
            return "ran here"

        try:
            return await asyncio.wait_for(ping("a"), HANGS), own
        except NotApprovedError as error:
            return error, own
        finally:
            executor.stop()
            await asyncio.wait_for(working, HANGS)


@requirement("S-01")
async def test_a_guarded_function_returns_what_the_executor_got_and_never_runs_itself(real: Gateway) -> None:
    found, own = await _asks_while_the_executor_works(real, lambda: {"pong": True})
    assert (found, own.calls) == ({"pong": True}, [])


@requirement("S-01", "F-08")
@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        (ToolFailed(error="no route"), RefusalCode.EXECUTOR_FAILED, "no route"),
        (ToolUnknown(why="cut"), RefusalCode.OUTCOME_UNKNOWN, "it may have run"),
        (ToolElsewhere("apr_1"), RefusalCode.PENDING_ELSEWHERE, "no refusal: it may still be done. Request req_"),
    ],
)
async def test_a_failure_or_a_doubt_of_the_executor_is_told_as_what_it_is(
    real: Gateway, outcome: Any, code: RefusalCode, words: str
) -> None:
    found, own = await _asks_while_the_executor_works(real, lambda: outcome)
    assert isinstance(found, NotApprovedError)
    assert (found.code, own.calls) == (code, [])
    assert words in str(found)
    assert "Not approved" not in str(found)
    assert "did not run now" not in str(found)
    if code is RefusalCode.OUTCOME_UNKNOWN:
        assert "It shows what came of the call, as soon as that is known. Do not repeat it" in str(found)


@requirement("S-01", "F-08")
async def test_what_a_lookup_finds_out_a_moment_later_is_what_the_agent_hears(real: Gateway) -> None:
    answers = iter([None, None])
    found, own = await _asks_while_the_executor_works(
        real,
        lambda: ToolUnknown(why="the executor was gone"),
        lookup=lambda _: next(answers, ToolSucceeded(result={"receipt": "R-1"})),
        patience=8.0,
    )
    assert (found, own.calls) == ({"receipt": "R-1"}, [])


@requirement("S-01")
async def test_the_approval_gate_denies_with_the_executors_result(real: Gateway) -> None:
    spy = Spy(does=lambda: {"pong": True})
    async with (
        executing(real, spy, tool="ping") as (executor, _),
        executing(real, Spy(), tool="ping", who="agent:shop") as (agent, _),
    ):
        hooks = Hooks(known_tools=["ping"])
        hooks.add(ApprovalGate(approvals=agent._gateway), tools="ping")
        working = asyncio.ensure_future(executor.work())

        async def ping(host: str) -> str:
            raise AssertionError("it ran here")

        async with hooks.session(session="s-1") as session:
            ran = await asyncio.wait_for(session.call_tool("ping", {"host": "a"}, ping), HANGS)
        executor.stop()
        await asyncio.wait_for(working, HANGS)
    assert not ran.ran
    assert "the executor of this tool ran the call, once" in str(ran.content)
    assert '{"pong": true}' in str(ran.content)
    assert len(spy.calls) == 1
    assert RUN_BY_EXECUTOR == "run_by_executor"


@pytest.mark.process
@requirement("S-01")
@pytest.mark.parametrize("state", [*ENDS])
def test_the_hook_command_never_lets_the_runtime_run_it_and_tells_the_outcome(
    gateway: StubGateway, hook: HookLine, state: str
) -> None:
    gateway.enforced = True
    process = hook.begin(event(), *(["--deadline", "3"] if state == "unknown" else []))
    gateway.arrived("get")
    gateway.decide("req_0001", "approved")
    gateway.arrived("get", 2)
    at = gateway.only.created_at.isoformat()
    lease = gateway.only.expires_at.isoformat()
    shown = {"id": "exe_1", "status": state, "claim_id": "exec.x", "started_at": at, "lease_until": lease}
    gateway.only.execution = {**shown, **ENDS[state]}
    gateway.decide("req_0001", state)
    said = finish(process)
    assert (said.decision, gateway.count("claim")) == ("deny", 0)
    assert ("executor of " in said.reason) == (state in {"succeeded", "failed"})
    told = {
        "succeeded": '{"receipt": "R-1"}',
        "failed": "declined",
        "unknown": "not known whether it ran",
        "pending_elsewhere": "asks its own people now. That is no refusal",
    }
    assert told[state] in said.reason
    assert "repeat the very same call" not in said.reason
    assert "did not run now" not in said.reason


@pytest.mark.process
@requirement("S-01")
def test_the_hook_command_hears_what_a_lookup_finds_out_a_moment_later(gateway: StubGateway, hook: HookLine) -> None:
    gateway.enforced = True
    process = hook.begin(event())
    gateway.arrived("get")
    at, lease = gateway.only.created_at.isoformat(), gateway.only.expires_at.isoformat()
    shown = {"id": "exe_1", "claim_id": "exec.x", "started_at": at, "lease_until": lease}
    gateway.only.execution = {**shown, "status": "unknown", **ENDS["unknown"]}
    gateway.decide("req_0001", "unknown")
    gateway.arrived("get", 2)
    gateway.only.execution = {**shown, "status": "succeeded", **ENDS["succeeded"]}
    gateway.decide("req_0001", "succeeded")
    said = finish(process)
    assert said.decision == "deny"
    assert "the executor of this tool ran the call, once" in said.reason
    assert '{"receipt": "R-1"}' in said.reason


async def test_a_gateway_that_goes_away_says_nothing_of_what_an_executor_may_have(gateway: StubGateway) -> None:
    gateway.enforced = gateway.one_call = True
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace(patience=0.1)) as client:
        gate = Gate(client)
        first = await gate.run("pay", {"amount": 1}, never, deadline=2)
        gateway.faults["check"].extend(["lost"] * 99)  # it arrives, and its answer does not
        found = await gate.run("pay", {"amount": 2}, never)
    for each in (first, found):
        assert isinstance(each, Refused)
        assert each.code is RefusalCode.LEFT_TO_EXECUTOR
    assert len(gateway.rows) == 2
    assert "Not approved" not in str(found)


def never(**_: object) -> None:
    raise AssertionError("it ran here")
