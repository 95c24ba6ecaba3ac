"""An approval that is read when its time is over runs nothing: by then somebody else may have run the call."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from assent import AsyncGateway, Gate, Ran, RefusalCode, Refused
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from assent.client.pace import Pace
    from tests.sdk.gateway_stub import StubGateway

PAY = {"payee": "ACME", "amount": 80000}
LEASE = 300.0


class Slow(httpx2.AsyncHTTPTransport):
    """A line whose process is frozen, or that is slow: time passes before a claim is answered, or before it is read."""

    def __init__(self, *, held: float = 0.0, frozen: float = 0.0, date: bool = True) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._held, self._frozen, self._date = held, frozen, date
        self._passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._passed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.method)
        before = self._passed
        answer = await super().handle_async_request(request)
        given_out = b"gr_req_0001" in await answer.aread() and request.url.path == "/v1/requests"
        if given_out:
            before = self._passed = self._passed + self._held
        told = parsedate_to_datetime(answer.headers["date"]) + timedelta(seconds=before)
        if self._date:
            answer.headers["date"] = format_datetime(told, usegmt=True)
        else:
            del answer.headers["date"]
        if given_out:
            self._passed += self._frozen
        return answer


def pace_of(line: Slow) -> Pace:
    return replace(quick_pace(), monotonic=line.monotonic)


async def paid(gateway: StubGateway, line: Slow, *, away: bool = False) -> tuple[Any, list[Any]]:
    """Have a payment approved; return what became of the call, and what was paid."""
    gateway.one_call = True
    payments: list[Any] = []

    async def pay(**arguments: Any) -> str:
        payments.append(arguments)
        return "paid"

    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=pace_of(line), transport=line) as client:
        running = asyncio.ensure_future(Gate(client).run("pay", PAY, pay, call_id="c-1"))
        await asyncio.to_thread(gateway.arrived, "check", 1)
        if away:
            gateway.faults["get"].extend(["reset"] * 1000)
        gateway.decide("req_0001", "approved")
        return await running, payments


@requirement("F-07")
@pytest.mark.parametrize("frozen", [LEASE - 2, LEASE + 1, 86_400.0])
async def test_a_claim_that_is_read_when_its_lease_is_over_runs_nothing(gateway: StubGateway, frozen: float) -> None:
    found, payments = await paid(gateway, Slow(frozen=frozen))
    assert payments == []
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.LAPSED
    assert "Not run" in found.message
    [outcome] = gateway.only.outcomes
    assert (outcome["status"], outcome["error"].startswith("not run: ")) == ("failed", True)


@pytest.mark.parametrize("line", [Slow(), Slow(frozen=60.0), Slow(held=120.0)])
async def test_one_that_is_read_late_and_surely_in_its_time_runs_without_another_question(
    gateway: StubGateway, line: Slow
) -> None:
    found, payments = await paid(gateway, line)
    assert isinstance(found, Ran)
    assert payments == [PAY]
    assert line.asked == ["POST", "POST"]  # the call and its outcome


async def test_where_a_long_wait_leaves_doubt_the_gateway_is_asked_for_its_time_once(gateway: StubGateway) -> None:
    line = Slow(held=160.0)
    found, payments = await paid(gateway, line)
    assert isinstance(found, Ran)
    assert payments == [PAY]
    assert line.asked == ["POST", "GET", "POST"]


@requirement("F-07")
@pytest.mark.parametrize(("line", "away"), [(Slow(date=False), False), (Slow(held=160.0), True)])
async def test_what_nobody_can_tell_is_not_run(gateway: StubGateway, line: Slow, away: bool) -> None:
    found, payments = await paid(gateway, line, away=away)
    assert payments == []
    assert isinstance(found, Refused)
    assert "Not run" in found.message
