"""The executor: what people approved runs once with the stored arguments, and nothing else runs at all."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from assent import AsyncGateway, OutcomeStatus, Ran, resume
from assent.executor.executor import (
    Carried,
    Executor,
    NotRun,
    ToolFailed,
    ToolSucceeded,
    ToolUnknown,
    UnknownOutcomeError,
)
from assent.gate.permission import current_grant
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.executor.executor_gateway import Spy, executing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CALL = {"payee": "Acme Ltd", "amount": "80000.00"}


@pytest.fixture
def config(config: Path) -> Path:
    """Put the tool of these stories behind an executor."""
    file = config / "acme.yaml"
    file.write_text(file.read_text().replace("  by_api: {}", "  by_api: {enforced: true}"))
    return config


@pytest.fixture
async def gateway(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    """The real gateway of the stories, not the SDK's stand-in."""
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


@pytest.fixture
def spy() -> Spy:
    return Spy()


async def approved(gateway: Gateway, tool: str = "by_api", arguments: Any = None, **more: Any) -> dict[str, Any]:
    request = await gateway.ask(tool, arguments or CALL, **more)
    assert (await gateway.decide(request)).json()["state"] == "approved"
    return request


def _key(gateway: Gateway) -> str:
    """Return how the trail names the executor."""
    [row] = gateway.rows("SELECT id FROM api_keys WHERE scope = 'executor'")
    return f"key:{row['id']}"


async def outcome_of(executor: Executor, request: dict[str, Any]) -> Any:
    return (await executor.carry_out(request["id"])).outcome


# --- what runs --------------------------------------------------------------------------------------------------------


@requirement("S-01", "S-02")
async def test_what_was_approved_runs_once_with_the_grant_as_its_idempotency_key(
    either_gateway: Gateway, spy: Spy
) -> None:
    gateway = either_gateway
    request = await approved(gateway)
    async with executing(gateway, spy) as (executor, _):
        assert await executor.once() == [Carried(request_id=request["id"], outcome=ToolSucceeded(result="paid"))]
        assert await executor.once() == []
        assert await outcome_of(executor, request) == NotRun(code="not_approved", why="the request is succeeded")
    after = await gateway.read(request)
    assert spy.calls == [(CALL, after["grant"]["id"])]
    assert (after["state"], after["execution"]["result"]) == ("succeeded", "paid")


async def test_an_edited_call_runs_as_it_was_edited(gateway: Gateway, spy: Spy) -> None:
    gateway.rewrite(
        "of: [finance]}], channels: [api], timeout: 30m",
        "of: [finance], allow_editor: true}], channels: [api], timeout: 30m",
    )
    await gateway.reload()
    request = await gateway.ask("by_api", CALL)
    edited = {**CALL, "amount": "100.00"}
    said = await gateway.decide(request, arguments=edited)
    assert said.json()["state"] == "approved", said.text
    async with executing(gateway, spy) as (executor, _):
        await executor.once()
    assert [arguments for arguments, _ in spy.calls] == [edited]


@pytest.mark.parametrize("plain", [False, True])
async def test_plain_and_asynchronous_functions_are_told_the_key_either_way(
    gateway: Gateway, spy: Spy, *, plain: bool
) -> None:
    request = await approved(gateway)
    spy.does = current_grant
    async with executing(gateway, spy, run=spy.run_plainly if plain else spy.run) as (executor, _):
        assert await outcome_of(executor, request) == ToolSucceeded(result=spy.calls[0][1])


async def test_work_waits_for_people_without_asking_again_and_again(gateway: Gateway, spy: Spy) -> None:
    request = await gateway.ask("by_api", CALL)
    ran = asyncio.Event()
    spy.does = ran.set
    async with executing(gateway, spy) as (executor, line):
        working = asyncio.ensure_future(executor.work())
        while not gateway.container.waiters.waited_for():  # noqa: ASYNC110 - a waiter has no event for its coming
            await asyncio.sleep(0)
        await gateway.decide(request)
        await asyncio.wait_for(ran.wait(), HANGS)
        executor.stop()
        await asyncio.wait_for(working, HANGS)
    assert len(spy.calls) == 1
    assert (await gateway.read(request))["state"] == "succeeded"
    # It waits and takes in one call, however often it comes back to it; and looks for others meanwhile.
    assert [verb for verb in line.called if verb not in {"requests", request["id"]}] == ["outcome"]


async def test_what_is_approved_gets_the_slot_of_one_that_only_waits(gateway: Gateway, spy: Spy) -> None:
    waiting = await gateway.ask("by_api", CALL)
    ran = asyncio.Semaphore(0)
    spy.does = ran.release
    async with executing(gateway, spy, at_once=1) as (executor, _):
        working = asyncio.ensure_future(executor.work())
        while not gateway.container.waiters.waited_for():  # noqa: ASYNC110 - a waiter has no event for its coming
            await asyncio.sleep(0)
        await approved(gateway, arguments={**CALL, "amount": "1.00"})
        await asyncio.wait_for(ran.acquire(), HANGS)  # although the only slot was held for the other
        await gateway.decide(waiting)
        await asyncio.wait_for(ran.acquire(), HANGS)
        executor.stop()
        await asyncio.wait_for(working, HANGS)
    assert [arguments["amount"] for arguments, _ in spy.calls] == ["1.00", "80000.00"]
    assert (await gateway.read(waiting))["state"] == "succeeded"


async def test_an_approval_that_was_taken_while_the_executor_stopped_is_said_not_to_have_run(
    gateway: Gateway, spy: Spy
) -> None:
    request = await gateway.ask("by_api", CALL)
    async with executing(gateway, spy) as (executor, line):
        working = asyncio.ensure_future(executor.work())
        while not gateway.container.waiters.waited_for():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        line.after[request["id"]] = executor.stop  # the answer to the claim is on its way
        await gateway.decide(request)
        await asyncio.wait_for(working, HANGS)
    found = await gateway.read(request)
    assert (found["state"], spy.calls) == ("failed", [])
    assert found["execution"]["error"] == "not run: the executor was stopped"


async def test_stopping_finishes_what_runs_and_begins_nothing_more(gateway: Gateway, spy: Spy) -> None:
    first, second = await approved(gateway), await approved(gateway, arguments={**CALL, "amount": "2.00"})
    begun, go_on = threading.Event(), threading.Event()

    def pay() -> str:
        begun.set()
        assert go_on.wait(HANGS)
        return "paid"

    spy.does = pay
    async with executing(gateway, spy, run=spy.run_plainly) as (executor, _):
        one = Executor(executor._gateway, name="payments", at_once=1, look_every=0.01)
        one.tool("by_api", run=spy.run_plainly)
        working = asyncio.ensure_future(one.work())
        await asyncio.to_thread(begun.wait, HANGS)
        one.stop()
        go_on.set()
        await asyncio.wait_for(working, HANGS)
    states = [(await gateway.read(each))["state"] for each in (first, second)]
    assert sorted(states) == ["approved", "succeeded"]


# --- what does not run ------------------------------------------------------------------------------------------------


@requirement("S-01")
@pytest.mark.parametrize(
    "state", ["pending", "denied", "expired", "cancelled", "lapsed", "foreign", "random", "no tool"]
)
@pytest.mark.sampled(3)
async def test_nothing_runs_without_an_approval_of_this_very_request(gateway: Gateway, spy: Spy, state: str) -> None:
    tool = "pay_two" if state == "no tool" else "by_api"
    request = await gateway.ask(tool, CALL, org="globex" if state == "foreign" else "acme")
    match state:
        case "denied":
            await gateway.decide(request, "deny")
        case "expired":
            await gateway.advance(timedelta(minutes=31))
        case "cancelled":
            await gateway.call("POST", f"/v1/requests/{request['id']}/cancel", {})
        case "lapsed":
            await gateway.decide(request)
            await gateway.advance(timedelta(minutes=6))
        case "foreign":
            await gateway.decide(request, who="gina@globex.example")
        case "random":
            request["id"] = "req_" + "f" * 20
        case _:
            pass
    async with executing(gateway, spy) as (executor, line):
        assert await executor.once() == []
        assert isinstance(await outcome_of(executor, request), NotRun)
    assert spy.calls == []
    assert "claim" not in line.called


@requirement("S-01")
async def test_a_grant_that_lapses_before_the_claim_runs_nothing_and_is_said(
    gateway: Gateway, spy: Spy, caplog: pytest.LogCaptureFixture
) -> None:
    request = await approved(gateway)
    async with executing(gateway, spy) as (executor, line):
        assert isinstance(gateway.clock, ManualClock)
        line.before["claim"] = partial(gateway.clock.advance, timedelta(minutes=6))
        with caplog.at_level(logging.WARNING, "assent"):
            [carried] = await executor.once()
    assert isinstance(carried.outcome, NotRun)
    assert (carried.outcome.code, spy.calls) == ("grant_lapsed", [])
    assert f"request {request['id']}: not run (grant_lapsed)" in caplog.text


@requirement("S-01")
async def test_an_approval_that_was_taken_back_runs_nothing(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    gateway.rewrite("finance: [alice@acme.example, ", "finance: [")
    await gateway.reload()
    async with executing(gateway, spy) as (executor, _):
        outcome = await outcome_of(executor, request)
        assert await executor.once() == []
    assert isinstance(outcome, NotRun)
    assert outcome.code == "not_approved"
    assert "no longer stands" in outcome.why
    assert spy.calls == []


@requirement("S-08", "S-16")
@pytest.mark.parametrize("code", ["paused", "read_only", "something_new"])
async def test_a_claim_that_is_refused_runs_nothing_and_is_tried_again_while_the_approval_stands(
    gateway: Gateway, spy: Spy, code: str
) -> None:
    await approved(gateway)
    async with executing(gateway, spy) as (executor, line):
        whole = line.handle_async_request

        async def paused(asked: httpx2.Request) -> httpx2.Response:
            if asked.url.path.endswith("/claim"):
                return httpx2.Response(409, json={"code": code, "detail": "payments are paused"})
            return await whole(asked)

        line.handle_async_request = paused  # type: ignore[method-assign]
        [carried] = await executor.once()
        assert carried.outcome == NotRun(code=code, why="payments are paused")
        assert spy.calls == []
        line.handle_async_request = whole  # type: ignore[method-assign]
        [carried] = await executor.once()
    assert carried.outcome == ToolSucceeded(result="paid")
    assert len(spy.calls) == 1


@requirement("S-16")
async def test_what_people_have_paused_does_not_run_until_they_lift_it(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)

    async def pause(*, on: bool) -> None:
        body = {"on": on, "tool": "by_api", "reason": "something is wrong"}
        said = await gateway.call("PUT", "/v1/switches/pause", body, who="admin")
        assert said.status_code == 200, said.text

    await pause(on=True)
    async with executing(gateway, spy) as (executor, _):
        outcome = await outcome_of(executor, request)
        assert isinstance(outcome, NotRun)
        assert (outcome.code, spy.calls) == ("paused", [])
        await pause(on=False)
        assert await outcome_of(executor, request) == ToolSucceeded(result="paid")
    assert len(spy.calls) == 1


@requirement("S-08")
async def test_no_answer_of_the_gateway_means_that_nothing_runs(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)

    def away() -> None:
        raise httpx2.ConnectError("away")

    async with executing(gateway, spy) as (executor, line):
        line.before["claim"] = away
        outcome = await outcome_of(executor, request)
    assert isinstance(outcome, NotRun)
    assert (outcome.code, spy.calls) == ("gateway_away", [])
    assert (await gateway.read(request))["state"] == "approved"


@requirement("S-02")
async def test_a_gateway_that_gives_out_another_call_is_not_followed(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    async with executing(gateway, spy) as (executor, line):
        whole = line.handle_async_request

        async def swapped(asked: httpx2.Request) -> httpx2.Response:
            answer = await whole(asked)
            if asked.url.path.endswith("/claim"):
                body = await answer.aread()
                return httpx2.Response(
                    200, content=body.replace(b'"by_api"', b'"wire"'), headers={"Date": answer.headers["Date"]}
                )
            return answer

        line.handle_async_request = swapped  # type: ignore[method-assign]
        outcome = await outcome_of(executor, request)
    assert isinstance(outcome, ToolFailed)
    assert spy.calls == []


# --- once -------------------------------------------------------------------------------------------------------------


@requirement("S-03")
async def test_of_two_processes_of_one_name_one_runs_it(either_gateway: Gateway, spy: Spy) -> None:
    gateway = either_gateway
    request = await approved(gateway)
    async with executing(gateway, spy) as (one, _), executing(gateway, spy) as (two, _):
        outcomes = await asyncio.gather(*(outcome_of(each, request) for each in (one, two, one, two)))
    assert len(spy.calls) == 1
    assert sum(isinstance(outcome, ToolSucceeded) for outcome in outcomes) == 1


@requirement("S-03")
async def test_a_claim_whose_answer_was_lost_is_taken_up_by_this_very_process_and_runs_once(
    gateway: Gateway, spy: Spy
) -> None:
    request = await approved(gateway)

    def lost() -> None:
        raise httpx2.ReadError("cut")

    async with executing(gateway, spy) as (executor, line), executing(gateway, spy) as (other, _):
        line.after["claim"] = lost
        assert isinstance(await outcome_of(executor, request), NotRun)
        assert (await gateway.read(request))["state"] == "executing"
        assert (await other.once(), spy.calls) == ([], [])  # the other cannot know whether it runs
        del line.after["claim"]
        assert [carried.outcome for carried in await executor.once()] == [ToolSucceeded(result="paid")]
    assert len(spy.calls) == 1


@requirement("F-08")
async def test_a_process_that_wakes_up_behind_its_lease_does_not_run_it(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    async with executing(gateway, spy) as (executor, _):
        clock = executor._gateway.pace.monotonic
        slept = [0.0]
        object.__setattr__(executor._gateway.pace, "monotonic", lambda: clock() + slept[0])
        whole = executor._gateway.claim

        async def frozen(*given: Any, **more: Any) -> Any:
            claimed = await whole(*given, **more)
            slept[0] = 599.0  # of a lease of ten minutes
            assert isinstance(gateway.clock, ManualClock)
            gateway.clock.advance(timedelta(seconds=599))
            return claimed

        executor._gateway.claim = frozen  # type: ignore[method-assign]
        outcome = await outcome_of(executor, request)
    assert outcome == ToolFailed(error="did not run: the time in which it had to run was over")
    assert spy.calls == []
    assert (await gateway.read(request))["state"] == "failed"


async def test_a_gateway_that_never_told_its_time_runs_nothing(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    async with executing(gateway, spy) as (executor, line):
        line.dated = False
        assert isinstance(await outcome_of(executor, request), ToolFailed)
    assert spy.calls == []


# --- how it ends ------------------------------------------------------------------------------------------------------


def _raise(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ValueError("no such account"), "failed"),
        (ConnectionRefusedError("nobody listens"), "failed"),
        (httpx2.ConnectError("nobody listens"), "failed"),
        (TimeoutError("no answer"), "unknown"),
        (ConnectionResetError("cut"), "unknown"),
        (httpx2.ReadTimeout("no answer"), "unknown"),
        (httpx2.RemoteProtocolError("cut"), "unknown"),
        (UnknownOutcomeError("half of it"), "unknown"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_an_error_is_a_failure_unless_it_may_have_come_after_the_deed(
    gateway: Gateway, spy: Spy, error: Exception, state: str
) -> None:
    request = await approved(gateway)
    spy.does = lambda: _raise(error)
    async with executing(gateway, spy, lookup=None) as (executor, _):
        await executor.once()
        await executor.once()
    after = await gateway.read(request)
    assert (after["state"], after["execution"]["error"]) == (state, f"{type(error).__name__}: {error}")
    assert len(spy.calls) == 1


async def test_an_error_behind_the_deed_is_no_failure_where_the_tool_can_be_asked(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)

    def pay() -> None:
        spy.known[spy.calls[0][1]] = ToolSucceeded(result="paid")
        raise KeyError("receipt")

    spy.does = pay
    async with executing(gateway, spy) as (executor, _):
        assert await outcome_of(executor, request) == ToolSucceeded(result="paid")


@requirement("F-09")
async def test_a_tool_that_hangs_is_unknown_until_it_is_found(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    go_on = threading.Event()
    spy.does = lambda: go_on.wait(HANGS)
    # Long enough to be called within it on a slow day, too: what was never begun is never found.
    async with executing(gateway, spy, run=spy.run_plainly, timeout=1.0) as (executor, _):
        assert await outcome_of(executor, request) == ToolUnknown(why="the tool has no record of it")
        assert (await gateway.read(request))["execution"]["error"] == "no answer within 1 s"
        go_on.set()
        spy.known[spy.calls[0][1]] = ToolSucceeded(result="R-1")
        assert [carried.outcome for carried in await executor.once()] == [ToolSucceeded(result="R-1")]
    after = await gateway.read(request)
    assert (after["state"], after["execution"]["result"], len(spy.calls)) == ("succeeded", "R-1", 1)
    [settled] = [row for row in gateway.rows("SELECT * FROM audit_events") if row["kind"] == "execution.reconciled"]
    assert (settled["actor"], after["grant"]["id"] in settled["facts"]) == (_key(gateway), True)


@requirement("F-08")
@pytest.mark.parametrize("found", [None, "paid", ToolUnknown(why="?"), RuntimeError])
async def test_only_a_clear_answer_settles_an_unknown(gateway: Gateway, spy: Spy, found: Any) -> None:
    request = await approved(gateway)
    spy.does = lambda: _raise(TimeoutError())
    lookup = (lambda _: _raise(RuntimeError("away"))) if found is RuntimeError else (lambda _: found)
    async with executing(gateway, spy, lookup=lookup) as (executor, _):
        for _ in range(3):
            [carried] = await executor.once()
            assert isinstance(carried.outcome, ToolUnknown)
    assert (await gateway.read(request))["state"] == "unknown"
    assert len(spy.calls) == 1


@requirement("F-08", "F-09")
@pytest.mark.parametrize("known", [ToolSucceeded(result="R-7"), ToolFailed(error="declined"), None])
async def test_a_successor_finds_what_its_predecessor_left_and_never_runs_it(
    either_gateway: Gateway, spy: Spy, known: Any
) -> None:
    gateway = either_gateway
    request = await approved(gateway)
    async with executing(gateway, spy) as (dead, _):
        found = await dead._gateway.get(request["id"])
        claimed = await dead._gateway.claim(found, claim_id=dead._claim_id(request["id"]))
        await dead._gateway.report(request["id"], claimed.claim_id, OutcomeStatus.UNKNOWN)  # as its lease would
    spy.known[claimed.grant_id] = known
    async with executing(gateway, spy) as (executor, _):
        [carried] = await executor.once()
    after = await gateway.read(request)
    expected = {ToolSucceeded: "succeeded", ToolFailed: "failed"}.get(type(known), "unknown")
    assert (after["state"], after["execution"]["error"]) == (expected, "declined" if expected == "failed" else None)
    assert carried.outcome == known or (known is None and isinstance(carried.outcome, ToolUnknown))
    assert spy.calls == []


async def test_what_somebody_else_claimed_is_left_alone(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    await gateway.claim(request, who="executor")
    body = {"claim_id": "claim-1", "status": "unknown"}
    await gateway.call("POST", f"/v1/requests/{request['id']}/outcome", body, who="executor")
    async with executing(gateway, spy) as (executor, _):
        assert await executor.once() == []
        outcome = await outcome_of(executor, request)
    assert isinstance(outcome, NotRun)
    assert outcome.code == "not_mine"


async def test_an_agent_that_resumes_waits_for_the_executor_and_claims_nothing(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def pay(*, idempotency_key: str, **_: Any) -> str:
        begun.set()
        await go_on.wait()
        return "paid"

    async with executing(gateway, spy, run=pay) as (executor, _), executing(gateway, spy, who="agent:shop") as (own, _):
        running = asyncio.ensure_future(executor.carry_out(request["id"]))
        await asyncio.wait_for(begun.wait(), HANGS)
        resuming = asyncio.ensure_future(resume(own._gateway, {"by_api": spy.run}))
        while not gateway.container.waiters.waited_for():  # noqa: ASYNC110 - a waiter has no event for its coming
            await asyncio.sleep(0)
        go_on.set()
        assert (await running).outcome == ToolSucceeded(result="paid")
        assert [past.outcome for past in await asyncio.wait_for(resuming, HANGS)] == [Ran(result="paid")]
    assert spy.calls == []
    assert ("execution.succeeded", _key(gateway)) in gateway.trail(request)


@requirement("F-08")
async def test_a_tool_that_is_cancelled_in_its_middle_is_unknown(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    begun = asyncio.Event()

    async def pay(*, idempotency_key: str, **_: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with executing(gateway, spy, run=pay) as (executor, _):
        working = asyncio.ensure_future(executor.work())
        await asyncio.wait_for(begun.wait(), HANGS)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
    assert (await gateway.read(request))["state"] == "unknown"


async def test_an_outcome_is_reported_once_the_gateway_is_back(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    away = [20]  # more than the client is patient with in one report

    def fall() -> None:
        away[0] -= 1
        if away[0] >= 0:
            raise httpx2.ConnectError("away")

    async with executing(gateway, spy) as (executor, line):
        line.before["outcome"] = fall
        assert await outcome_of(executor, request) == ToolSucceeded(result="paid")
    assert (await gateway.read(request))["state"] == "succeeded"
    assert len(spy.calls) == 1


@pytest.mark.parametrize("result", ["x" * 100_000, object(), float("nan"), [[]] * 5])
async def test_a_result_is_kept_when_it_is_json_of_a_bearable_size(gateway: Gateway, spy: Spy, result: Any) -> None:
    request = await approved(gateway)
    spy.does = lambda: result
    async with executing(gateway, spy) as (executor, _):
        await executor.once()
    kept = (await gateway.read(request))["execution"]["result"]
    assert kept == result if isinstance(result, list) else kept["kept"] is False
    assert (await gateway.read(request))["state"] == "succeeded"


async def test_an_error_is_told_without_secrets_and_bounded(gateway: Gateway, spy: Spy) -> None:
    gateway.rewrite("by_api: {enforced: true}", "by_api: {enforced: true, sensitive: [account]}")
    await gateway.reload()
    request = await approved(gateway, arguments={**CALL, "account": "DE02-SECRET"})
    spy.does = lambda: _raise(ValueError("password=hunter2hunter2 account DE02-SECRET " + "x" * 5000))
    async with executing(gateway, spy, lookup=None) as (executor, _):
        await executor.once()
    told = (await gateway.read(request))["execution"]["error"]
    assert "hunter2" not in told
    assert "DE02-SECRET" not in told
    assert len(told) <= 600


@pytest.mark.parametrize(
    "arguments", [{**CALL, "idempotency_key": "mine"}, {"payee": "x"}, {"payee": "x", "amount": "1", "more": 1}]
)
async def test_arguments_that_do_not_fit_or_name_a_key_run_nothing(
    gateway: Gateway, spy: Spy, arguments: dict[str, Any]
) -> None:
    request = await approved(gateway, arguments=arguments)

    async def pay(payee: str, amount: str, *, idempotency_key: str) -> None:
        spy.calls.append(({}, idempotency_key))

    async with executing(gateway, spy, run=pay) as (executor, _):
        outcome = await outcome_of(executor, request)
    assert isinstance(outcome, ToolFailed)
    assert outcome.error.startswith("did not run")
    assert spy.calls == []


def test_a_tool_that_cannot_hand_its_key_on_is_refused_at_once(spy: Spy) -> None:
    executor = Executor(AsyncGateway("http://gateway.test", "ak_1"))
    with pytest.raises(TypeError, match="idempotency_key"):
        executor.tool("pay", run=lambda amount: amount)
    with pytest.raises(ValueError, match="timeout"):
        executor.tool("pay", run=spy.run, timeout=0)
    executor.tool("pay", run=spy.run)
    with pytest.raises(ValueError, match="already"):
        executor.tool("pay", run=spy.run)
    with pytest.raises(ValueError, match="name"):
        Executor(AsyncGateway("http://gateway.test", "ak_1"), name="a.b")
