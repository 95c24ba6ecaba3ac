"""Deadlines are local: what a caller gives is counted by its own monotonic clock, whatever the gateway's says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import httpx2
import pytest

from assent import (
    Allowed,
    AsyncGateway,
    BlockingGate,
    Gate,
    Gateway,
    GatewayAwayError,
    Pending,
    Ran,
    RefusalCode,
    Refused,
    StillPendingError,
    ToolCall,
    guarded,
)
from assent.client.errors import UnexpectedAnswerError
from assent.client.models import parse_request
from tests.sdk.gateway_stub import KEY, Row, StubGateway
from tests.sdk.pace import ManualSeconds, manual_pace, quick_pace

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime.now(UTC)


def row(*, enforced: bool = False) -> Row:
    return Row(
        id="req_0001",
        session=None,
        call_id=None,
        tool="pay",
        arguments={},
        claim=None,
        created_at=NOW,
        expires_at=NOW + timedelta(hours=1),
        enforced=enforced,
    )


def holding(seconds: ManualSeconds, clock_off: timedelta, *, lag: float = 0.0) -> Callable[..., httpx2.MockTransport]:
    """A gateway that holds every call as long as it may, and whose clock is off."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        seconds.now += float(request.url.params.get("wait", "0")) + lag
        said = row().as_json()
        date = format_datetime((NOW + clock_off).astimezone(UTC), usegmt=True)
        body = {"decision": "ask", "request": said} if request.method == "POST" else said
        return httpx2.Response(202 if "decision" in body else 200, json=body, headers={"Date": date})

    return lambda: httpx2.MockTransport(answer)


@pytest.mark.parametrize("clock_off", [timedelta(days=-3), timedelta(seconds=-4), timedelta(0), timedelta(days=3)])
async def test_a_wait_takes_what_it_was_given_whatever_the_gateways_clock_says(clock_off: timedelta) -> None:
    seconds = ManualSeconds()
    transport = holding(seconds, clock_off)()
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        request = parse_request(row().as_json())
        for within in (2.0, 8.0):
            started = seconds.now
            with pytest.raises(StillPendingError):
                await client.wait(request, within=within)
            assert within - 0.1 <= seconds.now - started <= within


@pytest.mark.parametrize("listened", [False, True])
async def test_the_one_call_comes_back_in_time_with_the_request_that_waits(*, listened: bool) -> None:
    seconds = ManualSeconds()
    transport = holding(seconds, timedelta(days=3), lag=0.01)()
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        started, told = seconds.now, []
        verdict = await client.take(ToolCall("pay", {}), within=5, on_pending=told.append if listened else None)
    assert isinstance(verdict, Pending)
    assert verdict.request.id == "req_0001"
    assert bool(told) is listened
    assert 4.9 <= seconds.now - started <= 5.0


@pytest.mark.parametrize(("within", "lag"), [(4.0, 0.99), (20.0, 1.99)])
async def test_a_gateway_that_answers_late_has_said_that_the_call_waits_before_the_deadline(
    within: float, lag: float
) -> None:
    """It is asked to answer two seconds before it, or a quarter of the time: else a busy one would read as none."""
    seconds = ManualSeconds()
    answers: list[float] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content) if request.method == "POST" else request.url.params
        seconds.now += float(asked["wait"]) + lag
        answers.append(seconds.now)
        said = row().as_json()
        asks = request.method == "POST"
        return httpx2.Response(202 if asks else 200, json={"decision": "ask", "request": said} if asks else said)

    transport = httpx2.MockTransport(answer)
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        started = seconds.now
        assert isinstance(await client.take(ToolCall("pay", {}), within=within), Pending)
    assert within - 0.02 < answers[0] - started < within


async def test_a_gateway_that_is_away_is_not_tried_again_beyond_the_deadline() -> None:
    seconds = ManualSeconds()

    def away(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    transport = httpx2.MockTransport(away)
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        started = seconds.now
        with pytest.raises(StillPendingError):
            await client.wait(parse_request(row().as_json()), within=3)
        assert 2.9 <= seconds.now - started <= 3.0


def briefly(known: Row, *, whole: Row, holds: int) -> tuple[httpx2.MockTransport, list[str]]:
    """A gateway that says `holds` times how a request stands, and shows all of it to whoever then reads it."""
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.query.decode())
        brief = "wait" in request.url.params and len(seen) <= holds
        assert request.headers.get("prefer") == ("return=minimal" if "wait" in request.url.params else None)
        told = known.as_json() if brief else whole.as_json()
        names = ("id", "state", "status", "version", "digest")
        return httpx2.Response(200, json={name: told[name] for name in names} if brief else told)

    return httpx2.MockTransport(answer), seen


async def test_a_request_that_stands_as_it_is_known_is_not_carried_over_again() -> None:
    seconds = ManualSeconds()
    transport, seen = briefly(row(), whole=replace(row(), state="approved", version=2), holds=2)
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        found = await client.wait(parse_request(row().as_json()))
    assert (found.state, found.arguments) == ("approved", {})
    assert len(seen) == 3


@pytest.mark.parametrize("moved", [{"version": 2}, {"state": "approved"}, {"arguments": {"amount": 1}}])
async def test_what_a_brief_answer_does_not_bear_out_is_read_whole(moved: dict[str, object]) -> None:
    """More time, say: without it a wait would end too early. And nothing is approved by such an answer."""
    seconds = ManualSeconds()
    now = replace(row(), **moved)
    whole = replace(now, expires_at=NOW + timedelta(hours=9))
    transport, seen = briefly(now, whole=whole, holds=1)
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        request = parse_request(row().as_json())
        if whole.state == "approved":
            found = await client.wait(request)
        else:
            with pytest.raises(StillPendingError) as told:
                await client.wait(request, within=2)
            found = told.value.request
    assert (found.expires_at, found.version, found.arguments) == (whole.expires_at, whole.version, whole.arguments)
    assert seen[1] == ""


async def test_an_answer_that_is_never_whole_approves_nothing() -> None:
    seconds = ManualSeconds()
    told = replace(row(), state="approved").as_json()
    del told["arguments"]
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=told))
    async with AsyncGateway("http://gateway", KEY, transport=transport, pace=manual_pace(seconds)) as client:
        with pytest.raises(UnexpectedAnswerError, match="arguments"):
            await client.wait(parse_request(row().as_json()))


# --- times that are none, and times that are too short ----------------------------------------------------------------

NO_TIMES = [-1, -1e9, float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("within", NO_TIMES)
async def test_a_time_that_is_none_is_the_programmers_mistake(gateway: StubGateway, within: float) -> None:
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as client:
        request = parse_request(row().as_json())
        for ask in (client.check, client.take):
            with pytest.raises(ValueError, match=r"within: give 0 seconds .* or more"):
                await ask(ToolCall("pay", {}), within=within)
        for wait in (client.wait, client.wait_for_outcome, client.take_when_decided):
            with pytest.raises(ValueError, match=r"within: give 0 seconds .* or more"):
                await wait(request, within=within)
        with pytest.raises(ValueError, match=r"deadline: give 0 seconds .* or more"):
            guarded(client, tool="pay", deadline=within)
    blocking = BlockingGate(Gateway(gateway.url, KEY))
    with pytest.raises(ValueError, match=r"deadline: give 0 seconds .* or more"):
        blocking.run("pay", {}, print, deadline=within)
    with pytest.raises(ValueError, match=r"deadline: give 0 seconds .* or more"):
        blocking.open("pay", {}, deadline=within)
    assert gateway.seen == []


@pytest.mark.parametrize("within", ["1", True, [], timedelta(seconds=1)])
async def test_what_is_no_number_is_no_time(gateway: StubGateway, within: float) -> None:
    async with AsyncGateway(gateway.url, KEY) as client:
        with pytest.raises(TypeError, match="within: give seconds as a number"):
            await client.check(ToolCall("pay", {}), within=within)
        with pytest.raises(TypeError, match="deadline: give seconds as a number"):
            guarded(client, tool="pay", deadline=within)


async def test_no_time_at_all_asks_once_and_waits_for_nobody(gateway: StubGateway) -> None:
    gateway.rules["look"] = "allow"
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as client:
        assert isinstance(await client.check(ToolCall("look", {}), within=0), Allowed)
        assert isinstance(await client.take(ToolCall("pay", {}), within=0), Pending)
        gate = Gate(client)
        assert await gate.run("look", {}, lambda: "seen", deadline=0) == Ran(result="seen")
        waits = await gate.run("pay", {}, print, deadline=0)
        assert isinstance(waits, Refused)
        assert waits.code is RefusalCode.STILL_PENDING
        allowed = await gate.open("look", {}, deadline=0)
        assert not isinstance(allowed, Refused)
        gateway.faults["check"].extend(["503"] * 9)
        with pytest.raises(GatewayAwayError, match=r"status 503, 1 attempts"):
            await client.check(ToolCall("look", {}), within=0)


async def test_an_answer_that_comes_too_late_is_said_to_be_late_and_that_people_may_be_asked(
    gateway: StubGateway,
) -> None:
    gateway.faults["check"].extend(["hang", "hang"])
    ran: list[int] = []
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as client:
        with pytest.raises(GatewayAwayError) as late:
            await client.check(ToolCall("pay", {}), within=0.1)
        told = await Gate(client).run("pay", {}, lambda: ran.append(1), deadline=0.1)
    assert (late.value.code, str(late.value)) == (
        "gateway_late",
        f"no answer of the gateway at {gateway.url} in the time given: not approved",
    )
    assert isinstance(told, Refused)
    assert told.code is RefusalCode.ANSWER_LATE
    assert told.message == (
        "No answer of the approval gateway came within the time that this call had. It did not run here, but what was "
        "sent may be asked of people now, or be run by an executor. Do not repeat it, and do not try to reach the same "
        "end another way: people may still approve it. Tell the user."
    )
    assert ran == []


async def test_a_gateway_that_is_away_until_the_deadline_is_said_to_be_away(gateway: StubGateway) -> None:
    gateway.stop()
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(ManualSeconds())) as client:
        with pytest.raises(GatewayAwayError, match="ConnectError") as away:
            await client.check(ToolCall("pay", {}), within=3)
    assert (away.value.code, away.value.refusal_code) == ("gateway_away", RefusalCode.GATEWAY_AWAY)
