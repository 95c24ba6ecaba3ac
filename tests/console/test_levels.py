"""What each level of assurance takes on the page."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import pytest

from app.domain.card.own_approval import approval_told
from app.domain.text.language import Language
from app.storage.requests.requests import find_request
from tests.fixtures.review_visits import URL, Visitor, press, sentence
from tests.fixtures.second_factors import ALICE, BOB, STEPS_UP, asked, enrolled, forward
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
    locked = (await visitor.look(request)).text
    assert "nothing more is looked at for 15 min" in locked
    assert ('value="deny"' in locked, 'value="approve"' in locked) == (True, False)
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
    assert "Tries left: 2." in sentence(wrong)
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


async def test_the_card_of_what_no_click_approves_leads_to_the_page_that_does(
    gateway: Gateway, visitor: Visitor
) -> None:
    gateway.rewrite("assurance: L3, stages: [{of: [finance]}], channels: [api]",
                    "assurance: L3, stages: [{of: [finance]}], channels: [chat, api]")  # fmt: skip
    await gateway.reload()
    phone = await enrolled(gateway)
    request = await asked(gateway, "L3")
    await gateway.quiet()
    card = gateway.card(request).card
    assert card.buttons is not None
    assert card.buttons.approve is None
    assert str(card.withheld).startswith("No click approves this. Press “See all of it”, and approve it there")
    await visitor.enter(await visitor.press(request))
    page = (await visitor.look(request)).text
    given = {"typed": request["code"], "totp": phone.next(gateway)}
    assert (await press(visitor, request, "approve", page, **given)).status_code == 303
    assert (await gateway.read(request))["state"] == "approved"


async def test_the_notice_of_an_approval_says_what_still_stops_it_and_that_does(
    gateway: Gateway, visitor: Visitor
) -> None:
    phone = await enrolled(gateway)
    said = {
        "": f"take it back at once on {URL}/r/",
        "claim": "can no longer be stopped here",
        "back": "It will not run",
    }
    for number, (then, told) in enumerate(said.items()):
        forward(gateway)
        request = await asked(gateway, "L3", number)
        given = {"typed": request["code"], "totp": phone.next(gateway)}
        await press(visitor, request, "approve", await visitor.visit(request), **given)
        page = (await visitor.look(request)).text
        assert "Take my approval back" in page
        if then == "claim":
            assert (await gateway.claim(request)).status_code == 200
            assert "Take my approval back" not in (await visitor.look(request)).text
        if then == "back":
            assert (await press(visitor, request, "withdraw", page)).status_code == 303
        now = await gateway.container.store.read(lambda tx, of=request["id"]: find_request(tx, of), org="acme")
        assert now is not None
        assert told in str(approval_told(now, ALICE, Language.EN, UTC, page=f"{URL}/r/{now.id}"))
