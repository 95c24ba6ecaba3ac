"""The one call as agents make it: in two calls with the report, through lost answers, and with older gateways."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import assent
from assent import AsyncGateway, Denied, NotApprovedError, Pending, RefusalCode, State, Taken, ToolCall, guarded
from tests.fixtures.enforced import CALL, EXECUTOR, enforce, reported
from tests.fixtures.patience import eventually
from tests.fixtures.web_app import Dated
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from tests.fixtures.gateway import Gateway

BY_API = ToolCall("by_api", {"n": 7})


@pytest.fixture
def gateway_stub() -> Iterator[StubGateway]:
    with StubGateway() as stub:
        stub.one_call = True
        yield stub


class Counted(httpx2.AsyncBaseTransport):
    """Calls the application, writes down what was called, and loses the answers that it is told to."""

    def __init__(self, g: Gateway, *, loses: int = 0, old: bool = False) -> None:
        self._inside = Dated(g)
        self._loses = loses
        self._old = old
        self.calls: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        verb = "/".join(part for part in request.url.path.split("/")[2:] if not part.startswith("req_"))
        self.calls.append(f"{request.method} {verb}")
        sent = json.loads(request.content) if request.content else {}
        if self._old and "wait" in sent:
            body = {"code": "invalid", "status": 422, "detail": "wait: Extra inputs are not permitted", "path": "wait"}
            return httpx2.Response(422, json=body)
        if self._old:  # such a one does not look at the parameter
            request.url = request.url.copy_remove_param("claim_id")
        answer = await self._inside.handle_async_request(request)
        await answer.aread()
        if self._loses and answer.json().get("decision") == "claimed":
            self._loses -= 1
            raise httpx2.ReadError("the answer was lost")
        return answer


@pytest.fixture
async def line(gateway: Gateway) -> AsyncIterator[Callable[..., Awaitable[AsyncGateway]]]:
    """Make a client of the real gateway; it is closed at the end."""
    opened: list[AsyncGateway] = []
    key = (await gateway.key("agent:shop"))["authorization"].removeprefix("Bearer ")

    async def line(transport: httpx2.AsyncBaseTransport, **more: Any) -> AsyncGateway:
        client = AsyncGateway(
            "http://127.0.0.1", key, session="s1", transport=transport, pace=quick_pace(hold=30), **more
        )
        opened.append(await client.__aenter__())
        return client

    yield line
    for client in opened:
        await client.__aexit__(None, None, None)


async def people(g: Gateway, verdict: str = "approve", **more: Any) -> dict[str, Any]:
    """Decide what waits, once somebody is held for it."""
    await eventually(g.container.waiters.waited_for)
    [request] = (await g.call("GET", "/v1/requests?state=pending", who="alice@acme.example")).json()["items"]
    assert (await g.decide(request, verdict, **more)).status_code == 200
    return request


async def test_an_approved_run_takes_two_calls(gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]) -> None:
    transport = Counted(gateway)
    client = await line(transport)

    @guarded(client, tool="by_api")
    async def pay(n: int) -> str:
        return f"paid {n}"

    said, _ = await asyncio.gather(pay(7), people(gateway))
    assert said == "paid 7"
    assert transport.calls == ["POST requests", "POST requests/outcome"]
    assert [row["status"] for row in gateway.rows("SELECT status FROM executions")] == ["succeeded"]


async def test_the_answers_of_one_call(gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]) -> None:
    client = await line(Counted(gateway))
    assert isinstance(await client.take(ToolCall("destroy", {})), Denied)
    denied, request = await asyncio.gather(
        client.take(BY_API, claim_id="mine"), people(gateway, "deny", reason="not now")
    )
    assert isinstance(denied, Pending)
    assert (denied.request.id, denied.request.state, denied.request.settled_reason) == (
        request["id"], State.DENIED, "not now",
    )  # fmt: skip
    taken, _ = await asyncio.gather(client.take(ToolCall("by_api", {"n": 8}), claim_id="mine"), people(gateway))
    assert isinstance(taken, Taken)
    assert (taken.claimed.claim_id, taken.claimed.arguments, taken.changes) == ("mine", {"n": 8}, None)
    assert taken.request.state is State.EXECUTING
    assert "mine" in client.claims_made


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_spent_twice(
    gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]
) -> None:
    transport = Counted(gateway, loses=1)
    client = await line(transport)
    taken, _ = await asyncio.gather(client.take(BY_API), people(gateway))
    assert isinstance(taken, Taken)
    assert transport.calls == ["POST requests"] * 2
    assert len(gateway.rows("SELECT id FROM executions")) == len(gateway.rows("SELECT id FROM requests")) == 1


async def test_a_gateway_from_before_is_asked_in_the_old_calls(
    gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]
) -> None:
    transport = Counted(gateway, old=True)
    client = await line(transport)
    taken, _ = await asyncio.gather(client.take(BY_API), people(gateway))
    assert isinstance(taken, Taken)
    assert transport.calls == ["POST requests", "POST requests", "GET requests", "POST requests/claim"]


async def test_what_an_executor_runs_is_waited_for_and_asked_about_once(
    gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]
) -> None:
    g = await enforce(gateway)
    transport = Counted(g)
    client = await line(transport)

    @guarded(client, tool="by_api")
    async def pay(payee: str, amount: str, account: str) -> None:
        raise AssertionError("it runs elsewhere")

    for turn in range(2):
        transport.calls.clear()

        async def executor(turn: int = turn) -> None:
            request = await people(g)
            await eventually(g.container.waiters.waited_for)
            taken = await g.call("GET", f"/v1/requests/{request['id']}?claim_id=claim-1", who=EXECUTOR)
            assert taken.json()["decision"] == "claimed"
            assert (await reported(g, request, result={"receipt": f"r{turn}"})).status_code == 200

        said, _ = await asyncio.gather(pay(**{**CALL, "amount": str(turn)}), executor())
        assert said == {"receipt": f"r{turn}"}
        assert transport.calls[: 2 - turn] == ["POST requests"] * (2 - turn)  # the second time it is known
    assert len(g.rows("SELECT id FROM requests")) == 2


async def test_who_wants_to_hear_of_the_request_hears_of_it_while_it_waits(
    gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]
) -> None:
    transport = Counted(gateway)
    client = await line(transport)
    told: list[assent.Request] = []
    taken, request = await asyncio.gather(client.take(BY_API, on_pending=told.append), people(gateway))
    assert isinstance(taken, Taken)
    assert [(each.id, each.state) for each in told] == [(request["id"], State.PENDING)]
    assert transport.calls == ["POST requests", "GET requests"]


async def test_an_approval_that_cannot_be_had_names_its_request(
    gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]
) -> None:
    client = await line(Counted(gateway))
    pause = {"on": True, "reason": "an audit"}

    @guarded(client, tool="by_api")
    async def pay(n: int) -> None:
        raise AssertionError("it is paused")

    async def paused() -> dict[str, Any]:
        await eventually(gateway.container.waiters.waited_for)
        assert (await gateway.call("PUT", "/v1/switches/pause", pause, who="admin")).status_code == 200
        return await people(gateway)

    deciding = asyncio.ensure_future(paused())
    with pytest.raises(NotApprovedError) as caught:
        await pay(7)
    refused, request = caught.value, await deciding
    assert (refused.code, refused.request and refused.request.id) == (RefusalCode.PAUSED, request["id"])


async def test_resuming_one_request_takes_it_in_one_call(
    gateway: Gateway, line: Callable[..., Awaitable[AsyncGateway]]
) -> None:
    request = await gateway.ask("by_api", {"n": 7}, session="s1")
    transport = Counted(gateway)
    client = await line(transport)

    async def pay(n: int) -> str:
        return f"paid {n}"

    [past], _ = await asyncio.gather(assent.resume(client, {"by_api": pay}), people(gateway))
    assert (past.request.id, past.outcome) == (request["id"], assent.Ran(result="paid 7"))
    assert transport.calls == ["GET requests", "GET requests", "POST requests/outcome"]


def test_the_same_without_an_event_loop(gateway_stub: StubGateway) -> None:
    with assent.Gateway(gateway_stub.url, KEY, pace=quick_pace()) as client:
        told: list[assent.Request] = []

        def decide(request: assent.Request) -> None:
            told.append(request)
            gateway_stub.rows[request.id].state = "approved"

        taken = client.take(BY_API, on_pending=decide)
        assert isinstance(taken, Taken)
        again = client.take_when_decided(told[0], claim_id=taken.claimed.claim_id)
        assert isinstance(again, Taken)
        assert again.claimed == taken.claimed


async def test_a_gateway_that_dies_while_it_holds_the_call_is_asked_again(gateway_stub: StubGateway) -> None:
    async with AsyncGateway(gateway_stub.url, KEY, pace=quick_pace()) as client:
        taking = asyncio.ensure_future(client.take(BY_API))
        await asyncio.to_thread(gateway_stub.arrived, "check")
        await asyncio.to_thread(gateway_stub.stop)
        await asyncio.to_thread(gateway_stub.start)
        await asyncio.to_thread(gateway_stub.arrived, "check", 2)
        gateway_stub.decide("req_0001", "approved")
        taken = await taking
    assert isinstance(taken, Taken)
    assert len(gateway_stub.rows) == 1
