"""Deadlines are local: what a caller gives is counted by its own monotonic clock, whatever the gateway's says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import httpx2
import pytest

from assent import AsyncGateway, Pending, StillPendingError, ToolCall
from assent.client.errors import UnexpectedAnswerError
from assent.client.models import parse_request
from tests.sdk.gateway_stub import KEY, Row
from tests.sdk.pace import ManualSeconds, manual_pace

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
