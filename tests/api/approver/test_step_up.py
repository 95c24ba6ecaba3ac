"""What an approval takes, over the API: typed texts and second factors, missing, wrong and right."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.gateway import open_gateway
from tests.fixtures.second_factors import (
    ALICE,
    BOB,
    LONGER_THAN_A_LOCK,
    STEPS_UP,
    Phone,
    asked,
    enrolled,
    forward,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

TYPED = ("none", "wrong", "code", "amount")
TOTPS = ("none", "wrong", "right")
WANTS = {"L1": set[str](), "L2": {"typed"}, "L3": {"typed", "totp"}, "L4": {"typed", "totp"}}


@pytest.fixture
async def g(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(STEPS_UP)
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


@pytest.fixture
async def either(database_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(STEPS_UP)
    async with open_gateway(database_url, config, platform) as running:
        yield running


def given(g: Gateway, phone: Phone, request: dict[str, Any], typed: str, totp: str) -> dict[str, str]:
    """Build what comes with an approval."""
    texts = {"wrong": "80000.51", "code": request["code"].lower(), "amount": "80,000.50"}
    codes = {"wrong": phone.wrong, "right": phone.next}
    sent = {"typed": texts[typed]} if typed != "none" else {}
    return sent | ({"totp": codes[totp](g)} if totp != "none" else {})


def refusals(g: Gateway, request: dict[str, Any]) -> list[str]:
    rows = g.rows(f"SELECT facts FROM audit_events WHERE kind = 'click.refused' AND request_id = '{request['id']}'")
    return [json.loads(row["facts"])["why"] for row in rows]


@requirement("S-29", "S-48")
@pytest.mark.parametrize("level", WANTS)
async def test_an_approval_counts_exactly_if_it_proves_what_its_level_takes(g: Gateway, level: str) -> None:
    phone = await enrolled(g)
    for number, (typed, totp) in enumerate(product(TYPED, TOTPS)):
        forward(g, LONGER_THAN_A_LOCK)  # each case begins without the mistakes of the one before
        request = await asked(g, level, number)
        assert request["assurance"] == level
        said = await g.decide(request, who=ALICE, **given(g, phone, request, typed, totp))
        case = (level, typed, totp)
        missing = WANTS[level] - ({"typed"} if typed != "none" else set()) - ({"totp"} if totp != "none" else set())
        why = "step_up" if missing else "wrong_code" if typed == "wrong" else "wrong_totp" if totp == "wrong" else None
        after = await g.read(request)
        if why is None:
            assert said.status_code == 200, case
            assert after["state"] == ("pending" if level == "L4" else "approved"), case
            worth = "L1" if typed == "none" else "L2" if totp == "none" else "L3"
            assert [each["assurance"] for each in after["decisions"]] == [worth], case
        else:
            body = said.json()
            assert (said.status_code, body["code"]) == (403, "step_up_needed"), case
            assert set(body.get("missing", [])) == missing, case
            assert (after["version"], after["decisions"]) == (1, []), case
            assert refusals(g, request) == [why], case
            assert (await g.decide(request, "deny", who=ALICE)).status_code == 200, case  # no is always one call


@requirement("S-29")
async def test_whoever_has_no_second_factor_is_told_what_is_missing_and_whom_to_ask(g: Gateway) -> None:
    request = await asked(g, "L3")
    said = (await g.decide(request)).json()
    assert said["detail"] == (
        "this takes L3: send `typed` (the amount or the code shown) and `totp` (the six digits of your second factor); "
        "no second factor is set up for you: ask an administrator for an invitation"
    )
    assert said["assurance"] == "L3"
    also = await g.decide(request, typed=request["code"], totp="123456")
    assert (also.status_code, also.json()["missing"]) == (403, [])
    assert "ask an administrator" in also.json()["detail"]
    assert (await g.read(request))["state"] == "pending"
    assert g.rows("SELECT * FROM attempts") == []


@requirement("S-29", "S-23")
async def test_the_highest_level_takes_two_people_each_with_both(g: Gateway) -> None:
    alice, bob = await enrolled(g), await enrolled(g, BOB)
    forward(g)
    request = await asked(g, "L4")
    one = given(g, alice, request, "code", "right")
    assert (await g.decide(request, **one)).json()["state"] == "pending"
    assert (await g.decide(request, **one)).json()["state"] == "pending"  # the same person again is one person
    forward(g)
    assert (await g.decide(request, who=BOB, typed=request["code"])).status_code == 403
    assert (await g.decide(request, who=BOB, **given(g, alice, request, "code", "right"))).status_code == 403
    second = await g.decide(request, who=BOB, **given(g, bob, request, "amount", "right"))
    assert second.json()["state"] == "approved"


@requirement("S-29", "S-20")
async def test_a_code_works_once_also_for_two_approvals_at_once(either: Gateway) -> None:
    g, phone = either, await enrolled(either)
    first, second = await asked(g, "L3", 1), await asked(g, "L3", 2)
    totp = phone.next(g)
    said = await asyncio.gather(
        *(g.decide(each, typed=each["code"], totp=totp) for each in (first, second)),
    )
    assert sorted(each.status_code for each in said) == [200, 403]
    refused = next(each.json() for each in said if each.status_code == 403)
    assert "used already" in refused["detail"]
    assert sorted([(await g.read(each))["state"] for each in (first, second)]) == ["approved", "pending"]
    assert g.rows("SELECT * FROM attempts") == []  # whoever has the code did not guess it


@requirement("S-29")
async def test_an_answer_that_was_lost_can_be_asked_for_again(g: Gateway) -> None:
    phone = await enrolled(g)
    forward(g)
    request = await asked(g, "L3")
    sent = given(g, phone, request, "code", "right")
    assert (await g.decide(request, **sent)).json()["state"] == "approved"
    assert (await g.decide(request, **sent)).json()["state"] == "approved"


@requirement("S-29")
async def test_a_phone_may_be_half_a_minute_off_and_no_more(g: Gateway) -> None:
    phone = await enrolled(g)
    forward(g, LONGER_THAN_A_LOCK)
    now = phone.shown + LONGER_THAN_A_LOCK.seconds // 30
    for number, (off, status) in enumerate({-2: 403, -1: 200, 1: 200, 2: 403}.items()):
        request = await asked(g, "L3", number)
        said = await g.decide(request, typed=request["code"], totp=phone.of(now + off))
        assert said.status_code == status, off
    late = await asked(g, "L3", 9)
    assert (await g.decide(late, typed=late["code"], totp=phone.of(now))).status_code == 403  # a later one was used


@requirement("S-29")
async def test_three_wrong_codes_lock_a_person_out_of_every_request_for_a_quarter_of_an_hour(g: Gateway) -> None:
    phone, other = await enrolled(g), await enrolled(g, BOB)
    forward(g)
    requests = [await asked(g, "L3", number) for number in range(4)]
    for left, request in zip((2, 1), requests, strict=False):
        said = (await g.decide(request, typed=request["code"], totp=phone.wrong(g))).json()
        assert (said["code"], said["wrong"], said["left"]) == ("step_up_needed", "totp", left)
    locking = await g.decide(requests[2], typed=requests[2]["code"], totp=phone.wrong(g))
    assert (locking.status_code, locking.json()["code"]) == (403, "locked")
    assert (locking.json()["retry_after"], locking.headers["retry-after"]) == (900, "900")
    right = {"typed": requests[3]["code"], "totp": phone.next(g)}
    assert (await g.decide(requests[3], **right)).json()["code"] == "locked"
    assert [actor for kind, actor in g.trail() if kind == "approver.locked"] == [ALICE]
    assert (await g.decide(requests[3], "deny")).status_code == 200
    bobs = given(g, other, requests[0], "code", "right")
    assert (await g.decide(requests[0], who=BOB, **bobs)).json()["state"] == "approved"
    forward(g, LONGER_THAN_A_LOCK)
    again = given(g, phone, requests[1], "code", "right")
    assert (await g.decide(requests[1], **again)).json()["state"] == "approved"
    assert g.rows("SELECT * FROM attempts") == []


@requirement("S-29")
async def test_three_wrong_texts_lock_a_person_out_of_that_request_alone(g: Gateway) -> None:
    first, second = await asked(g, "L2", 1), await asked(g, "L2", 2)
    for _ in range(2):
        assert (await g.decide(first, typed="1")).json()["wrong"] == "typed"
    assert (await g.decide(first, typed="1")).json()["code"] == "locked"
    assert (await g.decide(first, typed=first["code"])).json()["code"] == "locked"
    assert (await g.decide(second, typed=second["code"])).json()["state"] == "approved"
    assert refusals(g, first) == ["wrong_code", "wrong_code", "wrong_code", "locked"]
    assert ("approver.locked", ALICE) in g.trail(first)


@requirement("S-29")
async def test_a_right_code_beside_a_wrong_text_is_neither_told_nor_spent(g: Gateway) -> None:
    phone = await enrolled(g)
    forward(g)
    request = await asked(g, "L3")
    totp = phone.next(g)
    wrong = (await g.decide(request, typed="1", totp=totp)).json()
    assert (wrong["wrong"], "totp" in wrong["detail"]) == ("typed", False)
    assert (await g.decide(request, totp=totp)).json()["missing"] == ["typed"]
    assert (await g.decide(request, typed=request["code"], totp=totp)).json()["state"] == "approved"


@requirement("S-29", "S-06")
async def test_a_code_of_somebody_whose_approval_would_not_count_is_not_looked_at(g: Gateway) -> None:
    await enrolled(g)
    dave = await enrolled(g, "dave@acme.example")
    forward(g)
    request = await asked(g, "L3")
    for _ in range(4):
        said = await g.decide(request, who="dave@acme.example", typed="1", totp=dave.wrong(g))
        assert (said.status_code, said.json()["code"]) == (403, "not_eligible")
    assert g.rows("SELECT * FROM attempts") == []
    own = await g.ask("pay_L3", {"payee": "x", "amount": 1, "currency": "CNY"}, requester=ALICE)
    assert (await g.decide(own, typed=own["code"], totp="000000")).json()["code"] == "not_eligible"


@requirement("S-29")
async def test_a_changed_call_takes_its_own_level_and_the_code_that_was_shown_or_the_new_amount(g: Gateway) -> None:
    phone = await enrolled(g)
    forward(g)
    for number, text in enumerate(("code", "70,000")):
        request = await asked(g, "L3", number)
        lower = {**request["arguments"], "amount": "70000"}
        nothing = await g.decide(request, arguments=lower)
        assert (nothing.status_code, nothing.json()["missing"]) == (403, ["typed", "totp"])
        stale = await g.decide(request, arguments=lower, typed="80000.50", totp=phone.next(g))
        assert stale.json()["wrong"] == "typed"
        assert (await g.read(request))["digest"] == request["digest"]
        forward(g)
        typed = request["code"] if text == "code" else text
        said = await g.decide(request, arguments=lower, typed=typed, totp=phone.next(g))
        assert said.status_code == 200, said.text
        after = await g.read(request)
        assert after["arguments"]["amount"] == "70000"
        forward(g)


@requirement("S-29")
async def test_nothing_changed_is_an_approval_that_takes_the_same(g: Gateway) -> None:
    phone = await enrolled(g)
    forward(g)
    request = await asked(g, "L3")
    same = request["arguments"]
    assert (await g.decide(request, arguments=same)).json()["code"] == "step_up_needed"
    assert (await g.decide(request, arguments=same, typed="1", totp=phone.next(g))).json()["wrong"] == "typed"
    forward(g)
    sent = given(g, phone, request, "amount", "right")
    assert (await g.decide(request, arguments=same, **sent)).json()["state"] == "approved"


@requirement("S-29")
async def test_programs_are_shown_the_level_the_payments_and_what_is_wrong_in_a_body(g: Gateway) -> None:
    request = await asked(g, "L2")
    assert request["payments"] == [{"amount": "80000.5", "currency": "CNY", "payee": "Acme 0", "reference": "INV-1"}]
    assert [each["kind"] for each in request["cautions"]] == ["first_payee"]
    assert request["cautions"][0]["text"] == "Nobody here has paid Acme 0 before."
    bodies: list[dict[str, Any]] = [
        {"totp": "12345"},
        {"totp": 123456},
        {"totp": "１２３４５６"},
        {"typed": "x" * 201},
        {"typed": "a\0b"},
    ]
    for body in bodies:
        said = await g.decide(request, **body)
        assert (said.status_code, said.json()["path"]) == (422, next(iter(body))), body
