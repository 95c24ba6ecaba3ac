"""Kill -9, again and again, at every step between a claim and its outcome: the executor, the gateway, the ledger.

Three real processes and a real database. Whatever dies, the ledger has one payment for a request or none, no approval
is used twice, and what nobody knows is found in the ledger, or stands there as unknown for somebody to look.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from examples.ledger.book import Book
from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.places import ROOT
from tests.requirements import requirement
from tests.sdk.executor.test_executor_crashes import FUNDS, Bank, leases_run_out, states
from tests.storage.rig import look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.gateway_process import Gateway, Scene

pytestmark = pytest.mark.process

PLACES = (
    "claim.before",
    "claim.after",
    "payments.before",
    "payments.after",
    "payments.cut",
    "outcome.before",
    "outcome.after",
    "reconcile.before",
    "reconcile.after",
)
VICTIMS = (*PLACES, "any instant", "gateway", "ledger")
BOUNDED, WHOLE = 12, 250
"""Deaths on each database: in the quick suite, and in the long one."""


@dataclass
class Town:
    """The three processes, and every request that was ever made."""

    made: Scene
    bank: Bank
    url: str
    stack: AsyncExitStack
    drawn: random.Random
    gateway: Gateway = field(init=False)
    ledger: asyncio.subprocess.Process = field(init=False)
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    died: Counter[str] = field(default_factory=Counter[str])

    async def gateway_starts(self) -> None:
        self.gateway = await self.stack.enter_async_context(self.made.gateway())
        self.bank.environ["ASSENT_URL"] = self.gateway.address

    async def ledger_starts(self) -> None:
        self.ledger = await self.bank.start("examples.ledger", str(self.made.folder / "ledger.db"))
        assert self.ledger.stdout is not None
        line = await asyncio.wait_for(self.ledger.stdout.readline(), 20)
        self.bank.environ["LEDGER_URL"] = line.decode().strip()

    async def ledger_dies(self) -> None:
        self.ledger.kill()
        await self.ledger.communicate()

    async def approves(self) -> None:
        """Make one more payment due: of what people approve, or of what a rule allows."""
        number = len(self.requests)
        reference = {"payee": "Acme Ltd", "amount": "80.00", "currency": "CNY", "reference": f"INV-{number}"}
        tool = "payout_small" if number % 3 == 0 else "payout"
        request = await self.gateway.ask(tool, f"s-{number}", **reference)
        if tool == "payout":
            assert (await self.gateway.decide("ann", request)).json()["state"] == "approved"
        self.requests.append(request)

    async def loses(self, victim: str) -> None:
        """Let one executor work, and kill `victim` in the middle of it; then the executor, if it still lives."""
        async with self.bank.executor(victim if victim in PLACES else "") as process:
            if victim in PLACES:
                await self._dead_or_idle(process)
            else:
                await asyncio.sleep(self.drawn.uniform(0.2, 1.2))  # at any instant of its work
                if victim == "gateway":
                    self.gateway.process.kill()
                    await self.gateway.process.ended()
                elif victim == "ledger":
                    await self.ledger_dies()
            if process.returncode is None:
                process.kill()
        self.died[victim] += 1
        if victim == "gateway":
            await self.gateway_starts()
        elif victim == "ledger":
            await self.ledger_starts()

    async def _dead_or_idle(self, process: asyncio.subprocess.Process) -> None:
        """Wait until it has died at its place, or has nothing left to do that could bring it there."""
        waiting = asyncio.ensure_future(process.wait())
        try:
            async with asyncio.timeout(60):
                await self._while_there_is_work(waiting)
                await asyncio.wait({waiting}, timeout=0.3)  # it may be about to look something up
        finally:
            waiting.cancel()

    async def _while_there_is_work(self, waiting: asyncio.Future[int]) -> None:
        looked = 0
        while not waiting.done() and {"approved", "executing"} & set(states(self.url).values()):
            await asyncio.wait({waiting}, timeout=0.02)
            looked += 1
            if looked % 200 == 0:  # a dead one's claim that was recorded only now: nobody else ends its lease
                await leases_run_out(self.url)

    def holds(self) -> None:
        """Look at what must be so after every death."""
        paid = self.bank.book.payments()
        assert len({payment.key for payment in paid}) == len(paid)
        assert max(Counter(payment.reference for payment in paid).values(), default=0) <= 1, "paid twice"
        grants = {str(row[0]): str(row[1]) for row in look(self.url, "SELECT id, status FROM grants")}
        assert {grants[payment.key] for payment in paid} <= {"consumed"}
        used = [str(row[0]) for row in look(self.url, "SELECT grant_id FROM executions")]
        assert len(set(used)) == len(used), "a grant was used twice"

    async def ends(self) -> None:
        """Let a last executor finish; then everything is settled as the ledger has it, or stands out as unknown."""
        async with self.bank.executor() as process:
            await self._dead_or_idle(process)
            assert process.returncode is None, "the last executor died by itself"
            await until("what the ledger knows is known", self._agree, seconds=120)
        self.holds()
        listed = (await self.gateway.call("executor", "GET", "/v1/requests?limit=200")).json()["items"]
        unknown = {request_id for request_id, state in states(self.url).items() if state == "unknown"}
        assert len(listed) == min(200, len(unknown))  # loudly: whoever looks sees each of them
        told = look(self.url, "SELECT request_id FROM audit_events WHERE kind = 'execution.unknown'")
        assert unknown <= {str(row[0]) for row in told}

    def _agree(self) -> bool:
        """Whether exactly what is in the ledger has succeeded; everything else is unknown."""
        paid = {payment.reference for payment in self.bank.book.payments()}
        now = states(self.url)
        return all(
            now[each["id"]] == ("succeeded" if each["arguments"]["reference"] in paid else "unknown")
            for each in self.requests
        )


async def play(url: str, folder: Path, deaths: int, *, seed: int) -> Town:
    """Kill so many times; return the town when all is quiet."""
    drawn = random.Random(seed)
    order = [VICTIMS[number % len(VICTIMS)] for number in range(deaths)]
    drawn.shuffle(order)
    async with scene(url, folder) as made, AsyncExitStack() as stack:
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_KEY": made.keys["executor"],
            "LEDGER_TOKEN": "a-token-of-the-ledger",
        }
        bank = Bank(Book(folder / "ledger.db", funds=FUNDS), environ)
        town = Town(made=made, bank=bank, url=url, stack=stack, drawn=drawn)
        await town.gateway_starts()
        await town.ledger_starts()
        stack.push_async_callback(town.ledger_dies)
        for victim in order:
            await town.approves()
            await town.loses(victim)
            await leases_run_out(url)
            town.holds()
        await town.ends()
    assert faults(url) == []
    assert town.died.total() == deaths
    return town


@pytest.mark.heavy
@requirement("F-08", "F-09", "S-01", "S-03")
@pytest.mark.seeds(4711)
@pytest.mark.timeout(180)
async def test_a_few_deaths_leave_one_payment_or_none(database_url: str, tmp_path: Path, seed: int) -> None:
    town = await play(database_url, tmp_path, 2 * len(VICTIMS), seed=seed)
    assert set(town.died) == set(VICTIMS)


@requirement("F-08", "F-09", "S-01", "S-03")
@pytest.mark.seeds(4711)
@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_hundreds_of_deaths_leave_one_payment_or_none(
    database_url: str, tmp_path: Path, *, bounded: bool, seed: int
) -> None:
    deaths = 2 * BOUNDED if bounded else int(os.environ.get("KILLS", WHOLE))
    town = await play(database_url, tmp_path, deaths, seed=seed)
    ends = Counter(states(database_url).values())
    where = database_url.partition(":")[0]
    sys.stdout.write(f"\n{town.died.total()} deaths on {where}: {dict(town.died)}; they ended {dict(ends)}\n")
