"""Clients and servers that go: nothing waits for nobody, and a call is answered once at most, and truly."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from assent.proxy import calls
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.proxy.line import ProxyLine
from tests.sdk.proxy.wire import Wire, asked, raw, wire

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

CLOSED = "Not run: the connection to the approval gate was closed before there was an answer."
ENDED = "Not run: the server of this tool has ended."


def said(line: Wire) -> list[str]:
    """What the model reads of each answer."""
    assert max(Counter(told["id"] for told in line.told).values(), default=1) == 1
    return [told["result"]["content"][0]["text"] for told in line.told]


async def held(line: Wire) -> None:
    await line.say(asked())
    await asyncio.to_thread(line.gateway.arrived, "check")


def cancelled() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


async def still_waits(line: Wire) -> None:
    await line.say(asked())
    await line.until(line.client, 1)
    assert "still waits for a person's decision" in line.told[0]["result"]["content"][0]["text"]


@requirement("F-75")
async def test_a_call_that_still_waits_is_withdrawn_when_its_client_goes(gateway: StubGateway) -> None:
    async with wire(gateway, deadline=2) as line:
        await still_waits(line)
        assert gateway.only.state == "pending"
        await line.calls.client_over()
        await asyncio.to_thread(gateway.arrived, "cancel")
    assert gateway.only.state == "cancelled"
    assert gateway.only.reason == "abandoned: whoever made this call is gone"
    assert gateway.count("cancel") == 1


async def test_a_call_that_still_waits_stays_where_the_client_is_to_come_back(gateway: StubGateway) -> None:
    async with wire(gateway, deadline=2, abandoned="keep") as line:
        await still_waits(line)
    assert gateway.only.state == "pending"
    assert gateway.count("cancel") == 0


async def test_a_call_that_was_made_again_and_ran_is_not_withdrawn(gateway: StubGateway) -> None:
    async with wire(gateway, deadline=2) as line:
        await still_waits(line)
        gateway.decide(gateway.only.id, "approved")
        await line.say(asked(2))
        await line.until(line.server, 1)
        await line.calls.from_server(b'{"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n')
        await asyncio.to_thread(gateway.arrived, "outcome")
    assert gateway.only.state == "succeeded"
    assert gateway.count("cancel") == 0


@requirement("F-76")
async def test_a_client_that_goes_while_people_are_asked_is_answered_once_and_truly(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await held(line)
        await line.calls.client_over()
        await line.calls.server_over()  # it ends because its client went
        await line.calls.server_over()
        assert said(line) == [CLOSED]
    assert said(line) == [CLOSED]
    assert gateway.only.state == "cancelled"


@requirement("F-76")
async def test_a_server_that_ends_while_people_are_asked_is_told_of_once(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await held(line)
        await line.calls.server_over()
        await line.calls.client_over()
        await line.calls.server_over()
    assert said(line) == [ENDED]
    assert gateway.only.state == "cancelled"


@requirement("F-76")
@pytest.mark.parametrize("end", ["client_over", "server_over"])
async def test_what_an_executor_may_have_is_not_said_to_have_not_run_whoever_goes(
    gateway: StubGateway, end: str
) -> None:
    gateway.enforced = True
    async with wire(gateway) as line:
        await line.say(asked())
        await asyncio.to_thread(gateway.arrived, "check", 2)
        gateway.decide("req_0001", "approved")
        await getattr(line.calls, end)()
        (text,) = said(line)
    assert text.startswith("The executor of this tool runs the call by itself as soon as it is approved")
    assert "Not run" not in text
    assert "Do not call it again" in text


@pytest.mark.parametrize("end", ["client_over", "server_over"])
async def test_a_client_that_cancelled_hears_no_more_of_the_call_whoever_ends_then(
    gateway: StubGateway, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "TICK", 0.01)
    gateway.faults["cancel"].append("lost")  # so that withdrawing it takes a little
    async with wire(gateway) as line, anyio.create_task_group() as group:
        await line.say(asked(params={"name": "pay", "arguments": {}, "_meta": {"progressToken": "p"}}))
        await asyncio.to_thread(gateway.arrived, "check")
        await line.say(cancelled())
        line.client.clear()
        group.start_soon(line.calls.tick)
        await getattr(line.calls, end)()
        await asyncio.to_thread(gateway.arrived, "cancel")
        await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    assert line.client == []
    assert gateway.only.state == "cancelled"


async def test_an_approval_that_comes_when_the_client_has_just_gone_runs_nothing_and_answers_nothing_more(
    gateway: StubGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with wire(gateway) as line:
        there, gone = anyio.Event(), anyio.Event()
        really = line.calls._judge.judged  # pyright: ignore[reportPrivateUsage]

        async def judged(*told: Any, **more: Any) -> Any:
            found: Any = None
            with anyio.CancelScope(shield=True):
                found = await really(*told, **more)
                there.set()
                await gone.wait()
            return found

        monkeypatch.setattr(line.calls._judge, "judged", judged)  # pyright: ignore[reportPrivateUsage]
        await line.say(asked())
        await line.approved()
        await there.wait()
        await line.calls.client_over()
        gone.set()
        await line.calls.server_over()
    assert line.server == []
    assert said(line) == [CLOSED]
    assert gateway.only.state == "failed"
    assert gateway.only.outcomes[0]["error"].startswith("not run: ")


async def test_a_gate_that_fails_when_the_client_is_gone_adds_no_second_answer(
    gateway: StubGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with wire(gateway) as line:
        gone = anyio.Event()

        async def judged(*_: object, **__: object) -> None:
            with anyio.CancelScope(shield=True):
                await gone.wait()
            raise RuntimeError("at the wrong moment")

        monkeypatch.setattr(line.calls._judge, "judged", judged)  # pyright: ignore[reportPrivateUsage]
        await line.say(asked())
        await anyio.lowlevel.checkpoint()
        await line.calls.client_over()
        gone.set()
    assert said(line) == [CLOSED]


SERVER = """
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    if told.get("method") == "initialize":
        about = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "echo", "version": "1"}, "capabilities": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": told["id"], "result": about}), flush=True)
"""


@requirement("F-75", "F-76")
@pytest.mark.process
@pytest.mark.may_block
@pytest.mark.parametrize("options", [(), ("--deadline", "1"), ("--deadline", "1", "--session", "mine")], ids=len)
def test_as_a_program_it_leaves_no_card_behind_and_no_second_answer(
    gateway: StubGateway, tmp_path: Path, options: tuple[str, ...]
) -> None:
    gateway.one_call = True
    words = ProxyLine(url=gateway.url, folder=tmp_path).words(*options, "--", sys.executable, "-c", SERVER)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(raw({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.stdin.write(raw(asked(2)))
    process.stdin.flush()
    gateway.arrived("check", within=30.0)
    early = process.stdout.readline() if options else b""
    out, _ = process.communicate(timeout=HANGS)
    answers = [json.loads(line) for line in (early + out).splitlines()]
    assert [answer["id"] for answer in answers] == [2]
    expected = "Not approved yet: this call still waits" if options else CLOSED
    assert answers[0]["result"]["content"][0]["text"].startswith(expected)
    assert gateway.only.state == "cancelled"
