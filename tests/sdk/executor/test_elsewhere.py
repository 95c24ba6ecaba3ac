"""A service that asks its own people: its refusals are read, its id is kept, and the call is never sent again."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from aiohttp import web

from assent import Elsewhere, ToolElsewhere
from assent.executor import http_tool, tools
from assent.executor.elsewhere import waits_in
from assent.executor.executor import Executor, NotRun, ToolFailed, ToolSucceeded, ToolUnknown
from assent.executor.http_tool import HttpTool
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.requirements import requirement
from tests.sdk.executor.asking_bank import STRIPE, AskingBank, read_payment, served
from tests.sdk.executor.executor_gateway import Spy, executing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CALL = {"payee": "Acme Ltd", "amount": "80000.00"}
APR = ToolElsewhere("apr_1Q2w", "https://bank.example/approvals/apr_1Q2w")


def said(outcome: Any) -> Any:
    """Return an outcome so that two of them can be compared: an exception is only like itself."""
    return outcome.place if isinstance(outcome, ToolElsewhere) else outcome


@pytest.fixture
async def bank() -> AsyncIterator[AskingBank]:
    async with served(AskingBank()) as running:
        yield running


# --- what its answers mean --------------------------------------------------------------------------------------------

LINK = "https://bank.example/a/7"
WAITS: list[tuple[int, Any, Elsewhere]] = [
    (402, STRIPE, Elsewhere(id="apr_1Q2w")),
    (403, STRIPE, Elsewhere(id="apr_1Q2w")),
    (403, {"approval": {"id": "a-7", "url": LINK}}, Elsewhere(id="a-7", link=LINK)),
    (403, {"errors": [{"extensions": {"approvalRequestId": 7, "link": LINK}}]}, Elsewhere(id="7", link=LINK)),
    (403, {"detail": {"pending_approval": {"id": "a-7"}}}, Elsewhere(id="a-7")),
    (403, {"approval_id": "abc", "approval_url": "javascript:alert(1)"}, Elsewhere(id="abc")),
    (202, {"id": "pay_1", "status": "pending_approval", "link": LINK}, Elsewhere(id="pay_1", link=LINK)),
    (202, {"id": 12, "approval_required": True}, Elsewhere(id="12")),
    (202, {"data": {"state": "AWAITING_MAKER_CHECKER", "id": "m/1"}}, Elsewhere(id="m/1")),
    (202, {"status": "待审批", "id": "审-1"}, Elsewhere(id="审-1")),
]


@requirement("S-72")
@pytest.mark.parametrize(("status", "body", "place"), WAITS)
async def test_an_answer_with_the_id_of_an_approval_is_no_refusal(
    bank: AskingBank, status: int, body: Any, place: Elsewhere
) -> None:
    bank.says(status, body)
    outcome = await bank.tool()(idempotency_key="g_1", **CALL)
    assert isinstance(outcome, ToolElsewhere)
    assert outcome.place == place


UNCLEAR: list[tuple[int, Any]] = [
    (402, None),
    (402, b"<html>Payment required</html>"),
    (402, b"\x00\xff\xfe garbage"),
    (402, b'{"error": {"code": "approval_required", "approval_request": "apr_1'),
    (402, b"[" * 100_000),
    (402, {"error": {"code": "approval_required"}}),
    (402, {"error": {"code": "approval_required", "request_id": "req_1"}, "card": {"status": "expired"}}),
    (402, {"approval": "required"}),
    (402, {"error": {"code": "approval_required", "id": "x" * 201}}),
    (402, {"error": {"code": "approval_required", "id": "a\nb"}}),
    (402, {"message": "An administrator has to approve this"}),
    (403, b"this needs the approval of a second person"),
    (403, {"requires_approval": True}),
    (202, None),
    (202, b"accepted"),
    (202, {"status": "pending_approval"}),
    (202, {"status": "queued", "id": "job_1"}),
]


@requirement("S-72")
@pytest.mark.parametrize(("status", "body"), UNCLEAR)
async def test_an_answer_that_may_mean_it_without_saying_where_is_unknown(
    bank: AskingBank, status: int, body: Any
) -> None:
    bank.says(status, body)
    assert isinstance(await bank.tool()(idempotency_key="g_1", **CALL), ToolUnknown)


REFUSALS: list[tuple[int, Any]] = [
    (402, {"error": {"code": "card_declined", "decline_code": "insufficient_funds", "charge": "ch_1"}}),
    (402, {"error": {"code": "approval_denied", "approval_request": "apr_1"}}),
    (403, {"approval": {"id": "apr_1"}, "status": "rejected"}),
    (403, None),
    (403, b"<html>Forbidden</html>"),
    (403, {"error": "insufficient scope", "id": "evt_1", "approval": None}),
    (400, STRIPE),
    (422, {"error": {"code": "approval_required", "approval_request": "apr_1"}}),
]


@requirement("S-72")
@pytest.mark.parametrize(("status", "body"), REFUSALS)
async def test_a_refusal_is_a_refusal(bank: AskingBank, status: int, body: Any) -> None:
    bank.says(status, body)
    assert isinstance(await bank.tool()(idempotency_key="g_1", **CALL), ToolFailed)


async def test_an_accepted_call_is_what_the_reader_says_of_it(bank: AskingBank) -> None:
    bank.says(202, {"status": "paid", "message": "approved and booked", "id": "p_1"})
    assert await bank.tool()(idempotency_key="g_1", **CALL) == ToolSucceeded(
        result={"status": "paid", "message": "approved and booked", "id": "p_1"}
    )


async def test_a_link_may_stand_in_the_header(bank: AskingBank) -> None:
    bank.says(202, {"id": "a-7", "status": "pending_approval"}, Location="/approvals/a-7")
    outcome = await bank.tool()(idempotency_key="g_1", **CALL)
    assert said(outcome) == Elsewhere(id="a-7", link=f"{bank.url}/approvals/a-7")


@requirement("S-72")
async def test_a_giant_answer_is_read_as_far_as_is_bearable_and_says_nothing(bank: AskingBank) -> None:
    sent = 0

    async def giant(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(status=402)
        await response.prepare(request)
        with_id = json.dumps(STRIPE).encode()
        try:
            await response.write(b"[" + with_id)
            for _ in range(4096):
                await response.write(b"," + b" " * 65536)
                sent += 65536
        except ConnectionError:
            pass
        return response

    bank.answer = giant
    assert isinstance(await bank.tool()(idempotency_key="g_1", **CALL), ToolUnknown)
    assert sent < 16 * 1024 * 1024, "it hung up"


@requirement("S-72")
@pytest.mark.parametrize(("status", "kind"), [(402, ToolUnknown), (403, ToolUnknown), (400, ToolFailed)])
async def test_a_body_that_does_not_come_is_not_waited_for_for_long(
    bank: AskingBank, monkeypatch: pytest.MonkeyPatch, status: int, kind: type
) -> None:
    monkeypatch.setattr(http_tool, "_REFUSAL_SECONDS", 0.05)
    over = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        await response.write(b'{"error": {"code": "app')
        await over.wait()
        return response

    bank.answer = late
    try:
        async with asyncio.timeout(30):
            outcome = await bank.tool()(idempotency_key="g_1", **CALL)
    finally:
        over.set()
    assert isinstance(outcome, kind)


async def test_services_that_say_it_in_another_way_are_read_by_the_callers_own_reader(bank: AskingBank) -> None:
    def waits(status: int, answer: Any) -> ToolElsewhere | None:
        assert status == 403
        return ToolElsewhere(answer["vier_augen"]) if isinstance(answer, dict) else answer["no"]

    bank.says(403, {"vier_augen": "V-1"})
    assert said(await bank.tool(waits=waits)(idempotency_key="g_1", **CALL)) == Elsewhere(id="V-1")
    bank.says(403, b"no JSON")  # the reader fails, and says nothing
    assert isinstance(await bank.tool(waits=waits)(idempotency_key="g_1", **CALL), ToolFailed)


@pytest.mark.parametrize("deep", [3, 5000])
def test_an_answer_of_any_depth_or_breadth_is_looked_at_in_bounded_time(deep: int) -> None:
    answer: Any = {"approval_id": "a-7"}
    for _ in range(deep):
        answer = {"in": answer}
    assert (waits_in(answer) is None) == (deep == 5000)
    assert waits_in([[{}] * 1000] * 1000) is None


def test_an_address_without_a_place_for_the_id_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"\{id\}"):
        HttpTool("https://bank.example", read=read_payment, lookup_elsewhere="https://bank.example/approvals")


# --- behind the executor ----------------------------------------------------------------------------------------------


@pytest.fixture
def config(config: Path) -> Path:
    file = config / "acme.yaml"
    file.write_text(file.read_text().replace("  by_api: {}", "  by_api: {enforced: true}"))
    return config


@pytest.fixture
async def gateway(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


@pytest.fixture
def spy() -> Spy:
    return Spy()


async def approved(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api", CALL)
    assert (await gateway.decide(request)).json()["state"] == "approved"
    return request


async def carried(executor: Executor, request: dict[str, Any]) -> Any:
    return (await executor.carry_out(request["id"])).outcome


def waiting(known: dict[str, Any]) -> dict[str, Any]:
    """Return how a tool is registered whose service tells what its people decided."""
    return {"lookup_elsewhere": known.get, "lookup": None}


@requirement("S-72")
@pytest.mark.parametrize("raised", [False, True])
async def test_what_waits_there_is_reported_with_its_place_and_settled_by_its_peoples_answer(
    either_gateway: Gateway, spy: Spy, *, raised: bool
) -> None:
    gateway = either_gateway

    def does() -> ToolElsewhere:
        if raised:
            raise APR
        return APR

    spy.does = does
    request = await approved(gateway)
    known: dict[str, Any] = {}
    async with executing(gateway, spy, **waiting(known)) as (executor, _):
        assert said(await carried(executor, request)) == APR.place
        after = await gateway.read(request)
        assert APR.place is not None
        assert (after["state"], after["execution"]["elsewhere"]["id"]) == ("pending_elsewhere", APR.place.id)
        [again] = await executor.once()
        assert said(again.outcome) == APR.place, "its people have not decided"
        known["apr_1Q2w"] = ToolSucceeded(result="paid")
        [again] = await executor.once()
        assert again.outcome == ToolSucceeded(result="paid")
        assert await executor.once() == []
    after = await gateway.read(request)
    assert (after["state"], after["execution"]["result"], len(spy.calls)) == ("succeeded", "paid", 1)
    notes = [json.loads(row["facts"]).get("note") for row in gateway.rows("SELECT facts FROM audit_events")]
    assert "the service's own record of apr_1Q2w" in notes


@requirement("S-72")
async def test_another_process_goes_on_asking_and_calls_nothing(gateway: Gateway, spy: Spy) -> None:
    spy.does = lambda: APR
    request = await approved(gateway)
    known: dict[str, Any] = {}
    async with executing(gateway, spy, **waiting(known)) as (executor, _):
        await carried(executor, request)
    async with executing(gateway, spy, **waiting(known)) as (executor, line):
        assert said(await carried(executor, request)) == APR.place
        known["apr_1Q2w"] = ToolFailed(error="its people said no")
        told = asyncio.Event()
        line.after["reconcile"] = told.set
        working = asyncio.ensure_future(executor.work())
        await asyncio.wait_for(told.wait(), 30)
        executor.stop()
        await asyncio.wait_for(working, 30)
        assert "claim" not in line.called
    assert ((await gateway.read(request))["state"], len(spy.calls)) == ("failed", 1)


async def test_somebody_elses_is_left_alone(gateway: Gateway, spy: Spy) -> None:
    request = await approved(gateway)
    await gateway.claim(request, who="executor")
    body = {"claim_id": "claim-1", "status": "pending_elsewhere", "elsewhere": {"id": "apr_1"}}
    await gateway.call("POST", f"/v1/requests/{request['id']}/outcome", body, who="executor")
    async with executing(gateway, spy, **waiting({"apr_1": ToolSucceeded()})) as (executor, _):
        assert await executor.once() == []
        outcome = await carried(executor, request)
    assert isinstance(outcome, NotRun)
    assert outcome.code == "not_mine"


@requirement("S-72")
async def test_a_lookup_that_finds_it_waiting_says_so_of_what_was_unknown(gateway: Gateway, spy: Spy) -> None:
    def does() -> None:
        raise TimeoutError

    spy.does = does
    request = await approved(gateway)
    async with executing(gateway, spy) as (executor, _):
        [row] = [request]
        outcome = await carried(executor, row)
        assert isinstance(outcome, ToolUnknown)
        spy.known[spy.calls[0][1]] = APR
        assert said(await carried(executor, request)) == APR.place
        assert (await gateway.read(request))["state"] == "pending_elsewhere"
        spy.known[spy.calls[0][1]] = ToolSucceeded(result="paid")
        assert await carried(executor, request) == ToolSucceeded(result="paid")
    assert (await gateway.read(request))["state"] == "succeeded"
    assert len(spy.calls) == 1


@requirement("S-72")
@pytest.mark.parametrize("why", ["unknown", "elsewhere"])
async def test_a_key_is_not_relied_on_after_the_service_may_have_forgotten_it(
    gateway: Gateway, spy: Spy, why: str
) -> None:
    """A service that forgot the key says "there is nothing", or takes it for a new call."""

    def does() -> Any:
        if why == "unknown":
            raise TimeoutError
        return APR

    spy.does = does
    request, asked = await approved(gateway), list[str]()

    def lookup(key: str) -> Any:
        asked.append(key)

    def forgotten(key: str) -> Any:
        asked.append(key)
        return ToolFailed(error="there is no such key")

    async with executing(gateway, spy, lookup=lookup) as (executor, _):
        await carried(executor, request)
    assert isinstance(gateway.clock, ManualClock)
    async with executing(gateway, spy, lookup=lookup) as (executor, _):
        gateway.clock.advance(timedelta(hours=22, minutes=59))
        asked.clear()
        await carried(executor, request)
        assert len(asked) == 1
    async with executing(gateway, spy, lookup=forgotten) as (executor, _):
        gateway.clock.advance(timedelta(minutes=2))
        asked.clear()
        outcome = await carried(executor, request)
        assert isinstance(outcome, ToolUnknown if why == "unknown" else ToolElsewhere)
        assert asked == []
    async with executing(gateway, spy, lookup=forgotten, key_lasts=float("inf")) as (executor, _):
        assert await carried(executor, request) == ToolFailed(error="there is no such key")
    assert len(spy.calls) == 1
    assert tools.KEY_SECONDS == 23 * 3600


@requirement("S-72")
async def test_a_gateway_of_before_is_told_that_nobody_knows(gateway: Gateway, spy: Spy) -> None:
    spy.does = lambda: APR
    request = await approved(gateway)
    async with executing(gateway, spy, lookup=None) as (executor, line):
        whole = line.handle_async_request
        refused: list[bytes] = []

        async def before(asked: httpx2.Request) -> httpx2.Response:
            if b"pending_elsewhere" in asked.content:
                refused.append(asked.content)
                return httpx2.Response(422, json={"code": "invalid", "detail": "status"})
            return await whole(asked)

        line.handle_async_request = before  # type: ignore[method-assign]
        await carried(executor, request)
    after = await gateway.read(request)
    assert (after["state"], len(refused), len(spy.calls)) == ("unknown", 1, 1)
    assert "apr_1Q2w" in after["execution"]["error"]


@requirement("S-72")
async def test_over_real_http_from_the_402_to_its_peoples_yes(gateway: Gateway, bank: AskingBank, spy: Spy) -> None:
    bank.says(402, STRIPE)
    request = await approved(gateway)
    tool = bank.tool()
    more = {"run": tool, "lookup": tool.lookup, "lookup_elsewhere": tool.lookup_elsewhere}
    async with executing(gateway, spy, **more) as (executor, _):
        assert said(await carried(executor, request)) == Elsewhere(id="apr_1Q2w")
        bank.known["apr_1Q2w"] = 202, {"id": "apr_1Q2w", "status": "pending_approval"}
        assert said(await carried(executor, request)) == Elsewhere(id="apr_1Q2w")
        bank.known["apr_1Q2w"] = 503, {}
        assert said(await carried(executor, request)) == Elsewhere(id="apr_1Q2w")
        bank.known["apr_1Q2w"] = 200, {"status": "paid", "receipt": "R-1"}
        assert isinstance(await carried(executor, request), ToolSucceeded)
    assert bank.sent == [(await gateway.read(request))["grant"]["id"]]
    assert bank.asked.count("/approvals/apr_1Q2w") == 3
    assert (await gateway.read(request))["state"] == "succeeded"


# --- what could not be reported ---------------------------------------------------------------------------------------


@requirement("F-48", "S-72")
@pytest.mark.parametrize("outcome", [APR, ToolSucceeded(result="paid"), ToolFailed(error="no"), ToolUnknown(why="?")])
@pytest.mark.parametrize("how", ["lost", "refused"])
@pytest.mark.heavy
@pytest.mark.sampled(2)
async def test_an_outcome_that_could_not_be_reported_calls_the_tool_no_second_time(
    gateway: Gateway, spy: Spy, outcome: Any, how: str
) -> None:
    spy.does = lambda: outcome
    request = await approved(gateway)
    async with executing(gateway, spy, lookup=None) as (executor, line):
        whole, tried, looked, often = line.handle_async_request, 0, 0, asyncio.Event()

        async def deaf(asked: httpx2.Request) -> httpx2.Response:
            nonlocal tried, looked
            looked += asked.url.path.endswith("/requests")
            often.set() if looked > 10 else None
            if asked.url.path.endswith("/outcome"):
                tried += 1
                executor.stop() if how == "lost" else None
                if how == "lost":
                    raise httpx2.ReadError("the line is cut")
                return httpx2.Response(403, json={"code": "wrong_scope", "detail": "not you"})
            return await whole(asked)

        line.handle_async_request = deaf  # type: ignore[method-assign]
        await carried(executor, request)
        assert tried
        assert (await gateway.read(request))["state"] == "executing"
        executor._stopping = asyncio.Event()  # type: ignore[assignment] - the same process asks again
        for _ in range(3):
            again = await carried(executor, request)
            assert isinstance(again, NotRun)
            assert await executor.once() == []
        working = asyncio.ensure_future(executor.work())
        await asyncio.wait_for(often.wait(), 30)
        executor.stop()
        await asyncio.wait_for(working, 30)
    assert len(spy.calls) == 1
