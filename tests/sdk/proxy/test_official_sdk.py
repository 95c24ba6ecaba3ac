"""The proxy between a client and a server that we did not write: the official SDK of MCP, in both of its eras."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

from tests.requirements import requirement
from tests.sdk.proxy.line import ProxyLine

if TYPE_CHECKING:
    from tests.sdk.gateway_stub import Row, StubGateway

pytestmark = [pytest.mark.process, pytest.mark.may_block]  # ledgers are read

BANK = Path(__file__).parent / "bank_server.py"
ERAS = ("auto", pytest.param("legacy", marks=pytest.mark.heavy))


async def answer(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"text": "rent"})


@pytest.fixture(autouse=True)
def one_call(gateway: StubGateway) -> None:
    gateway.one_call = True


class Bank:
    """A bank behind the proxy, and its ledger."""

    def __init__(self, gateway: StubGateway, folder: Path) -> None:
        self.gateway = gateway
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self._line = ProxyLine(url=gateway.url, folder=folder)

    def client(self, *options: str, era: str = "auto") -> Client:
        command, *words = self._line.words(*options, "--", sys.executable, str(BANK), str(self.ledger))
        env = {"ASSENT_KEY": "ak_of_the_agent"}
        parameters = StdioServerParameters(command=command, args=words, env=env)
        return Client(parameters, mode=era, elicitation_callback=answer)

    def did(self) -> list[str]:
        return self.ledger.read_text().splitlines()

    async def row(self, number: int = 1) -> Row:
        await asyncio.to_thread(self.gateway.arrived, "check", number)
        return list(self.gateway.rows.values())[number - 1]

    async def settled(self, number: int = 1) -> Row:
        await asyncio.to_thread(self.gateway.arrived, "outcome", number)
        return list(self.gateway.rows.values())[number - 1]


@pytest.fixture
def bank(gateway: StubGateway, tmp_path: Path) -> Bank:
    return Bank(gateway, tmp_path)


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


@requirement("S-01")
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_waits_for_people_runs_as_they_approved_it_and_is_reported(bank: Bank, era: str) -> None:
    async with bank.client(era=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools][:2] == ["pay", "pay_for"]
        running = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 80000}))
        row = await bank.row()
        assert (row.tool, row.arguments) == ("mcp__Bank_of_Tests__pay", {"payee": "ACME", "amount": 80000})
        assert bank.did() == []
        row.arguments = {"payee": "ACME", "amount": 8000}  # as people changed it
        bank.gateway.decide(row.id, "approved")
        result = await running
        assert not result.is_error
        assert text_of(result).startswith("paid 8000 to ACME")
        assert bank.did() == ["pay ACME 8000"]
        assert (await bank.settled()).outcomes[0]["result"]["content"] == [
            {"type": "text", "text": "paid 8000 to ACME"}
        ]
        assert row.state == "succeeded"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.heavy
async def test_a_refusal_is_a_result_that_the_model_reads(bank: Bank, era: str) -> None:
    bank.gateway.rules = {"mcp__vault__fail": "deny"}
    async with bank.client("--name", "vault", era=era) as client:
        running = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 1}))
        bank.gateway.decide((await bank.row()).id, "denied", reason="not this week")
        result = await running
        assert result.is_error
        assert 'Reason given: "not this week"' in text_of(result)
        assert "forbids this call" in text_of(await client.call_tool("fail", {}))
    assert bank.did() == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.heavy
async def test_what_the_server_asks_the_user_passes_and_the_call_is_approved_once(bank: Bank, era: str) -> None:
    async with bank.client(era=era) as client:
        running = asyncio.ensure_future(client.call_tool("pay_for", {"payee": "ACME"}))
        bank.gateway.decide((await bank.row()).id, "approved")
        assert text_of(await running) == "paid for rent"
    assert bank.did() == ["pay_for ACME rent"]
    assert (await bank.settled()).state == "succeeded"
    assert len(bank.gateway.rows) == 1


@pytest.mark.heavy
async def test_calls_run_beside_one_another_and_each_gets_its_own_answer(bank: Bank) -> None:
    bank.gateway.rules = {"mcp__Bank_of_Tests__environment": "allow"}
    async with bank.client() as client:
        calls = [asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": n})) for n in range(20)]
        await bank.row(20)
        assert text_of(await client.call_tool("environment", {})) == ""  # nor does the server know our key
        for row in reversed(list(bank.gateway.rows.values())):
            bank.gateway.decide(row.id, "approved" if row.arguments["amount"] % 2 else "denied")
        results = [text_of(await call) for call in calls]
    assert [n for n, said in enumerate(results) if said == f"paid {n} to ACME"] == list(range(1, 20, 2))
    assert sorted(bank.did()) == sorted(f"pay ACME {n}" for n in range(1, 20, 2))


@pytest.mark.heavy
async def test_whoever_asks_for_it_hears_that_people_are_asked(bank: Bank) -> None:
    heard: list[tuple[float, str | None]] = []
    twice = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) == 2:
            twice.set()

    async with bank.client() as client:
        running = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 1}, progress_callback=hear))
        await twice.wait()
        bank.gateway.decide((await bank.row()).id, "approved")
        await running
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})
    assert {said for _, said in heard} == {"Waiting for people to approve mcp__Bank_of_Tests__pay."}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("tool", "state", "error"), [("fail", "failed", "the vault is closed"), ("die", "unknown", "")]
)
async def test_what_went_wrong_is_reported_as_far_as_it_is_known(bank: Bank, tool: str, state: str, error: str) -> None:
    async with bank.client() as client:
        running = asyncio.ensure_future(client.call_tool(tool, {}))
        bank.gateway.decide((await bank.row()).id, "approved")
        told = await running
        assert told.is_error
        doubt = "it is not known whether it ran"
        assert (doubt in told.content[0].text) == (state == "unknown")  # pyright: ignore[reportAttributeAccessIssue]
    row = await bank.settled()
    assert row.state == state
    assert error in row.outcomes[0]["error"]


@requirement("F-75")
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_cancels_or_leaves_leaves_no_card_behind(bank: Bank, era: str) -> None:
    async with bank.client(era=era) as client:
        with anyio.move_on_after(60) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "pay", {"payee": "ACME", "amount": 1})
                await bank.row()
                scope.cancel()
        await asyncio.to_thread(bank.gateway.arrived, "cancel")
        left = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 2}))
        await asyncio.to_thread(bank.gateway.arrived, "check", 2)
    await asyncio.to_thread(bank.gateway.arrived, "cancel", 2)
    with pytest.raises(Exception, match=r"."):
        await left
    assert {row.state for row in bank.gateway.rows.values()} == {"cancelled"}
    assert bank.did() == []


@requirement("F-76")
@pytest.mark.heavy
async def test_what_the_server_had_when_it_was_cancelled_is_unknown(bank: Bank) -> None:
    async with bank.client(era="legacy") as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "endless", {})
        bank.gateway.decide((await bank.row()).id, "approved")
        while bank.did() != ["endless"]:  # noqa: ASYNC110 - another process's file
            await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    assert (await bank.settled()).state in {"unknown", "failed"}


@requirement("F-32")
@pytest.mark.heavy
async def test_without_a_gateway_nothing_runs_and_all_else_goes_on(bank: Bank) -> None:
    bank.gateway.stop()
    async with bank.client("--tools", "pay*") as client:
        assert len((await client.list_tools()).tools) == 6
        assert (await client.call_tool("fail", {})).is_error  # it is not judged: it ran
        running = asyncio.ensure_future(client.call_tool("pay", {"payee": "ACME", "amount": 1}))
        await anyio.sleep(0.2)
        bank.gateway.start()
        bank.gateway.decide((await bank.row()).id, "denied")
        assert (await running).is_error
    assert bank.did() == []
