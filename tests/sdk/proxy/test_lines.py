"""What passes between a client and a server, byte for byte, and what does not."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from assent.proxy.lines import lines
from tests.requirements import requirement
from tests.sdk.proxy.wire import asked, raw, wire

if TYPE_CHECKING:
    from tests.sdk.gateway_stub import StubGateway

PASSING = [
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n',
    b'  {"method" : "tools/list" , "id":"\\u0041","jsonrpc":"2.0","params":{"x":1,"x":2}}  \r\n',
    b'{"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"text":"\xe4\xbd\xa0"}}}\n',  # to an elicitation
    b'{"jsonrpc":"2.0","method":"next/year","params":[1e2,0.10,true,null]}\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]\n',
    b'{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"a":{}}}}\n',
]


async def test_all_but_calls_passes_byte_for_byte_in_both_directions(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.say(*PASSING)
        assert line.server == PASSING
        for each in (*PASSING, b"not even json\n", b'{"id":1,"id":1,"result":{}}\n'):
            await line.calls.from_server(each)
        assert line.client == [*PASSING, b"not even json\n", b'{"id":1,"id":1,"result":{}}\n']
    assert gateway.seen == []


NAMED = [
    b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}\n',
    b'{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"pay"}}\n',
    '{"jsonrpc":"2.0","id":1,"method":"ping","paramſ":{"name":"pay"}}\n'.encode(),
    b'{"jsonrpc":"2.0","id":1,"method":["tools/call"],"params":{"name":"pay"}}\n',
    b'{"jsonrpc":"2.0","id":1,\r"method":"ping"}\n',
    b'{"method":"tools/call","params":{"name":"pay","arguments":{"n":NaN,"id":[{"id":2}]}},"jsonrpc":"2.0","id":1}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"n":1e999}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"p\x00y"}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"ping\xff"}\n',
    b'{"method":"tools/call","params":' + b'{"a":[' * 50_000 + b"]}" * 50_000 + b',"\\u0069d":1}\n',
]
NAMELESS = [
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call"\n',
    b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.encode("utf-16"),
    b'{"a":' * 100_000 + b"\n",
    b"[" * 100_000 + b"\n",
    b"[[" + raw(asked()).strip() + b"]]\n",
    b"[]\n",
    b'"tools/call"\n',
    b'{"id":1,"result":NaN}\n',
    b'{"id":1,"id":2,"method":"ping"}\n',
    b'{"ID":1,"id":2,"method":"ping"}\n',
    b'{"id":true,"method":NaN}\n',
    b'{"id":1.5,"method":NaN}\n',
    b'{"id":{"id":1},"method":NaN}\n',
    b'{"id":1,"method":"a"}\r{"id":1,"method":"b"}\n',
    b'{"id":1,"method":"a" "id"}\n',
    b'{"id":1,"method":NaN,"' + b'\\"' * 400_000 + b"\\\n",
    b'{"id":1,"method":NaN,"a":"' + b"a" * 1024 * 1024 + b'"}\n',
]


@requirement("S-41")
@pytest.mark.parametrize("content", [*NAMED, *NAMELESS], ids=range(len(NAMED) + len(NAMELESS)))
async def test_what_two_readers_could_read_in_two_ways_reaches_nobody_and_is_answered_under_its_id(
    gateway: StubGateway, content: bytes
) -> None:
    async with wire(gateway) as line:
        await line.say(content)
        assert line.server == []
        (answer,) = line.told
        assert answer["id"] == (1 if content in NAMED else None)
        assert answer["error"]["message"].startswith("Not passed on by the approval gate: ")
    assert gateway.seen == []


async def test_an_id_that_is_open_is_not_answered_for_a_line_that_cannot_be_read(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.say(asked("a"), b'{"id":"a","method":NaN}\n', b'{"id":"b","method":NaN}\n')
        assert [told["id"] for told in line.told] == [None, "b"]
        await asyncio.to_thread(gateway.arrived, "check")


REFUSED = [
    asked(params={"name": "pay", "Arguments": {"amount": 9}, "arguments": {"amount": 1}}),
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1,"amount":9}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","name":"pay"}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"to":"\\ud800"}}}\n',
    asked(params=[1]),
    asked(params={"name": 7}),
    asked(params={"name": "pay", "arguments": "amount=1"}),
]


@pytest.mark.parametrize("call", REFUSED, ids=range(len(REFUSED)))
async def test_a_call_that_is_not_clear_is_refused_in_words_for_the_model(gateway: StubGateway, call: object) -> None:
    async with wire(gateway) as line:
        await line.say(call)
        await line.until(line.client, 1)
        assert line.told[0]["id"] == 1
        assert line.told[0]["result"]["isError"] is True
        assert line.told[0]["result"]["content"][0]["text"].startswith("Not run: ")
        assert line.server == []


@pytest.mark.parametrize("call_id", [None, True, [1], {}])
async def test_a_call_without_an_id_that_could_be_answered_does_not_go_on(
    gateway: StubGateway, call_id: object
) -> None:
    message = asked(call_id)
    if call_id is None:
        del message["id"]  # a notification: some servers would run it
    async with wire(gateway) as line:
        await line.say(message)
        assert line.told[0]["error"]["message"] == "a tools/call needs an id: a text or a number"
        assert line.server == []


@pytest.mark.parametrize("call_id", [0, -1, 2**70, 1.5, "", "1", "\U0001f600"])
async def test_an_id_of_any_kind_comes_back_as_it_was(gateway: StubGateway, call_id: object) -> None:
    gateway.rules = {"mcp__bank__pay": "allow"}
    async with wire(gateway) as line:
        await line.say(asked(call_id))
        await line.until(line.server, 1)
        assert line.server == [raw(asked(call_id))]
        answer = raw({"jsonrpc": "2.0", "id": call_id, "result": {"content": []}})
        await line.calls.from_server(answer)
        assert line.client == [answer]


async def test_a_second_call_with_an_open_id_is_not_passed_on_and_a_later_one_is(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.say(asked(), asked(1.0, {"name": "drop", "arguments": {}}))
        assert "another call with this id is open" in line.told[0]["error"]["message"]
        await line.approved()
        await line.until(line.server, 1)
        await line.calls.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n')
        await line.say(asked())
        await line.approved(2)
        await line.until(line.server, 2)
        await line.calls.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n')
    assert [row.tool for row in gateway.rows.values()] == ["mcp__bank__pay"] * 2


async def test_a_call_in_a_batch_is_judged_and_the_rest_of_it_goes_on(gateway: StubGateway) -> None:
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with wire(gateway) as line:
        await line.say([asked(), ping, asked(3, {"name": "drop"})])
        assert [json.loads(each) for each in line.server] == [[ping]]
        await asyncio.to_thread(gateway.arrived, "check", 2)
        for row in gateway.rows.values():
            gateway.decide(row.id, "approved" if row.tool == "mcp__bank__pay" else "denied")
        await line.until(line.client, 1)
        await line.until(line.server, 2)
        assert json.loads(line.server[1]) == asked()
        assert (line.told[0]["id"], line.told[0]["result"]["isError"]) == (3, True)


async def test_a_number_reaches_the_server_as_people_saw_it(gateway: StubGateway) -> None:
    gateway.rules = {"mcp__bank__pay": "allow"}
    written = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"n":1.00000000000000019}}}'
    )
    async with wire(gateway) as line:
        await line.say(written + b"\n")
        await line.until(line.server, 1)
        assert json.loads(line.server[0], parse_float=str)["params"]["arguments"] == {"n": "1.0000000000000002"}


async def test_only_the_tools_that_are_named_are_judged(gateway: StubGateway) -> None:
    async with wire(gateway, tools=("pay*", "drop")) as line:
        await line.say(asked(1, {"name": "list"}), asked(2, {"name": "Pay"}))
        assert line.server == [raw(asked(1, {"name": "list"})), raw(asked(2, {"name": "Pay"}))]
        await line.say(asked(3))
        await asyncio.to_thread(gateway.arrived, "check")
        assert len(line.server) == 2


async def test_a_server_is_called_as_it_says_until_that_nothing_runs(gateway: StubGateway) -> None:
    async with wire(gateway, name=None) as line:
        await line.say(asked())
        await line.until(line.client, 1)
        assert "start the proxy with --name" in line.told[0]["result"]["content"][0]["text"]
        for name in ("__", "git__hub x", "bank"):
            info = {"serverInfo": {"name": name, "version": "1"}}
            await line.calls.from_server(raw({"jsonrpc": "2.0", "id": 0, "result": info}))
        await line.say(asked(2))
        await asyncio.to_thread(gateway.arrived, "check")
        assert gateway.only.tool == "mcp__git_hub_x__pay"


async def test_a_server_cannot_answer_what_it_was_not_handed(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.say(asked())
        await asyncio.to_thread(gateway.arrived, "check")
        await line.calls.from_server(b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n')
        assert line.client == []


@requirement("F-76")
async def test_a_server_that_ends_leaves_what_it_had_unknown_and_the_rest_withdrawn(gateway: StubGateway) -> None:
    async with wire(gateway) as line:
        await line.say(asked())
        await line.approved()
        await line.until(line.server, 1)
        await line.say(asked(2, {"name": "drop"}))
        await asyncio.to_thread(gateway.arrived, "check", 2)
        await line.calls.server_over()
        await line.until(line.client, 2)
        said = {told["id"]: told["result"]["content"][0]["text"] for told in line.told}
        assert said[2] == "Not run: the server of this tool has ended."
        assert "it is not known whether it ran. It may be running still." in said[1]
        assert "Request req_0001" in said[1]
        assert all(told["result"]["isError"] for told in line.told)
        await asyncio.to_thread(gateway.arrived, "outcome")
        await asyncio.to_thread(gateway.arrived, "cancel")
    assert [row.state for row in gateway.rows.values()] == ["unknown", "cancelled"]
    assert "ended before it answered" in gateway.rows["req_0001"].outcomes[0]["error"]


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ({"error": {"code": -32602, "message": "no such tool"}}, "failed"),
        ({"error": {"code": -32603, "message": "oops"}}, "unknown"),
        ({"result": {"resultType": "task", "taskId": "t"}}, "unknown"),
        ({"result": {"resultType": "input_required", "requestState": "s"}}, "unknown"),  # and never continued
        ({"result": {"content": [{"type": "text", "text": "no"}], "isError": True}}, "failed"),
        ({"result": None}, "unknown"),
        ({"result": {"content": [], "_meta": {"x": 1}}}, "succeeded"),
    ],
)
async def test_what_the_server_answers_is_reported_and_no_more_than_that(
    gateway: StubGateway, told: dict[str, Any], state: str
) -> None:
    async with wire(gateway) as line:
        await line.say(asked())
        await line.approved()
        await line.until(line.server, 1)
        answer = raw({"jsonrpc": "2.0", "id": 1, **told})
        await line.calls.from_server(answer)
        assert line.client == [answer]
    assert gateway.only.state == state


@pytest.mark.parametrize(
    "told",
    [
        {"error": {"code": -32602, "message": "not run: I"}},
        {"result": {"content": [{"type": "text", "text": "not run: I"}], "isError": True}},
    ],
)
async def test_that_a_call_was_not_run_is_nothing_that_its_server_can_say(
    gateway: StubGateway, told: dict[str, Any]
) -> None:
    """It would be asked about anew as if nothing had come of it."""
    async with wire(gateway) as line:
        await line.say(asked())
        await line.approved()
        await line.until(line.server, 1)
        await line.calls.from_server(raw({"jsonrpc": "2.0", "id": 1, **told}))
    assert gateway.only.outcomes[0]["error"] == "it says: not run: I"
    assert gateway.only.state == "failed"


async def test_lines_that_are_too_long_are_skipped_and_not_kept() -> None:
    parts = iter([b"a" * 600, b"b" * 600 + b"\nok", b"ay\n\n", b"c" * 1001 + b"\n", b"last", b""])

    async def receive() -> bytes:
        return next(parts)

    assert [each async for each in lines(receive, most=1000)] == [None, b"okay\n", b"\n", None, b"last"]
