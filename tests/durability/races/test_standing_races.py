"""Everybody at once at the last use and the last cent of a standing approval, and against its end: nobody gets more."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.durability.races.test_races import all_at_once
from tests.fixtures.gateway import open_gateway
from tests.fixtures.standing import ALICE, BOB, PAY, RITA, approved, confirm, propose, standing, submit, write_standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

CALLERS = 64
NOTE = {"to": "desk", "opts": 1}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose rules permit standing approvals."""
    return write_standing(tmp_path)


def used(g: Gateway) -> list[int]:
    return [row["used"] for row in g.rows("SELECT used FROM standing_approvals ORDER BY proposed_at")]


@requirement("S-26")
async def test_of_64_at_the_last_use_exactly_one_is_let_through(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with (
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as g,
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as other,
    ):
        await standing(g, await approved(g, "note", NOTE), uses=1, lasts_seconds=3_600, each=None, total=None)
        await other.key("agent:shop")
        said = await all_at_once(*(submit((g, other)[n % 2], "note", {**NOTE, "n": n}) for n in range(CALLERS)))
        assert Counter(each["decision"] for each in said) == {"allow": 1, "ask": CALLERS - 1}
        assert used(g) == [1]
        assert g.rows("SELECT count(*) AS n FROM audit_events WHERE kind = 'standing.used'") == [{"n": 1}]
        assert await g.verify() == (len(g.trail()), None)


@requirement("S-26", "S-31")
async def test_of_64_payments_at_once_no_more_than_the_sum_and_the_uses_go_through(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with (
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as g,
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as other,
    ):
        await standing(g, total={"CNY": "1400"})
        await other.key("agent:shop")
        calls = (submit((g, other)[n % 2], "pay", {**PAY, "amount": "466.67"}) for n in range(CALLERS))
        said = await all_at_once(*calls)
        assert Counter(each["decision"] for each in said) == {"allow": 2, "ask": CALLERS - 2}
        assert used(g) == [2]
        spent = g.rows("SELECT sum(amount) AS sum FROM spends WHERE standing_id IS NOT NULL")
        assert [int(row["sum"]) for row in spent] == [2 * 4_666_700]


@requirement("S-26")
async def test_after_a_revocation_is_answered_no_call_passes_on_any_replica(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with (
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as g,
        open_gateway(database_url, config, platform, calls_per_second=1_000.0) as other,
    ):
        base = await approved(g, "note", NOTE)
        await other.key("agent:shop")
        terms = {"uses": 3, "lasts_seconds": 3_600, "each": None, "total": None}
        for _ in range(4):
            made = await standing(g, base, **terms)
            ended = g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who=RITA)
            racing = [submit(other, "note", {**NOTE, "text": "racing"}) for _ in range(4)]
            answered, *_ = await all_at_once(ended, *racing)
            assert answered.json()["state"] == "revoked"
            late = await asyncio.gather(*(submit(where, "note", NOTE) for where in (g, other, g, other)))
            assert {each["decision"] for each in late} == {"ask"}
        assert all(times <= 3 for times in used(g))


@requirement("S-26")
async def test_of_many_who_confirm_at_once_one_is_the_second_person(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        proposed = (await propose(g, await approved(g))).json()
        for who in (ALICE, BOB, RITA):
            await g.key(who)
        said = await all_at_once(*(confirm(g, proposed, who=who) for who in (ALICE, BOB, RITA, BOB, RITA)))
        [row] = g.rows("SELECT confirmed_by FROM standing_approvals")
        good = [answer.json()["confirmed_by"] for answer in said if answer.status_code == 200]
        assert good == [row["confirmed_by"]] * 2
        assert row["confirmed_by"] in {BOB, RITA}
        kinds = [kind for kind, _ in g.trail()]
        assert kinds.count("standing.confirmed") == 1
