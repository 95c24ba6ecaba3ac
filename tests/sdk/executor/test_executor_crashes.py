"""An executor that is killed at any step between the claim and the outcome: the ledger has one payment, or none.

Real processes: the gateway, the ledger service of the examples, and executors that end by SIGKILL.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.identity.seals import Seals
from examples.ledger.book import Book
from tests.durability.gateway_process import SECRET, scene, until
from tests.durability.invariants import faults
from tests.places import ROOT
from tests.requirements import requirement
from tests.sdk.executor.asking_bank import STRIPE, AskingBank, served
from tests.sdk.executor.executor_process import PLACE
from tests.storage.rig import behind, look, sealed_anew

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.durability.gateway_process import Gateway

pytestmark = pytest.mark.process

FUNDS = {"CNY": "1000000.00"}
PLACES = {
    # the place of death: how many payments there are then, and how the request ends
    "claim.after": (0, "unknown"),
    "payments.before": (0, "unknown"),
    "payments.after": (1, "succeeded"),
    "payments.cut": (1, "succeeded"),
    "outcome.before": (1, "succeeded"),
    "outcome.after": (1, "succeeded"),
    "claim.before": (0, "succeeded"),  # the last: whoever comes next takes it up
}


@dataclass
class Bank:
    """The ledger service, and executors that have its token."""

    book: Book
    environ: dict[str, str]

    async def start(self, *words: str, **more: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", *words, env={**self.environ, **more}, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )

    @asynccontextmanager
    async def executor(self, place: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
        process = await self.start("tests.sdk.executor.executor_process", **{PLACE: place})
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def dies(self, place: str) -> None:
        async with self.executor(place) as process:
            assert await asyncio.wait_for(process.wait(), 20) == -signal.SIGKILL

    def payments(self, request: dict[str, Any]) -> int:
        return sum(payment.reference == request["arguments"]["reference"] for payment in self.book.payments())


@asynccontextmanager
async def paying(url: str, folder: Path) -> AsyncIterator[tuple[Gateway, Bank]]:
    async with scene(url, folder) as made, made.gateway() as gateway:
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_URL": gateway.address,
            "ASSENT_KEY": made.keys["executor"],
            "LEDGER_TOKEN": "a-token-of-the-ledger",
        }
        bank = Bank(Book(folder / "ledger.db", funds=FUNDS), environ)
        ledger = await bank.start("examples.ledger", str(folder / "ledger.db"))
        assert ledger.stdout is not None
        environ["LEDGER_URL"] = (await asyncio.wait_for(ledger.stdout.readline(), 20)).decode().strip()
        try:
            yield gateway, bank
        finally:
            ledger.kill()
            await ledger.communicate()
    assert faults(url) == []


async def asked(gateway: Gateway, number: int) -> dict[str, Any]:
    arguments = {"payee": "Acme Ltd", "amount": "80.00", "currency": "CNY", "reference": f"INV-{number}"}
    return await gateway.ask("payout", f"s-{number}", **arguments)


async def approved(gateway: Gateway, number: int) -> dict[str, Any]:
    request = await asked(gateway, number)
    assert (await gateway.decide("ann", request)).json()["state"] == "approved"
    return request


def states(url: str) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in look(url, "SELECT id, state FROM requests")}


async def leases_run_out(url: str) -> None:
    """Make the executions of the dead due: the stand-in for waiting ten minutes.

    Again and again: a claim that was under way when its sender died is recorded a moment later.
    """
    async with asyncio.timeout(30):
        while "executing" in states(url).values():
            with behind(url) as connection:
                moved = connection.execute(
                    "UPDATE executions SET lease_until = started_at + 1 "
                    "WHERE status = 'started' AND lease_until > started_at + 1"
                ).rowcount
                connection.commit()
            if moved:  # their times are sealed
                await sealed_anew(url, Seals([SECRET]))
            await asyncio.sleep(0.02)


async def dies_or_looks_up(bank: Bank, place: str, url: str, request: dict[str, Any]) -> None:
    """Let an executor die at a place; where only its answer is cut off, it lives and looks the payment up."""
    if not place.endswith("cut"):
        await bank.dies(place)
        return
    async with bank.executor(place):
        await until("it was looked up", lambda: states(url)[request["id"]] == "succeeded")


def kill_who_lives(*processes: asyncio.subprocess.Process) -> None:
    for process in processes:
        if process.returncode is None:
            process.kill()


async def a_person_says_it_failed(gateway: Gateway, request: dict[str, Any]) -> None:
    """Settle what is unknown, after a look at the ledger."""
    body = {"status": "failed", "error": "not paid", "note": "the ledger of this day has no such payment"}
    said = await gateway.call("executor", "POST", f"/v1/requests/{request['id']}/reconcile", body)
    assert said.json()["state"] == "failed"


@requirement("F-08", "F-09")
@pytest.mark.heavy
async def test_killed_at_any_step_there_is_one_payment_or_none_and_every_unknown_is_found_and_settled(
    database_url: str, tmp_path: Path
) -> None:
    url = database_url
    async with paying(url, tmp_path) as (gateway, bank):
        left = dict[str, dict[str, Any]]()
        for number, (place, (paid, _)) in enumerate(PLACES.items()):
            if place == "claim.before":  # by now the others' leases are over; their successors die while they settle
                await leases_run_out(url)
                await bank.dies("reconcile.before")
                await bank.dies("reconcile.after")
            left[place] = await approved(gateway, number)
            await dies_or_looks_up(bank, place, url, left[place])
            assert bank.payments(left[place]) == paid, place
        ends = {left[place]["id"]: end for place, (_, end) in PLACES.items()}
        async with bank.executor():
            await until("all that can be found is settled", lambda: states(url) == ends)
        for request in left.values():
            found = await gateway.read(request)
            assert bank.payments(request) == (found["state"] == "succeeded")
            if found["state"] == "unknown":
                await a_person_says_it_failed(gateway, request)
        async with bank.executor() as process:  # and nothing is left for anybody
            process.terminate()
            await asyncio.wait_for(process.wait(), 20)
        assert [bank.payments(request) for request in left.values()] == [0, 0, 1, 1, 1, 1, 1]
        assert look(url, "SELECT count(*) FROM executions GROUP BY request_id HAVING count(*) > 1") == []


@requirement("F-08", "F-09")
async def test_killed_with_the_approval_that_its_wait_brought_nothing_is_paid_and_nobody_pays_later(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with paying(sqlite_url, tmp_path) as (gateway, bank):
        request = await asked(gateway, 1)
        async with bank.executor("taken.after") as process:
            assert process.stdout is not None
            assert await asyncio.wait_for(process.stdout.readline(), 20) == b"waits\n"
            assert (await gateway.decide("ann", request)).json()["state"] == "approved"
            assert await asyncio.wait_for(process.wait(), 20) == -signal.SIGKILL
        await leases_run_out(sqlite_url)
        async with bank.executor():
            await until("it is known as unknown", lambda: states(sqlite_url)[request["id"]] == "unknown")
        assert bank.payments(request) == 0


@requirement("F-08", "F-09", "S-03")
@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_hundreds_of_deaths_leave_one_payment_for_each_approval_that_was_used(
    database_url: str, tmp_path: Path, *, bounded: bool
) -> None:
    """Two executors of one name at a time, killed at a place or at any instant."""
    rounds, drawn = (6 if bounded else 100), random.Random(4711)
    url = database_url
    async with paying(url, tmp_path) as (gateway, bank):
        requests = list[dict[str, Any]]()
        for number in range(rounds):
            requests += [await approved(gateway, 2 * number), await approved(gateway, 2 * number + 1)]
            place = drawn.choice([*PLACES, "reconcile.before", "reconcile.after", ""])
            async with bank.executor(place) as one, bank.executor() as two:
                await asyncio.sleep(drawn.uniform(0.3, 1.5))
                kill_who_lives(one, two)
            await leases_run_out(url)
            assert max(bank.payments(request) for request in requests) <= 1
        async with bank.executor():
            await until(
                "nothing is open but unknown", lambda: not {"approved", "executing"} & set(states(url).values())
            )
            await until("what was paid is known", lambda: _all_found(bank, requests, states(url)), seconds=120)
        for request in requests:
            found = await gateway.read(request)
            assert found["state"] in {"succeeded", "unknown"}
            assert bank.payments(request) == (found["state"] == "succeeded")
    assert len({payment.key for payment in bank.book.payments()}) == len(bank.book.payments())


def _all_found(bank: Bank, requests: list[dict[str, Any]], now: dict[str, str]) -> bool:
    return all((now[each["id"]] == "succeeded") == (bank.payments(each) == 1) for each in requests)


@requirement("F-09", "F-48", "S-72")
@pytest.mark.parametrize(
    "place",
    [
        "payments.after",
        *(pytest.param(each, marks=pytest.mark.heavy) for each in ("outcome.before", "outcome.after", "payments.cut")),
    ],
)
async def test_killed_after_the_service_said_that_it_asks_its_people_the_next_one_asks_it_and_sends_nothing(
    sqlite_url: str, tmp_path: Path, place: str
) -> None:
    async with served(AskingBank()) as asking, paying(sqlite_url, tmp_path) as (gateway, bank):
        bank.environ["LEDGER_URL"] = asking.url
        asking.says(402, STRIPE)
        request = await approved(gateway, 1)
        if place.endswith("cut"):  # it lives, and never heard the answer
            async with bank.executor(place):
                await until("it is unknown", lambda: states(sqlite_url)[request["id"]] == "unknown")
        else:
            await bank.dies(place)
        [key] = asking.sent
        asking.known[key] = 202, {"id": "apr_1Q2w", "status": "pending_approval"}
        await leases_run_out(sqlite_url)
        async with bank.executor():
            await until("it waits there", lambda: states(sqlite_url)[request["id"]] == "pending_elsewhere")
            asking.known[key] = 200, {"status": "paid", "receipt": "R-1", "amount": 1, "currency": "CNY", "payee": "A"}
            await until("its people said yes", lambda: states(sqlite_url)[request["id"]] == "succeeded")
        assert asking.sent == [key]
