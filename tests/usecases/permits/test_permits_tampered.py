"""Whoever has the database alone lets no call pass by a permission that is over, used up, or that nobody gave."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.dialects import postgresql, sqlite
from structlog.testing import capture_logs

from app.storage.permits.permits import _LOCK
from app.usecases.proving.verify_trail import VerifyTrail
from tests.fixtures.standing import ALICE, BOB, PAY, RITA, approved, break_glass, propose, standing, submit
from tests.fixtures.standing import write_standing as write
from tests.fixtures.tampering import Stranger, changed
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

LATER = "(SELECT max(proposed_at) + 240000000 FROM standing_approvals)"
ALIVE = "status = 'active', revoked_by = NULL, revoked_at = NULL, used = 0, confirmed_at = proposed_at + 1"
ALIVE += f", expires_at = {LATER}"
LISTS = ("/v1/standing-approvals", "/v1/break-glass")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org that permits standing approvals and names who may break its glass."""
    return write(tmp_path)


async def _told(g: Gateway) -> list[str]:
    return [fault.text for fault in (await VerifyTrail(store=g.container.store, head_file=None)("acme")).faults]


async def _small(g: Gateway, number: int) -> str:
    """Pay something that the standing approval is of, and say what was decided."""
    said = await submit(g, arguments={**PAY, "amount": str(number)})
    return "allow" if said["decision"] == "allow" or said["request"]["state"] == "approved" else said["decision"]


def _set_back(stranger: Stranger) -> None:
    for row in stranger.kept["standing_approvals"]:
        stranger(f"DELETE FROM standing_approvals WHERE id = '{row['id']}'")
        stranger.add("standing_approvals", **row)


def _changed(stranger: Stranger, change: str) -> None:
    if change.startswith("set back"):
        _set_back(stranger)
        if change.endswith("paid"):  # its sum is that of then, too
            stranger("DELETE FROM spends WHERE standing_id IS NOT NULL")
    else:
        stranger(f"UPDATE standing_approvals SET {change}")


@requirement("S-50", "S-63", "S-64")
@pytest.mark.parametrize("change", [ALIVE, f"{ALIVE}, seal = NULL", "set back"])
@pytest.mark.parametrize("kind", ["glass", "standing"])
async def test_what_was_ended_permits_nothing_whatever_its_row_says(
    either_gateway: Gateway, kind: str, change: str
) -> None:
    g = either_gateway
    made = await (break_glass(g) if kind == "glass" else standing(g))
    stranger = await to_thread(Stranger, g)
    assert await _small(g, 10) == "allow"
    if kind == "glass":
        assert (await g.call("POST", f"/v1/break-glass/{made['id']}/end", {}, who=ALICE)).status_code == 200
    else:
        assert (await g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who="admin")).status_code == 200
    assert await _told(g) == [], "no false alarm"
    await to_thread(_changed, stranger, change)
    assert await _small(g, 11) == "ask"
    assert any(made["id"] in told for told in await _told(g))
    for path in LISTS:
        assert (await g.call("GET", path, who=RITA)).status_code == 200


@requirement("S-29", "S-63", "S-64")
@pytest.mark.parametrize("change", ["used = 0", "used = 0, seal = NULL", "set back", "set back as if nothing was paid"])
async def test_what_is_used_up_is_used_no_more_whatever_its_row_says(either_gateway: Gateway, change: str) -> None:
    g = either_gateway
    made = await standing(g, uses=2)
    stranger = await to_thread(Stranger, g)
    assert [await _small(g, 10), await _small(g, 11), await _small(g, 12)] == ["allow", "allow", "ask"]
    assert await _told(g) == [], "no false alarm"
    await to_thread(_changed, stranger, change)
    with capture_logs() as logs:
        assert await _small(g, 13) == "ask"
    alarms = {each["permit"] for each in logs if each["event"] == "standing.unsealed"}
    assert alarms == {made["id"]}
    assert any(made["id"] in told for told in await _told(g))
    ended = await g.call("DELETE", f"/v1/standing-approvals/{made['id']}", who="admin")
    assert ended.json()["state"] == "revoked", "it is ended as any other"


@requirement("S-29", "S-63")
async def test_what_was_approved_under_one_that_is_changed_by_hand_does_not_run(either_gateway: Gateway) -> None:
    g = either_gateway
    await break_glass(g)
    request = (await submit(g, arguments=PAY))["request"]
    assert request["state"] == "approved"
    await to_thread(await to_thread(Stranger, g), f"UPDATE standing_approvals SET expires_at = {LATER}")
    assert (await g.claim(request)).status_code != 200


@requirement("S-29", "S-63")
async def test_nobody_confirms_what_was_changed_since_it_was_proposed(either_gateway: Gateway) -> None:
    g = either_gateway
    proposed = (await propose(g, await approved(g))).json()
    await to_thread(await to_thread(Stranger, g), "UPDATE standing_approvals SET proposed_by = 'olga@acme.example'")
    said = await g.call(
        "POST", f"/v1/standing-approvals/{proposed['id']}/confirm", {"digest": proposed["digest"]}, who=BOB
    )
    assert said.status_code == 409


@requirement("S-50", "S-63")
async def test_a_review_does_not_seal_what_was_changed_by_hand(either_gateway: Gateway) -> None:
    g = either_gateway
    made = await break_glass(g)
    assert (await g.call("POST", f"/v1/break-glass/{made['id']}/end", {}, who=ALICE)).status_code == 200
    await to_thread(await to_thread(Stranger, g), f"UPDATE standing_approvals SET {ALIVE}")
    review = await g.call("POST", f"/v1/break-glass/{made['id']}/review", {"note": "looked"}, who=RITA)
    assert review.status_code == 200
    assert g.rows("SELECT seal FROM standing_approvals") == [{"seal": None}]
    assert await _small(g, 10) == "ask"


@requirement("S-64")
@pytest.mark.parametrize("change", ["review = 'fine'", "last_used_at = 1", "seal = NULL", "confirmed_at = 1"])
async def test_verifying_names_what_the_trail_does_not_say_of_a_row(either_gateway: Gateway, change: str) -> None:
    g = either_gateway
    made = await standing(g)
    assert await _told(g) == []
    await to_thread(await to_thread(Stranger, g), f"UPDATE standing_approvals SET {change}")
    assert any(made["id"] in told for told in await _told(g))


@requirement("S-64")
async def test_a_use_that_is_counted_again_is_named(either_gateway: Gateway) -> None:
    g = either_gateway
    made = await standing(g, uses=2)
    stranger = await to_thread(Stranger, g)
    assert [await _small(g, 10), await _small(g, 11)] == ["allow", "allow"]
    events, _ = await g.container.read.trail("acme", after=-1, most=1000)
    [last] = [each for each in events if each.record.kind == "standing.used"][1:]

    def again(facts: dict[str, Any]) -> None:
        facts["used"] = 1

    await to_thread(stranger.rewrite, [changed(each, again) if each is last else each for each in events])
    await to_thread(stranger, "UPDATE standing_approvals SET used = 1")
    assert f"use 1 of the standing {made['id']} comes after use 1" in " ".join(await _told(g))


CELLS = [
    f"{name} = {bad}"
    for name in (
        "proposed_at",
        "expires_at",
        "confirmed_at",
        "revoked_at",
        "last_used_at",
        "kind",
        "status",
        "used",
        "id",
    )
    for bad in ("'[[['", str(1 << 62), "X'ff00'")
] + ["org = 'elsewhere', expires_at = 1"]


@requirement("S-29", "S-64")
@pytest.mark.parametrize("kind", ["glass", "standing"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.sampled(6)
async def test_a_cell_that_no_gateway_wrote_leaves_calls_to_people_and_ends_no_list(
    gateway: Gateway, kind: str, cell: str
) -> None:
    g = gateway
    await (break_glass(g) if kind == "glass" else standing(g))
    assert await _small(g, 10) == "allow"
    stranger = await to_thread(Stranger, g)
    await to_thread(stranger, "PRAGMA ignore_check_constraints = ON", f"UPDATE standing_approvals SET {cell}")
    with capture_logs() as logs:
        assert await _small(g, 11) == "ask"
        for path in LISTS:
            listed = await g.call("GET", f"{path}?limit=1", who=RITA)
            assert listed.status_code == 200
            assert "active" not in {each["state"] for each in listed.json()["items"]}
            if listed.json()["next_cursor"]:
                assert (
                    await g.call("GET", f"{path}?cursor={listed.json()['next_cursor']}", who=RITA)
                ).status_code == 200
    assert not any(each["log_level"] == "error" for each in logs)
    assert await g.container.services.break_glass.end_over() in {0, 1}
    assert await _told(g) != []


@requirement("S-29")
async def test_how_often_the_trail_says_that_one_was_used_is_found_by_an_index(either_gateway: Gateway) -> None:
    lite = either_gateway.url.startswith("sqlite")
    dialect: Any = (sqlite if lite else postgresql).dialect()
    values = {"for_org": "acme", "permit_id": "sta_1"}
    asked = str(_LOCK._construct.params(values).compile(dialect=dialect, compile_kwargs={"literal_binds": True}))  # type: ignore[attr-defined]

    def plan() -> str:
        with Stranger(either_gateway)._connected() as connection:
            connection.execute("SELECT 1" if lite else "SET enable_seqscan = off")  # of a table that has a few rows
            found = connection.execute(f"EXPLAIN {'QUERY PLAN' if lite else ''} {asked}").fetchall()
            return "\n".join(str(dict(row)) for row in found)

    assert "ix_audit_events_permits" in await to_thread(plan)
