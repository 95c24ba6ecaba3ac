"""Budgets under fire: many calls at the last place of a budget, on every replica, and exactly as many as fit pass."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.durability.races.test_races import number
from tests.fixtures.spending import paying, payment, submit
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

WIDTH = 32
ROUNDS = pytest.mark.parametrize(
    "rounds",
    [
        1,
        pytest.param(2, marks=pytest.mark.whole),
        pytest.param((20, 100), marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="many"),
    ],
)


@asynccontextmanager
async def two(
    url: str, folder: Path, platform: MemoryPlatform, *budgets: str, need: int = 1
) -> AsyncIterator[list[Gateway]]:
    """Open two replicas on PostgreSQL; SQLite has one process, so one."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(paying(url, folder, platform, *budgets, need=need))
            for _ in range(1 if url.startswith("sqlite") else 2)
        ]


async def at_once(gateways: list[Gateway], arguments: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    """Submit all of them at the same moment, over the replicas in turn."""
    for gateway in gateways:
        await gateway.key("agent:shop")
    gateways[-1].keys |= gateways[0].keys
    calls = [submit(gateways[at % len(gateways)], each, **more) for at, each in enumerate(arguments)]
    return await asyncio.gather(*calls)


def decisions(said: list[dict[str, Any]]) -> dict[str, int]:
    """Count the answers."""
    found = [str(each.get("decision", each.get("code"))) for each in said]
    return {answer: found.count(answer) for answer in dict.fromkeys(found)}


async def unbroken(gateways: list[Gateway]) -> None:
    """Walk the trail's chain."""
    _, fault = await gateways[0].verify()
    assert fault is None


@requirement("S-31")
@ROUNDS
@pytest.mark.parametrize(
    "budget",
    [
        "{id: b, per: agent, within: 1d, limit: {EUR: %d}}",
        "{id: b, per: org, within: 1d, count: %d}",
        "{id: b, per: payee, within: 1d, limit: {EUR: %d}}",
    ],
)
async def test_of_many_at_once_exactly_one_takes_the_last_place(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, budget: str, rounds: Any, *, bounded: bool
) -> None:
    for index in range(number(rounds, bounded=bounded)):
        limit = 3 * (index + 1)  # each round spends three
        async with two(database_url, tmp_path / "orgs", platform, budget % limit) as gateways:
            before = [payment("1", reference=f"{index}-before-{at}") for at in range(2)]
            first = await at_once(gateways, before)
            assert decisions(first) == {"allow": 2}
            racing = [payment("1", reference=f"{index}-{at}") for at in range(WIDTH)]
            said = await at_once(gateways, racing)
            assert decisions(said) == {"allow": 1, "ask": WIDTH - 1}
            asked = [each["request"] for each in said if each["decision"] == "ask"]
            for request in asked:  # they keep their places until they end without being run
                await gateways[0].call("POST", f"/v1/requests/{request['id']}/cancel", {})
            assert decisions(await at_once(gateways, [payment("1", reference=f"{index}-after")])) == {"ask": 1}
            [last] = [row["id"] for row in gateways[0].rows("SELECT id FROM requests WHERE state = 'pending'")]
            await gateways[0].call("POST", f"/v1/requests/{last}/cancel", {})
            await unbroken(gateways)


@requirement("S-31")
async def test_what_people_deny_makes_room_for_exactly_one_more(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    budget = "{id: b, per: agent, within: 1d, limit: {EUR: 5000}}"
    async with two(database_url, tmp_path / "orgs", platform, budget) as gateways:
        large = (await submit(gateways[0], payment("4500")))["request"]
        assert decisions([await submit(gateways[0], payment("600", reference="early"))]) == {"ask": 1}
        racing = [payment("1000", reference=str(at)) for at in range(WIDTH)]
        denying = gateways[0].decide(large, "deny")
        said, verdict = await asyncio.gather(at_once(gateways, racing), denying)
        assert verdict.status_code == 200
        allowed = decisions(said).get("allow", 0)
        assert allowed <= 4
        [counted] = gateways[0].rows(
            "SELECT sum(amount) AS units FROM spends WHERE request_id IS NULL",
        )
        assert int(counted["units"] or 0) == allowed * 10_000_000
        await unbroken(gateways)


@requirement("S-31")
async def test_edits_and_submissions_at_once_never_let_more_pass_than_fits(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    budget = "{id: b, per: agent, within: 1d, limit: {EUR: 10000}}"
    async with two(database_url, tmp_path / "orgs", platform, budget, need=2) as gateways:
        asked = [(await submit(gateways[0], payment("2000", reference=f"e{at}")))["request"] for at in range(4)]
        await gateways[0].key("alice@acme.example")
        gateways[-1].keys |= gateways[0].keys

        async def edit(at: int, amount: str) -> int:
            gateway = gateways[at % len(gateways)]
            arguments = {**asked[at]["arguments"], "amount": amount}
            said = await gateway.decide(asked[at], arguments=arguments, typed=asked[at]["code"])
            return said.status_code

        racing = [payment("500", reference=str(at)) for at in range(16)]
        changing = [edit(at, amount) for at, amount in enumerate(("100", "2500", "1900", "2000.01"))]
        said, edited = await asyncio.gather(at_once(gateways, racing), asyncio.gather(*changing))
        assert edited == [200] * 4
        counts = decisions(said)
        assert set(counts) == {"allow", "ask"}
        rows = gateways[0].rows("SELECT request_id, amount FROM spends ORDER BY amount")
        of_edited = {row["request_id"]: row["amount"] for row in rows if row["request_id"] in {r["id"] for r in asked}}
        assert sorted(of_edited.values()) == [1_000_000, 19_000_000, 20_000_100, 25_000_000]
        assert len(rows) == 4 + 16
        # What passed by itself fitted when it passed: together with the least that the rest can have come to.
        least = 100 + 2000 + 1900 + 2000
        assert counts["allow"] * 500 + least <= 10_000
        await unbroken(gateways)


@requirement("S-31")
async def test_two_replicas_that_lock_in_another_order_both_come_through(
    postgres_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    """One replica's commit weighs and then votes on a request, the other's locks that request and then weighs."""
    budget = "{id: b, per: agent, within: 1d, limit: {EUR: 5000}}"
    async with two(postgres_url, tmp_path / "orgs", platform, budget, need=2) as (one, other):
        request = (await submit(one, payment("4000")))["request"]
        await one.key("alice@acme.example")
        await one.key("bob@acme.example")
        other.keys |= one.keys

        async def turn(at: int) -> None:
            current = await one.read(request, who="alice@acme.example")
            arguments = {**current["arguments"], "amount": str(4000 - at)}
            gates = asyncio.gather(
                submit(one, payment("1", reference=f"a{at}")), submit(other, payment("1", reference=f"b{at}"))
            )
            people = asyncio.gather(
                one.decide(current, who="bob@acme.example"),
                other.decide(current, arguments=arguments, typed=current["code"]),
            )
            said, verdicts = await asyncio.gather(gates, people)
            assert [each["decision"] for each in said] == ["allow", "allow"]
            assert {each.status_code for each in verdicts} <= {200, 409}

        for at in range(1, 9):
            await turn(at)
            if (await one.read(request))["state"] != "pending":
                break
        await unbroken([one])
