"""What an auditor reads of payments a year later: who was asked, about how much to whom, and what an approval took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.cli.beside_database import render_event
from tests.fixtures.standing import RITA, approved, break_glass, standing, submit, write_standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.fixtures.gateway import Gateway

WIRE = {"payee": "Acme Ltd", "amount": "400", "currency": "CNY"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org that permits standing approvals and names who may break its glass."""
    return write_standing(tmp_path)


async def told(g: Gateway, request: dict[str, Any]) -> list[str]:
    events = await g.container.read.story("acme", request["id"])
    return [render_event(event).partition("UTC  ")[2].partition("  [")[0] for event in events]


@requirement("S-41")
async def test_the_trail_says_how_much_to_whom_and_what_spoke_against_it(gateway: Gateway) -> None:
    request = await gateway.ask("wire", {**WIRE, "payee": "New & Co\nLtd"})
    assert (await told(gateway, request))[0] == (
        r"agent:shop asked for wire (\xa5400.00 CNY to New & Co\nLtd); the rule wire asks people about it "
        "(First payment to them)"
    )


@requirement("S-41")
async def test_the_trail_says_at_which_level_somebody_approved(gateway: Gateway) -> None:
    gateway.rewrite("- id: wire\n", "- id: wire\n    assurance: L2\n")
    await gateway.reload()
    request = await gateway.ask("wire", WIRE)
    assert (await gateway.decide(request, who=RITA, typed="400")).status_code == 200
    first, *_, last = await told(gateway, request)
    assert first.endswith("the rule wire asks people about it at L2 (First payment to them)")
    assert last == f"{RITA} approved on api at L2; that was enough"


@requirement("S-41", "S-50")
async def test_the_trail_never_says_that_people_are_asked_where_nobody_is(gateway: Gateway) -> None:
    base = await approved(gateway, "wire", WIRE)
    await standing(gateway, base)
    under = (await submit(gateway, "wire", {**WIRE, "amount": "5"}))["request"]
    lines = await told(gateway, under)
    assert lines[0] == "agent:shop asked for wire (¥5.00 CNY to Acme Ltd); the rule wire asks nobody"
    assert "asks people" not in " ".join(lines)
    await break_glass(gateway)
    glass = (await submit(gateway))["request"]
    lines = await told(gateway, glass)
    assert "asks people" not in " ".join(lines)
    assert any(line.startswith("agent:shop may run pay under the broken glass gls_") for line in lines), lines
