"""What an agent asks its client for on ACP: people are asked in its place, and nothing runs that they denied."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from assent import AsyncGateway, Gate
from assent.proxy.acp.calls import AcpCalls
from tests.fixtures.patience import HANGS
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import quick_pace
from tests.sdk.proxy.line import ProxyLine
from tests.sdk.proxy.wire import filled, raw

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

OPTIONS = [
    {"optionId": "1", "name": "Always", "kind": "allow_always"},
    {"optionId": "2", "name": "Yes", "kind": "allow_once"},
    {"optionId": "3", "name": "No", "kind": "reject_once"},
]
CALL = {
    "toolCallId": "t-1",
    "kind": "execute",
    "status": "pending",
    "title": "rm -rf /srv",
    "rawInput": {"command": "rm"},
}


def asked(params: Any, method: str = "session/request_permission", call_id: object = 5) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


def permission(options: Any = OPTIONS, **call: Any) -> dict[str, Any]:
    return asked({"sessionId": "s-1", "toolCall": CALL | call, "options": options})


WRITE = asked({"sessionId": "s-1", "path": "/srv/x", "content": "new"}, "fs/write_text_file")


class Between:
    """Both ends of the proxy, as lists."""

    def __init__(self, gateway: StubGateway, calls: AcpCalls, client: list[bytes], agent: list[bytes]) -> None:
        self.gateway = gateway
        self.calls = calls
        self.client = client
        self.agent = agent

    async def agent_says(self, message: object, decided: str | None = None) -> None:
        number = self.gateway.count("check")
        await self.calls.from_server(message if isinstance(message, bytes) else raw(message))
        if decided is not None:
            await asyncio.to_thread(self.gateway.arrived, "check", number + 1)
            self.gateway.decide(list(self.gateway.rows)[-1], decided, reason="not here")

    async def told(self, seen: list[bytes], count: int = 1) -> Any:
        await filled(seen, count)
        return json.loads(seen[count - 1])


@asynccontextmanager
async def between(gateway: StubGateway, *tools: str) -> AsyncIterator[Between]:
    gateway.one_call = True
    client: list[bytes] = []
    agent: list[bytes] = []

    async def to_client(line: bytes) -> None:
        client.append(line)

    async def to_server(line: bytes) -> None:
        agent.append(line)

    opened = AsyncGateway(gateway.url, KEY, session="a-1", pace=quick_pace())
    async with opened as line, anyio.create_task_group() as group:
        ways = {"to_client": to_client, "to_server": to_server}
        calls = AcpCalls(Gate(line), group, **ways, name="gemini", tools=tools, session="a-1")
        yield Between(gateway, calls, client, agent)
        await calls.server_over()
        await calls.settled(within=5.0)
        group.cancel_scope.cancel()


@pytest.mark.parametrize(("end", "state"), [("completed", "succeeded"), ("failed", "failed"), (None, "unknown")])
async def test_a_permission_is_given_once_in_the_clients_place_and_its_end_is_heard(
    gateway: StubGateway, end: str | None, state: str
) -> None:
    async with between(gateway) as line:
        await line.agent_says(permission(), "approved")
        answer = await line.told(line.agent)
        assert answer["id"] == 5
        assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "2"}}
        assert line.client == []
        row = gateway.only
        assert (row.tool, row.session) == ("acp__gemini__execute", "s-1")
        assert row.arguments == {"title": "rm -rf /srv", "kind": "execute", "rawInput": {"command": "rm"}}
        if end is not None:
            update = {"sessionUpdate": "tool_call_update", "toolCallId": "t-1", "status": end}
            told = raw({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}})
            await line.agent_says(told)
            assert line.client == [told]
    assert gateway.only.state == state


@pytest.mark.parametrize(
    ("options", "decided", "outcome"),
    [
        (OPTIONS, "denied", {"outcome": "selected", "optionId": "3"}),
        (OPTIONS[:2], "denied", {"outcome": "cancelled"}),
        (OPTIONS[::2], "approved", {"outcome": "selected", "optionId": "3"}),  # never for always
        ([], "approved", {"outcome": "cancelled"}),
    ],
)
async def test_a_no_is_the_agents_own_option_and_a_yes_is_never_for_always(
    gateway: StubGateway, options: Any, decided: str, outcome: dict[str, str]
) -> None:
    async with between(gateway) as line:
        await line.agent_says(permission(options), decided)
        assert (await line.told(line.agent))["result"] == {"outcome": outcome}
    assert gateway.only.state == ("denied" if decided == "denied" else "failed")  # and that is: not run


async def test_what_people_changed_cannot_be_told_to_the_agent_and_does_not_run(gateway: StubGateway) -> None:
    async with between(gateway) as line:
        await line.agent_says(permission())
        await asyncio.to_thread(gateway.arrived, "check")
        gateway.only.arguments = {"title": "ls"}
        gateway.decide("req_0001", "approved")
        assert (await line.told(line.agent))["result"]["outcome"]["optionId"] == "3"
    assert gateway.only.outcomes[0]["error"].startswith("not run: people changed it")


async def test_files_and_programs_that_the_client_carries_out_are_judged_and_may_be_changed(
    gateway: StubGateway,
) -> None:
    async with between(gateway) as line:
        await line.agent_says(WRITE)
        await asyncio.to_thread(gateway.arrived, "check")
        assert gateway.only.tool == "acp__gemini__write_text_file"
        gateway.only.arguments = {"path": "/srv/x", "content": "old"}
        gateway.decide("req_0001", "approved")
        handed = await line.told(line.client)
        assert handed["params"] == {"sessionId": "s-1", "path": "/srv/x", "content": "old"}
        answer = b'{"jsonrpc":"2.0","id":5,"result":null}\n'
        await line.calls.from_client(answer)
        assert line.agent == [answer]
        await asyncio.to_thread(gateway.arrived, "outcome")
        assert gateway.only.state == "succeeded"
        run = asked({"sessionId": "s-1", "command": "rm", "args": ["-rf"]}, "terminal/create")
        await line.agent_says(run, "denied")
        error = (await line.told(line.agent, 2))["error"]
        assert 'Reason given: "not here"' in error["message"]
    assert len(line.client) == 1


async def test_all_else_passes_byte_for_byte_and_what_is_unclear_reaches_nobody(gateway: StubGateway) -> None:
    read = raw(asked({"sessionId": "s-1", "path": "/srv/x"}, "fs/read_text_file"))
    async with between(gateway, "execute") as line:
        for each in (read, raw(WRITE), b'{"jsonrpc":"2.0","id":1 , "result":{"sessionId":"s-1"}}\n'):
            await line.agent_says(each)
        assert line.client == [read, raw(WRITE), b'{"jsonrpc":"2.0","id":1 , "result":{"sessionId":"s-1"}}\n']
        await line.calls.from_client(b'{"jsonrpc":"2.0","id":9,"method":"session/prompt"}\n')
        assert len(line.agent) == 1
        for unclear in (
            b'{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"s","command":"ls","command":"rm"}}\n',
            raw(asked({"sessionId": "s-1", "Command": "rm", "command": "ls"}, "terminal/create")),
            raw({"jsonrpc": "2.0", "method": "terminal/create", "params": {"sessionId": "s", "command": "rm"}}),
            raw(asked({"toolCall": CALL})),
            b"no json\n",
        ):
            await line.agent_says(unclear)
        assert [json.loads(told)["error"]["code"] for told in line.agent[1:]] == [-32700] * 5
        assert len(line.client) == 3
    assert gateway.seen == []


async def test_a_cancelled_turn_withdraws_what_waited(gateway: StubGateway) -> None:
    async with between(gateway) as line:
        await line.agent_says(permission())
        await asyncio.to_thread(gateway.arrived, "check")
        await line.calls.from_client(
            raw({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s-1"}})
        )
        assert (await line.told(line.agent, 2))["result"] == {"outcome": {"outcome": "cancelled"}}
    assert gateway.only.state == "cancelled"


@pytest.mark.parametrize("first", ["cancel", "client", "agent"])
async def test_an_agent_is_answered_once_whoever_goes_and_in_whatever_order(gateway: StubGateway, first: str) -> None:
    async with between(gateway) as line:
        await line.agent_says(permission())
        await asyncio.to_thread(gateway.arrived, "check")
        if first == "cancel":
            over = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s-1"}}
            await line.calls.from_client(raw(over))
        await (line.calls.server_over() if first == "agent" else line.calls.client_over())
        await line.calls.server_over()
    answers = [told for told in map(json.loads, line.agent) if told.get("id") == 5]
    assert [told["result"] for told in answers] == [{"outcome": {"outcome": "cancelled"}}]
    assert gateway.only.state == "cancelled"


@pytest.mark.process
@pytest.mark.may_block
def test_as_a_program_it_answers_its_agent(gateway: StubGateway, tmp_path: Path) -> None:
    gateway.one_call = True
    agent = f"import sys; print({json.dumps(permission())!r}, flush=True); sys.stderr.write(sys.stdin.readline())"
    words = ProxyLine(url=gateway.url, folder=tmp_path, kind="acp").words("--name", "gemini", "--")
    process = subprocess.Popen(
        [*words, sys.executable, "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    gateway.arrived("check", within=30.0)
    gateway.decide("req_0001", "approved")
    told = process.stderr.readline()
    out, _ = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (0, b"")
    assert json.loads(told)["result"]["outcome"]["optionId"] == "2"
    assert gateway.only.state == "unknown"
