"""The proxy in front of a streamable-HTTP server: the official SDK on both sides, and what nobody should send."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp.client import Client
from mcp_types import ElicitResult

from tests.requirements import requirement
from tests.sdk.proxy.line import ProxyLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sdk.gateway_stub import Row, StubGateway

pytestmark = [pytest.mark.process, pytest.mark.may_block, pytest.mark.heavy]

BANK = Path(__file__).parent / "bank_server.py"
CALL: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {}}}


async def answer(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"text": "rent"})


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[str]:
    """The address of a bank that listens."""
    (tmp_path / "ledger").touch()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(BANK), str(tmp_path / "ledger"), str(port)])
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)  # another process's start has no event that we could wait for
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


@pytest.fixture
def proxy(gateway: StubGateway, bank: str, tmp_path: Path) -> Iterator[str]:
    """The address of the proxy in front of it."""
    with in_front_of(bank, gateway, tmp_path) as found:
        yield found


@contextlib.contextmanager
def in_front_of(bank: str, gateway: StubGateway, folder: Path, *options: str) -> Iterator[str]:
    gateway.one_call = True
    words = ProxyLine(url=gateway.url, folder=folder).words("--upstream", bank, "--listen", "127.0.0.1:0", *options)
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found
    yield found[0]
    process.terminate()
    with process.stderr:
        process.wait(20)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_calls_wait_for_people_are_refused_edited_and_asked_back_about(
    gateway: StubGateway, proxy: str, tmp_path: Path, era: str
) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with Client(proxy, mode=era, elicitation_callback=answer) as client:
        assert len((await client.list_tools()).tools) == 6
        paying = asyncio.ensure_future(
            client.call_tool("pay", {"payee": "ACME", "amount": 80000}, progress_callback=hear)
        )
        refused = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 7}))
        asking = asyncio.ensure_future(client.call_tool("pay_for", {"payee": "ACME"}))
        await asyncio.to_thread(gateway.arrived, "check", 3)
        while not heard:  # noqa: ASYNC110 - it is held for as long as people are asked
            await asyncio.sleep(0.05)
        for row in gateway.rows.values():
            if row.arguments.get("amount") == 80000:
                row.arguments = {"payee": "ACME", "amount": 8000}
            gateway.decide(row.id, "denied" if row.arguments.get("amount") == 7 else "approved", reason="why")
        paid = await paying
        assert paid.content[0].text.startswith("paid 8000 to ACME")  # pyright: ignore[reportAttributeAccessIssue]
        assert (await refused).is_error
        assert (await asking).content[0].text == "paid for rent"  # pyright: ignore[reportAttributeAccessIssue]
        await asyncio.to_thread(gateway.arrived, "outcome", 2)
    assert set(heard) == {"Waiting for people to approve mcp__Bank_of_Tests__pay."}
    assert sorted((tmp_path / "ledger").read_text().splitlines()) == ["pay ACME 8000", "pay_for ACME rent"]
    assert sorted(row.state for row in gateway.rows.values()) == ["denied", "succeeded", "succeeded"]


@requirement("F-75")
async def test_a_client_that_goes_while_people_are_asked_leaves_no_card_behind(
    gateway: StubGateway, proxy: str, tmp_path: Path
) -> None:
    async with Client(proxy) as client:
        running = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 1}))
        await asyncio.to_thread(gateway.arrived, "check")
        running.cancel()
        await asyncio.to_thread(gateway.arrived, "cancel")
    assert gateway.only.state == "cancelled"
    assert (tmp_path / "ledger").read_text() == ""


@requirement("F-75")
async def test_what_still_waits_is_withdrawn_when_its_session_ends_and_no_other_of_them(
    gateway: StubGateway, bank: str, tmp_path: Path
) -> None:
    with in_front_of(bank, gateway, tmp_path, "--deadline", "2") as proxy:
        async with Client(proxy, mode="legacy") as other:
            async with Client(proxy, mode="legacy") as client:
                one, two = [await still_waits(gateway, each, number) for number, each in enumerate((client, other))]
            await asyncio.to_thread(gateway.arrived, "cancel")
            assert (one.state, two.state) == ("cancelled", "pending")
        await asyncio.to_thread(gateway.arrived, "cancel", 2)
        assert two.state == "cancelled"


@requirement("F-75")
async def test_what_still_waits_without_a_session_is_withdrawn_when_the_proxy_ends(
    gateway: StubGateway, bank: str, tmp_path: Path
) -> None:
    with in_front_of(bank, gateway, tmp_path, "--deadline", "2") as proxy:
        async with Client(proxy, mode="auto") as client, httpx2.AsyncClient(trust_env=False) as stranger:
            row = await still_waits(gateway, client, 1)
            await stranger.delete(proxy)  # ends no session, and so nobody's calls
        assert row.state == "pending"  # another client may make the call again: who is gone cannot be told
    assert row.state == "cancelled"


async def still_waits(gateway: StubGateway, client: Client, amount: int) -> Row:
    told = await client.call_tool("pay", {"payee": "ACME", "amount": amount})
    assert "still waits" in told.content[0].text  # pyright: ignore[reportAttributeAccessIssue]
    return list(gateway.rows.values())[-1]


async def test_clients_without_a_session_do_not_meet_in_the_ids_of_their_calls(
    gateway: StubGateway, proxy: str, tmp_path: Path
) -> None:
    async with Client(proxy, mode="auto") as one, Client(proxy, mode="auto") as other:  # both count from the same on
        paying = asyncio.ensure_future(one.call_tool("pay", {"payee": "ACME", "amount": 1}))
        await asyncio.to_thread(gateway.arrived, "check")
        paying_too = asyncio.ensure_future(other.call_tool("pay", {"payee": "ACME", "amount": 2}))
        await asyncio.to_thread(gateway.arrived, "check", 2)
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            await stranger.delete(proxy)  # ends no session, and so nobody's calls
            about = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            for number in range(5):
                about["params"] = {"requestId": number}  # which of two is meant, nobody knows
                await stranger.post(proxy, json=about)
        for row in list(gateway.rows.values()):
            gateway.decide(row.id, "approved")
        paid, paid_too = await paying, await paying_too
    assert paid.content[0].text.startswith("paid 1 to ACME")  # pyright: ignore[reportAttributeAccessIssue]
    assert paid_too.content[0].text.startswith("paid 2 to ACME")  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted((tmp_path / "ledger").read_text().splitlines()) == ["pay ACME 1", "pay ACME 2"]


def test_what_should_not_come_does_not_get_through(gateway: StubGateway, proxy: str, bank: str) -> None:
    at = httpx2.URL(proxy)

    def status(method: str = "POST", url: str = proxy, **said: Any) -> int:
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        headers |= said.pop("headers", {})
        return httpx2.request(method, url, headers=headers, trust_env=False, timeout=10, **said).status_code

    assert status(json=CALL, headers={"host": "evil.example"}) == 403  # DNS rebinding
    assert status(json=CALL, headers={"host": "localhost"}) == 403
    assert status(json=CALL, headers={"origin": "https://evil.example"}) == 403
    assert status(json=CALL, headers={"origin": "null"}) == 403
    assert status(json=CALL, url=str(at.copy_with(path="/else"))) == 404
    assert status("PUT", json=CALL) == 405
    assert status(content=b"\x1f\x8b", headers={"content-encoding": "gzip"}) == 415
    for kind in ("application/json; charset=utf-7", 'application/json;charset="UTF-16"', "text/plain", ""):
        assert status(content=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', headers={"content-type": kind}) == 415
    assert status(json=[CALL]) == 400
    assert status(json=[{"jsonrpc": "2.0", "id": 9, "method": "ping"}], headers={"mcp-method": "tools/call"}) == 400
    assert status(json=[{"jsonrpc": "2.0", "id": 9, "method": "ping"}, CALL]) == 400
    assert status(content=b'{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}') == 400
    assert status(json=CALL, headers={"mcp-method": "tools/list"}) == 400
    assert status(json=CALL, headers={"mcp-name": "list"}) == 400
    assert status(content=b"[" * 100_000) == 400
    with socket.create_connection((at.host, at.port or 0), 5) as raw:
        raw.sendall(b"POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert gateway.seen == []
