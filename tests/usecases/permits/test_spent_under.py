"""Whoever has the database alone lets nobody spend more under a permission than the people who gave it allowed."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import bindparam, select, update
from structlog.testing import capture_logs

from app.storage.engine.transaction import Statement
from app.storage.identity.sealed_rows import seal_of
from app.storage.tables.payment_tables import standing_approvals
from app.usecases.proving.verify_trail import VerifyTrail
from tests.fixtures.standing import PAY, RITA, break_glass, standing, submit
from tests.fixtures.standing import write_standing as write
from tests.fixtures.tampering import Stranger, changed
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway

OF_BOTH = {"each": {"CNY": "500"}, "total": {"CNY": "900"}}
UNDER = "standing_id IS NOT NULL"
NEWEST = f"(SELECT max(id) FROM spends WHERE {UNDER})"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org that permits standing approvals and names who may break its glass."""
    return write(tmp_path)


async def _told(g: Gateway) -> list[str]:
    return [fault.text for fault in (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults]


async def _pay(g: Gateway, amount: int) -> str:
    said = await submit(g, arguments={**PAY, "amount": str(amount)})
    return "allow" if said["decision"] == "allow" or said["request"]["state"] == "approved" else said["decision"]


async def _made(g: Gateway, kind: str) -> dict[str, Any]:
    return await (break_glass(g) if kind == "glass" else standing(g, **OF_BOTH))


def _change(stranger: Stranger, change: str) -> None:
    """Change what was paid; or load the rows as they were at first, or add one that is like another."""
    if change == "set back":
        stranger("DELETE FROM spends")
        for row in stranger.kept["spends"]:
            stranger.add("spends", **row)
    elif change == "one more":
        row = stranger.ask(f"SELECT * FROM spends WHERE id = {NEWEST}")[0]
        stranger.add("spends", **{**row, "id": "spd_more", "seal": None, "amount": 1})
    else:
        stranger(change)


CHANGES = [
    f"DELETE FROM spends WHERE {UNDER}",
    f"DELETE FROM spends WHERE id = {NEWEST}",
    "set back",
    "one more",
    f"UPDATE spends SET amount = 1 WHERE {UNDER}",
    f"UPDATE spends SET amount = 1, seal = NULL WHERE {UNDER}",
    f"UPDATE spends SET currency = 'EUR', seal = NULL WHERE id = {NEWEST}",
    f"UPDATE spends SET org = 'elsewhere' WHERE {UNDER}",
    f"UPDATE spends SET standing_id = NULL, seal = NULL WHERE id = {NEWEST}",
    f"UPDATE spends SET standing_id = 'sta_other', seal = NULL WHERE id = {NEWEST}",
    "UPDATE standing_approvals SET spent = '{}'",
    "UPDATE standing_approvals SET spent = NULL",
    f"""UPDATE standing_approvals SET spent = '{{"CNY":"1"}}'; UPDATE spends SET amount = 5000 WHERE {UNDER}""",
]


@requirement("S-29", "S-64")
@pytest.mark.parametrize("kind", ["glass", "standing"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sampled(6)
async def test_whoever_takes_payments_away_lets_no_more_pass_and_is_named(
    either_gateway: Gateway, kind: str, change: str
) -> None:
    g = either_gateway
    made = await _made(g, kind)
    assert await _pay(g, 310) == "allow"
    stranger = await to_thread(Stranger, g)
    assert await _pay(g, 320) == "allow"
    assert await _told(g) == [], "no false alarm"
    for each in change.split("; "):
        await to_thread(_change, stranger, each)
    with capture_logs() as logs:
        assert await _pay(g, 5) == "ask"
    alarms = [str(each.get("permit")) for each in logs if each["event"] == "standing.unsealed"]
    assert made["id"] in alarms
    told = await _told(g)
    assert any(made["id"] in text for text in told), told
    listed = (await g.call("GET", f"/v1/{'break-glass' if kind == 'glass' else 'standing-approvals'}", who=RITA)).json()
    assert [each["state"] for each in listed["items"] if each["id"] == made["id"]] == ["unreadable"]


@requirement("S-29")
async def test_what_was_approved_under_one_whose_payments_were_taken_away_does_not_run(either_gateway: Gateway) -> None:
    g = either_gateway
    await break_glass(g)
    request = (await submit(g, arguments=PAY))["request"]
    await to_thread(await to_thread(Stranger, g), f"DELETE FROM spends WHERE {UNDER}")
    assert (await g.claim(request)).status_code != 200


@requirement("S-29", "S-64")
async def test_a_sum_that_is_lowered_together_with_its_payments_permits_nothing(gateway: Gateway) -> None:
    g = gateway
    made = await standing(g, **OF_BOTH)
    assert await _pay(g, 400) == "allow"
    lowered = """UPDATE standing_approvals SET spent = '{"CNY":"1"}'"""
    await to_thread(await to_thread(Stranger, g), lowered, f"UPDATE spends SET amount = 10000 WHERE {UNDER}")
    assert await _pay(g, 5) == "ask"
    assert f"the row of standing {made['id']}" in " ".join(await _told(g))


@requirement("S-64")
async def test_payments_that_change_places_under_a_permission_are_named_though_their_sum_is_the_same(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    made = await standing(g)
    assert [await _pay(g, 10), await _pay(g, 20)] == ["allow", "allow"]
    swapped = f"UPDATE spends SET amount = 300000 - amount, seal = NULL WHERE {UNDER}"
    await to_thread(await to_thread(Stranger, g), swapped)
    assert any("unsealed payments" in each and made["id"] in each for each in await _told(g))


@requirement("S-64")
async def test_each_use_says_in_the_trail_what_was_spent_with_it_and_the_answer_says_so_too(gateway: Gateway) -> None:
    g = gateway
    made = await standing(g)
    assert [await _pay(g, 10), await _pay(g, 20)] == ["allow", "allow"]
    events, _ = await g.container.read.trail("acme", after=-1, most=1000)
    said = [each.record.facts["spent"] for each in events if each.record.kind == "standing.used"]
    assert said == [{"CNY": "10"}, {"CNY": "30"}]
    ended = (await g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who="admin")).json()
    assert (ended["state"], ended["spent"]) == ("revoked", {"CNY": "30"})


async def _as_before(g: Gateway, stranger: Stranger) -> None:
    """Make the trail and the row those of a release that said in neither what was spent."""
    events, _ = await g.container.read.trail("acme", after=-1, most=1000)
    old = [changed(each, lambda facts: facts.pop("spent", None)) for each in events]
    await to_thread(stranger.rewrite, old)

    def unit(tx: Tx) -> None:
        table = standing_approvals
        for row in tx.all(Statement(select(table).where(table.c.org == bindparam("for_org"))), for_org=tx.org):
            seal = seal_of(tx, table, {**row, "spent": None})
            anew = update(table).where(table.c.id == bindparam("of_id")).values(spent=None, seal=bindparam("new_seal"))
            tx.write(Statement(anew), of_id=row["id"], new_seal=seal)

    await g.container.store.write(unit, org="acme")


@requirement("S-29", "S-64")
async def test_one_of_before_it_was_said_goes_on_with_what_its_payments_say_and_is_held_from_its_next_use_on(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    made = await standing(g, each={"CNY": "500"}, total={"CNY": "900"})
    assert await _pay(g, 400) == "allow"
    stranger = await to_thread(Stranger, g)
    await _as_before(g, stranger)
    assert await _told(g) == [], "a trail of before verifies"
    assert await _pay(g, 100) == "allow"
    assert g.rows("SELECT spent FROM standing_approvals") == [{"spent": '{"CNY":"500"}'}]
    assert await _told(g) == []
    assert await _pay(g, 450) == "ask", "what was paid before counts"
    await to_thread(stranger, f"DELETE FROM spends WHERE {UNDER}")
    assert await _pay(g, 5) == "ask"
    assert any(made["id"] in each for each in await _told(g))
