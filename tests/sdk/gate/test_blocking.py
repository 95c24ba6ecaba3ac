"""The client without an event loop: its thread in a process that forks, and what becomes of a wait that is closed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from assent import AsyncGateway, Gateway, Pending, ToolCall, guarded
from assent.client import wire
from tests.fixtures.patience import HANGS
from tests.project.source_tree import ROOT
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from collections.abc import Callable

FORKS = """
import os, sys, threading, time
from assent import Gateway, ToolCall, guarded

gateway = Gateway(sys.argv[1], sys.argv[2], session="s-1")

@guarded(gateway, tool="look")
def look(month):
    return f"saw {month}"

@guarded(gateway, tool="pay")
def pay(amount):
    return f"paid {amount}"

def in_a_child(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

print(look("parent"), flush=True)
waiting = threading.Thread(target=lambda: print(pay(7), flush=True))
waiting.start()
while not gateway.list_open():
    time.sleep(0.01)

def child():
    with gateway:
        print(look("child"), flush=True)
        in_a_child(lambda: print(look("grandchild"), flush=True))
    print(look("child again"), flush=True)

in_a_child(child)
in_a_child(lambda: gateway.__exit__(None, None, None))
print(look("parent again"), len(gateway.list_open()), flush=True)
gateway.check(ToolCall("done", {}))
waiting.join()
"""


@pytest.mark.process
def test_a_process_that_is_forked_off_asks_over_a_line_of_its_own(gateway: StubGateway) -> None:
    gateway.rules |= {"look": "allow", "done": "allow"}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS, gateway.url, KEY],
        env={"PYTHONPATH": str(ROOT / "sdk"), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        gateway.arrived("check", 7)
        gateway.decide("req_0001", "approved")
        out, err = process.communicate(timeout=HANGS)
    finally:
        process.kill()
    assert out.splitlines() == [
        "saw parent",
        "saw child",
        "saw grandchild",
        "saw child again",
        "saw parent again 1",
        "paid 7",
    ], err


async def test_connections_of_another_process_are_not_used(
    gateway: StubGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as client:
        parents = await client._wire.open()
        parent = os.getpid()
        with monkeypatch.context() as child:
            child.setattr(wire.os, "getpid", lambda: parent + 1)
            own = await client._wire.open()
            assert own is not parents
            assert await client._wire.open() is own
            await client._wire.close()
        await parents.aclose()


@pytest.fixture
def line(gateway: StubGateway) -> Gateway:
    return Gateway(gateway.url, KEY, session="s-1", pace=quick_pace(hold=HANGS, patience=HANGS))


def test_closing_does_not_wait_for_people_and_withdraws_what_waits(gateway: StubGateway, line: Gateway) -> None:
    ran: list[int] = []

    @guarded(line, tool="pay")
    def pay(amount: int) -> None:
        ran.append(amount)

    with ThreadPoolExecutor() as threads:
        with line:
            waiting = threads.submit(pay, 1)
            gateway.arrived("check")
            left_at = time.monotonic()
        assert time.monotonic() - left_at < 4
        with pytest.raises(CancelledError, match="the Gateway was closed, by another thread, before this call had"):
            waiting.result(HANGS)
    assert gateway.only.state == "cancelled"
    assert ran == []


def test_what_ran_while_it_was_closed_is_reported_all_the_same(gateway: StubGateway, line: Gateway) -> None:
    gateway.rules["pay"] = "ask"
    begun, go_on = threading.Event(), threading.Event()

    @guarded(line, tool="pay")
    def pay(amount: int) -> str:
        begun.set()
        go_on.wait(HANGS)
        return f"paid {amount}"

    with ThreadPoolExecutor() as threads:
        with line:
            paying = threads.submit(pay, 1)
            gateway.arrived("check")
            gateway.decide("req_0001", "approved")
            begun.wait(HANGS)
        go_on.set()
        assert paying.result(HANGS) == "paid 1"
    assert gateway.only.outcomes[-1]["status"] == "succeeded"
    line.__exit__(None, None, None)


def paid_and_closed(gateway: StubGateway, line: Gateway) -> object:
    """Pay on another thread, close the gateway as the outcome is being reported, and return what the call returns."""
    pay = guarded(line, tool="pay")(lambda amount: f"paid {amount}")
    with ThreadPoolExecutor() as threads:
        with line:
            paying = threads.submit(pay, 1)
            gateway.arrived("check")
            gateway.decide("req_0001", "approved")
            gateway.arrived("outcome")
        return paying.result(HANGS)


def test_a_report_that_is_on_its_way_is_not_cut_short_by_closing(gateway: StubGateway, line: Gateway) -> None:
    gateway.faults["outcome"].extend(["503", "503", "reset"])
    assert paid_and_closed(gateway, line) == "paid 1"
    assert gateway.only.outcomes[-1]["status"] == "succeeded"


def test_a_report_that_does_not_arrive_in_time_hides_nothing_of_what_ran(
    gateway: StubGateway, line: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.faults["outcome"].append("hang")
    monkeypatch.setattr(line._portal, "_last", 0.2)
    assert paid_and_closed(gateway, line) == "paid 1"
    assert "outcome of request req_0001 could not be reported: the Gateway was closed" in caplog.text


def test_what_it_calls_itself_cannot_close_it(gateway: StubGateway, line: Gateway) -> None:
    told: list[str] = []

    def close(_: object) -> None:
        try:
            line.__exit__(None, None, None)
        except RuntimeError as fault:
            told.append(str(fault))

    with line:
        line.take(ToolCall("pay", {}), on_pending=close, within=0.3)
    assert told == ["a Gateway cannot be closed by what it calls itself (on_pending, on_question)"]


def test_one_that_nobody_has_any_more_ends_its_thread(gateway: StubGateway) -> None:
    client = Gateway(gateway.url, KEY, pace=quick_pace())
    assert isinstance(client.check(ToolCall("pay", {})), Pending)
    (thread,) = [each for each in threading.enumerate() if each.name == "assent-gateway"]
    del client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of what other tests have left, which is collected here, too
        gc.collect()
    thread.join(HANGS)
    assert not thread.is_alive()


def test_opening_raises_what_went_wrong(gateway: StubGateway, line: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("no certificates")

    make: Callable[[], object] = line.asynchronous._wire._make
    monkeypatch.setattr(line.asynchronous._wire, "_make", broken)
    with pytest.raises(OSError, match="no certificates"), line:
        pass
    monkeypatch.setattr(line.asynchronous._wire, "_make", make)
    with line:
        assert line.list_open() == []
