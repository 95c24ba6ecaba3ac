"""What a guarded tool's error is reported as: a failure only where it is certain that nothing was done."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import subprocess
import time
import urllib.error
from concurrent.futures.process import BrokenProcessPool
from errno import EHOSTUNREACH
from http.client import IncompleteRead
from types import SimpleNamespace
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

ASKED = httpx2.Request("POST", "https://bank.example")
APR = Elsewhere(id="apr_1", link="https://bank.example/apr_1")


class ApiConnectionError(Exception):
    """Of a service's own library, under a name of its own."""


APIConnectionError = type("APIConnectionError", (ApiConnectionError,), {})


def of(name: str, **told: Any) -> Exception:
    """Return an error of some library, as its class is called there, and what it has on it."""
    kind = type(name, (Exception,), told)
    return type(f"Own{name}", (kind,), {})("so")


def made_of(outer: Exception, inner: BaseException, *, silent: bool = False) -> Exception:
    """Return an error that was raised while another one was handled, as most tools do it, or `from None`."""
    outer.__context__, outer.__suppress_context__ = inner, silent
    return outer


def caused(outer: Exception, cause: BaseException, before: BaseException | None = None) -> Exception:
    """Return an error that was raised from another one, perhaps while a third was handled."""
    outer.__cause__ = cause
    outer.__context__ = before or cause
    return outer


def refused() -> Exception:
    return httpx2.HTTPStatusError("422", request=ASKED, response=httpx2.Response(422))


def numbered(errors: list[BaseException]) -> list[str]:
    return [f"{number}-{type(error).__name__}" for number, error in enumerate(errors)]


def no_connection(before: BaseException | None = None) -> Exception:
    """Return what httpx raises where nobody listens; `before` was being handled when it tried."""
    system = caused(OSError("All connection attempts failed"), ConnectionRefusedError("nobody listens"), before)
    inner = made_of(of("ConnectError"), system, silent=True)  # httpcore's own, which hides what it was made of
    return caused(httpx2.ConnectError("no route", request=ASKED), inner)


def no_connection_in_time(before: BaseException | None = None) -> Exception:
    late = made_of(TimeoutError(), asyncio.CancelledError())
    late.__context__.__context__ = before  # type: ignore[union-attr]
    inner = made_of(of("ConnectTimeout"), late, silent=True)
    return caused(httpx2.ConnectTimeout("late", request=ASKED), inner)


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
    (KeyError("payee"), OutcomeStatus.FAILED),
    (PermissionError("no"), OutcomeStatus.FAILED),
]
LATE = httpx2.ReadTimeout("sent, no answer", request=ASKED)
UNSEEN: list[BaseException] = [
    # several at once: the others were cut, and say nothing
    ExceptionGroup("tasks", [TimeoutError()]),
    ExceptionGroup("tasks", [ExceptionGroup("tasks", [ValueError(), LATE])]),
    made_of(ValueError("payment error"), ExceptionGroup("tasks", [LATE])),
    ExceptionGroup("tasks", [ValueError("of one; another was sending")]),
    BaseExceptionGroup("tasks", [SystemExit(1)]),
    # a later try does not undo the first
    made_of(httpx2.ConnectError("refused", request=ASKED), LATE),
    no_connection(LATE),
    no_connection(TimeoutError()),
    no_connection_in_time(TimeoutError()),
    caused(httpx2.ConnectTimeout("late", request=ASKED), TimeoutError(), TimeoutError("of the first try")),
    made_of(refused(), LATE),
    made_of(refused(), LATE, silent=True),  # as services' own libraries raise it
    caused(ValueError("payment error"), made_of(KeyError("receipt"), LATE)),
    caused(RuntimeError("payment error"), ValueError("of no account"), LATE),
    made_of(of("ConnectError"), made_of(ConnectionRefusedError(), LATE), silent=True),
    # cut off, or not to be read
    asyncio.CancelledError(),
    made_of(ValueError("cut"), asyncio.CancelledError()),
    made_of(ValueError("ended"), SystemExit(1)),
    subprocess.TimeoutExpired("pay", 5),
    subprocess.CalledProcessError(-9, "pay"),
    BrokenProcessPool("a worker died"),
    asyncio.IncompleteReadError(b"", 10),
    EOFError(),
    ssl.SSLEOFError("cut"),
    ssl.SSLError("bad record"),
    OSError(EHOSTUNREACH, "no route any more"),
    urllib.error.URLError(TimeoutError()),
    http.client.BadStatusLine(""),
    http.client.RemoteDisconnected("closed"),
    http.client.HTTPException("got more than 100 headers"),
    json.JSONDecodeError("no JSON", "<html>", 0),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
    # by the names that libraries give them
    of("RetryError"),
    of("TooManyRedirects"),
    of("ClientConnectionError", status=None, response=None),
    of("HTTPClientError", code=599, response=None),
    of("RpcError", code=lambda _: SimpleNamespace(name="DEADLINE_EXCEEDED")),
    of("RpcError", code=lambda _: 1 / 0),
    of("GoogleAPICallError", code=504),
    of("GoogleAPICallError", code=None),
    of("StripeError", http_status=500),
    of("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 503}}),
    of("ClientResponseError", status=200),
    of("McpError"),
    of("OperationalError"),
]
CERTAIN: list[BaseException] = [
    no_connection(),
    no_connection_in_time(),
    no_connection(ValueError("of before")),
    caused(httpx2.ConnectError("tls", request=ASKED), caused(of("ConnectError"), ssl.SSLError("handshake"))),
    caused(httpx2.ConnectError("both", request=ASKED), ExceptionGroup("tries", [OSError("v4"), TimeoutError("v6")])),
    ssl.SSLCertVerificationError("not theirs"),
    urllib.error.URLError(ConnectionRefusedError()),
    made_of(RuntimeError("payment error"), refused()),
    subprocess.CalledProcessError(1, "pay"),
    of("RpcError", code=lambda _: SimpleNamespace(name="INVALID_ARGUMENT")),
    of("GoogleAPICallError", code=403),
    of("StripeError", http_status=404),
    of("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 400}}),
    of("Strange", response=property(lambda _: 1 / 0), status=property(lambda _: 1 / 0)),
]


@requirement("S-72")
@pytest.mark.parametrize(("error", "status"), ERRORS)
def test_an_error_that_may_have_come_behind_the_deed_is_no_failure(error: BaseException, status: OutcomeStatus) -> None:
    assert after_error(error) == (status, None)


@requirement("S-72")
@pytest.mark.parametrize("error", UNSEEN, ids=numbered(UNSEEN))
def test_whatever_an_error_was_made_of_may_have_come_behind_the_deed(error: BaseException) -> None:
    assert after_error(error) == (OutcomeStatus.UNKNOWN, None)


@pytest.mark.parametrize("error", CERTAIN, ids=numbered(CERTAIN))
def test_what_was_never_sent_or_was_refused_is_certain(error: BaseException) -> None:
    assert after_error(error) == (OutcomeStatus.FAILED, None)


def test_a_chain_of_errors_without_an_end_is_unclear() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert after_error(first) == (OutcomeStatus.UNKNOWN, None)


def test_a_tree_of_errors_that_nobody_reads_to_its_end_is_unclear_and_takes_no_time() -> None:
    error = ValueError("0")
    for number in range(18):
        both = ValueError(f"a{number}"), ValueError(f"b{number}")
        for each in both:
            each.__cause__ = error
        error = caused(ValueError(f"c{number}"), *both)
    started = time.perf_counter()
    assert after_error(error) == (OutcomeStatus.UNKNOWN, None)
    assert time.perf_counter() - started < 1


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
