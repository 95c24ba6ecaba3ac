"""What each level of assurance takes on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixtures.review_visits import URL, Visitor, press, sentence
from tests.fixtures.second_factors import ALICE, BOB, STEPS_UP, asked, enrolled
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def visitor(gateway: Gateway) -> Visitor:
    return Visitor(gateway=gateway)


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(f"url: {URL}\n{STEPS_UP}")
    return config


@requirement("S-29")
async def test_l2_takes_what_stands_there_typed_and_locks_after_three_wrong_tries(
    gateway: Gateway, visitor: Visitor
) -> None:
    request, other = await asked(gateway, "L2"), await asked(gateway, "L2", 1)
    page = await visitor.visit(request)
    assert "type the amount or the code" in sentence(await press(visitor, request, "approve", page))
    for left in (2, 1):
        wrong = await press(visitor, request, "approve", page, typed="80000")
        assert f"Tries left: {left}." in sentence(wrong)
    assert "Too many wrong tries" in sentence(await press(visitor, request, "approve", page, typed="1"))
    right = await press(visitor, request, "approve", page, typed="80000.50")
    assert "Too many wrong tries" in sentence(right)
    assert (await press(visitor, other, "approve", await visitor.visit(other), typed="¥80,000.50")).status_code == 303
    assert (await gateway.read(other))["state"] == "approved"


@requirement("S-29", "S-74")
async def test_l4_is_approved_on_the_page_by_two_people_each_with_their_own_factor(
    gateway: Gateway, visitor: Visitor
) -> None:
    request = await asked(gateway, "L4")
    assert "you have none" in await visitor.visit(request)
    phones = {who: await enrolled(gateway, who) for who in (ALICE, BOB)}
    page = await visitor.visit(request)
    assert "six digits" in sentence(await press(visitor, request, "approve", page, typed="80000.50"))
    wrong = await press(visitor, request, "approve", page, typed="80000.50", totp=phones[ALICE].wrong(gateway))
    assert "not what your app should show" in sentence(wrong)
    code = phones[ALICE].next(gateway)
    assert (await press(visitor, request, "approve", page, typed="80000.50", totp=code)).status_code == 303
    assert (await gateway.read(request))["state"] == "pending"
    of_bob = Visitor(gateway=gateway)
    page = await of_bob.visit(request, who=BOB)
    used = await press(of_bob, request, "approve", page, typed=request["code"], totp=code)
    assert used.status_code == 409
    code = phones[BOB].next(gateway)
    assert (await press(of_bob, request, "approve", page, typed=request["code"], totp=code)).status_code == 303
    assert (await gateway.read(request))["state"] == "approved"
