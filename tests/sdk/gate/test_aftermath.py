"""What a guarded tool's error is reported as: a failure only where it is certain that nothing was done."""

from __future__ import annotations

import asyncio
import socket
from http.client import IncompleteRead
from typing import Any

import httpx2
import pytest

from assent import (
    AsyncGateway,
    Elsewhere,
    Gateway,
    OutcomeStatus,
    ToolElsewhere,
    UnknownOutcomeError,
    guarded,
)
from assent.gate.aftermath import after_error
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace

APR = Elsewhere(id="apr_1", link="https://bank.example/apr_1")


class ApiConnectionError(Exception):
    """Of a service's own library, under a name of its own."""


APIConnectionError = type("APIConnectionError", (ApiConnectionError,), {})


def made_of(outer: Exception, inner: BaseException, *, silent: bool = False) -> Exception:
    """Return an error that was raised while another one was handled, as most tools do it, or `from None`."""
    outer.__context__, outer.__suppress_context__ = inner, silent
    return outer


ASKED = httpx2.Request("POST", "https://bank.example")
ERRORS: list[tuple[BaseException, OutcomeStatus]] = [
    (TimeoutError(), OutcomeStatus.UNKNOWN),
    (ConnectionResetError("gone"), OutcomeStatus.UNKNOWN),
    (BrokenPipeError(), OutcomeStatus.UNKNOWN),
    (IncompleteRead(b""), OutcomeStatus.UNKNOWN),
    (httpx2.ReadTimeout("late", request=ASKED), OutcomeStatus.UNKNOWN),
    (httpx2.RemoteProtocolError("cut", request=ASKED), OutcomeStatus.UNKNOWN),
    (APIConnectionError("cut"), OutcomeStatus.UNKNOWN),
    (UnknownOutcomeError(), OutcomeStatus.UNKNOWN),
    (made_of(RuntimeError("payment error"), TimeoutError()), OutcomeStatus.UNKNOWN),
    (KeyboardInterrupt(), OutcomeStatus.UNKNOWN),
    (ConnectionRefusedError(), OutcomeStatus.FAILED),
    (socket.gaierror("no such host"), OutcomeStatus.FAILED),
    (httpx2.ConnectError("no route", request=ASKED), OutcomeStatus.FAILED),
    (made_of(httpx2.ConnectTimeout("no answer", request=ASKED), TimeoutError()), OutcomeStatus.FAILED),
    (made_of(ValueError("did not send"), TimeoutError(), silent=True), OutcomeStatus.FAILED),
    (ValueError("no such payee"), OutcomeStatus.FAILED),
    (PermissionError("no"), OutcomeStatus.FAILED),
]


@requirement("S-72")
@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_an_error_that_may_have_come_behind_the_deed_is_no_failure(error: BaseException, status: OutcomeStatus) -> None:
    assert after_error(error) == (status, None)


def test_a_chain_of_errors_without_an_end_is_unclear() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert after_error(first) == (OutcomeStatus.UNKNOWN, None)


TOLD: list[tuple[Exception, dict[str, Any]]] = [
    (TimeoutError("no answer"), {"status": "unknown", "error": "TimeoutError: no answer"}),
    (ValueError("no such payee"), {"status": "failed", "error": "ValueError: no such payee"}),
    (
        ToolElsewhere(APR.id, APR.link),
        {"status": "pending_elsewhere", "error": None, "elsewhere": {"id": APR.id, "link": APR.link}},
    ),
]


@requirement("S-72")
@pytest.mark.parametrize(("error", "told"), TOLD, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("plain", [False, True])
async def test_a_guarded_function_of_either_colour_reports_what_its_error_says(
    gateway: StubGateway, error: Exception, told: dict[str, Any], *, plain: bool
) -> None:
    async def pay() -> None:
        raise error

    def pay_plainly() -> None:
        raise error

    def run_plainly() -> None:
        with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as client:
            guarded(client, tool="oa__purchase_pay")(pay_plainly)()

    async def run() -> None:
        async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as client:
            await guarded(client, tool="oa__purchase_pay")(pay)()

    running = asyncio.ensure_future(asyncio.to_thread(run_plainly) if plain else run())
    await asyncio.to_thread(gateway.arrived, "get")
    gateway.decide("req_0001", "approved")
    with pytest.raises(type(error)):
        await running
    [said] = gateway.only.outcomes
    assert {name: said.get(name) for name in told} == told
    assert ("elsewhere" in said) == ("elsewhere" in told), "an older gateway knows no such member"


def test_what_a_model_reads_of_a_call_that_waits_there_is_no_reason_to_repeat_it() -> None:
    assert "not to be repeated" in str(ToolElsewhere("apr_1"))
