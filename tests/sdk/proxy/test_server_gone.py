"""Servers that die with a call: whoever made it is answered under its id, and truly, however the server goes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from assent import AsyncGateway, Gate
from assent.proxy.http.proxy import HttpProxy
from assent.proxy.judge import Judge
from assent.proxy.naming import Naming
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY
from tests.sdk.pace import quick_pace
from tests.sdk.proxy.line import ProxyLine
from tests.sdk.proxy.wire import asked, raw, wire

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

DOUBT = "it is not known whether it ran. It may be running still."
SERVER = """
import os, signal, sys
sys.stdin.readline()
{how}
"""
WAYS = {
    "dies": "os._exit(3)",
    "dies in the middle of its answer": """os.write(1, b'{"jsonrpc":"2.0","id":17,"res'); os._exit(3)""",
    "says no more and lives on": "os.close(1); signal.pause()",
    "stands still": "open(sys.argv[1], 'x').close(); os.kill(os.getpid(), signal.SIGSTOP)",
}


@requirement("F-76")
@pytest.mark.process
@pytest.mark.may_block
@pytest.mark.parametrize("how", WAYS)
def test_a_call_that_the_server_had_is_answered_under_its_id_when_it_goes(
    gateway: StubGateway, tmp_path: Path, how: str
) -> None:
    gateway.one_call = True
    program = SERVER.format(how=WAYS[how])
    command = (sys.executable, "-c", program, str(tmp_path / "had"))
    words = ProxyLine(url=gateway.url, folder=tmp_path).words("--name", "bank", "--", *command)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(raw(asked(17)))
    process.stdin.flush()
    gateway.arrived("check", within=30.0)
    if how != "stands still":
        process.stdin.write(raw(asked(18, {"name": "drop"})))
        process.stdin.flush()
        gateway.arrived("check", 2, within=30.0)
    gateway.decide("req_0001", "approved")
    if how == "stands still":
        until(tmp_path / "had")
        out, _ = process.communicate(timeout=HANGS)  # it is the client that goes then
    else:
        out = said_to_its_end(process)
    answers = {told["id"]: told["result"] for told in map(json.loads, out.splitlines())}
    assert DOUBT in answers[17]["content"][0]["text"]
    assert answers[17]["isError"] is True
    if how != "stands still":
        assert answers[18]["content"][0]["text"] == "Not run: the server of this tool has ended."
    assert gateway.rows["req_0001"].state == "unknown"


def until(there: Path) -> None:
    end = time.monotonic() + HANGS
    while not there.exists():
        assert time.monotonic() < end
        time.sleep(0.02)  # another process's work has no event that we could wait for


def said_to_its_end(process: subprocess.Popen[bytes]) -> bytes:
    """What it still says; its stdin stays open, for it is the server that goes."""
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdout, process.stdin:
        said = process.stdout.read()
        process.wait(HANGS)
    return said


async def test_who_cancelled_a_call_that_the_server_had_hears_no_more_of_it(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.say(asked())
        await line.approved()
        await line.until(line.server, 1)
        await line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await line.calls.server_over()
        await asyncio.to_thread(gateway.arrived, "outcome")
    assert line.client == []
    assert gateway.only.state == "unknown"


async def test_a_last_line_that_is_whole_is_passed_on_as_a_line(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.calls.from_server(b'{"jsonrpc":"2.0","method":"notifications/message"}')
        await line.calls.from_server(b'{"jsonrpc":"2.0","meth')
    assert line.client == [b'{"jsonrpc":"2.0","method":"notifications/message"}\n']


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
NOTE = b'e\r\ndata: {"x":1}\n\r\n'
OVER_HTTP = {
    "before it answers": (b"", True),
    "within its answer": (HEAD + NOTE, True),
    "with a stream that ends without it": (HEAD + b"0\r\n\r\n", True),
    "before the call reaches it": (None, False),
}


@requirement("F-76")
@pytest.mark.may_block
@pytest.mark.parametrize("when", OVER_HTTP)
async def test_over_http_a_call_that_the_server_had_is_answered_when_it_goes(gateway: StubGateway, when: str) -> None:
    said, had = OVER_HTTP[when]
    answer: Any = None
    gateway.one_call = True

    async def upstream(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(said)

    served = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = served.extra(anyio.abc.SocketAttribute.local_port)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    own = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with (
        AsyncGateway(gateway.url, KEY, session="m-1", pace=quick_pace()) as line,
        httpx2.AsyncClient(trust_env=False, timeout=20) as client,
        listener,
        served,
        anyio.create_task_group() as group,
    ):
        if had:
            group.start_soon(served.serve, upstream)
        else:
            await served.aclose()
        judge = Judge(Gate(line), Naming("bank"))
        url = f"http://127.0.0.1:{port}/mcp"
        proxy = HttpProxy(judge, url, hosts=frozenset({f"127.0.0.1:{own}"}), session="m-1")
        group.start_soon(listener.serve, proxy.connection)
        headers = {"accept": "application/json, text/event-stream"}
        asking = asyncio.ensure_future(client.post(f"http://127.0.0.1:{own}/mcp", json=asked(17), headers=headers))
        await asyncio.to_thread(gateway.arrived, "check")
        gateway.decide("req_0001", "approved")
        answer = await asking
        await asyncio.to_thread(gateway.arrived, "outcome")
        await proxy.over()
        group.cancel_scope.cancel()
    last = json.loads(answer.text.strip().rpartition("\n")[2].removeprefix("data: "))
    assert (answer.status_code, last["id"], last["result"]["isError"]) == (200, 17, True)
    text = last["result"]["content"][0]["text"]
    assert (DOUBT in text) == had
    assert had or text == "Not run: the server could not be reached (ConnectError)."
    assert gateway.only.state == ("unknown" if had else "failed")
