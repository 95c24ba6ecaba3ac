"""Passkeys: set up with an invitation, one answer for one approval, and a session begun; and every lie about them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.passkey_device import ORIGIN, PRESENT, VERIFIED, Device
from tests.console.signed_in import Home, field_of, told_error
from tests.fixtures.gateway import ManualClock
from tests.fixtures.review_visits import pressing, sentence, token_of, with_url
from tests.fixtures.second_factors import ALICE, BOB, STEPS_UP, asked, invited
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP)
    return with_url(config, ORIGIN)


@requirement("S-29", "S-85")
async def test_a_passkey_is_made_with_an_invitation_approves_at_l3_and_l4_and_signs_in(either_gateway: Gateway) -> None:
    gateway = either_gateway
    alice, bob = await Home.of(gateway), await Home.of(gateway, BOB)
    l3, l4 = await asked(gateway, "L3"), await asked(gateway, "L4")
    assert "you have none" in (await alice.get(f"/r/{l3['id']}")).text
    for home in (alice, bob):
        made = await home.make_passkey()
        assert (made.status_code, made.headers["location"]) == (303, "/me?done=passkey"), made.text
    page = (await alice.get(f"/r/{l3['id']}")).text
    assert f"/r/{l3['id']}/passkey" in page
    assert 'name="totp"' not in page
    assert (await alice.approve(l3)).status_code == 303
    assert (await gateway.read(l3))["state"] == "approved"
    assert (await alice.approve(l4)).status_code == 303
    assert (await gateway.read(l4))["state"] == "pending"
    assert (await bob.approve(l4)).status_code == 303
    assert (await gateway.read(l4))["state"] == "approved"
    said = {row["assurance"] for row in gateway.rows("SELECT assurance FROM decisions")}
    assert said == {"L3"}
    entered = await alice.sign_in()
    old = alice.session
    alice.take(entered)
    assert alice.session != old
    assert (await alice.get()).status_code == 200
    assert ("passkey.added", ALICE) in gateway.trail()
    assert gateway.trail().count(("person.signed_in", ALICE)) == 2
    assert (await gateway.verify())[1] is None


@requirement("S-85")
@pytest.mark.parametrize(
    ("device", "lies"),
    [
        (Device(origin="https://evil.example"), {}),
        (Device(site="evil.example"), {}),
        (Device(flags=PRESENT), {}),  # the device did not ask its person
        (Device(flags=VERIFIED), {}),  # nobody was there
        (Device(), {"challenge": "AAAA"}),
        (Device(), {"type": "webauthn.get"}),
    ],
)
@pytest.mark.sampled(3)
async def test_no_passkey_is_made_of_an_answer_that_lies_and_the_invitation_holds(
    gateway: Gateway, device: Device, lies: dict[str, Any]
) -> None:
    alice = await Home.of(gateway)
    sent = {"seal": await alice.seal(), "code": await invited(gateway, ALICE)}
    asked = (await alice.post("/me/passkeys/options", **sent)).json()
    answer = device.make(asked["options"], **lies)
    refused = await alice.post("/me/passkeys", **sent, challenge=asked["challenge"], answer=answer)
    assert "No passkey was made" in sentence_of(refused.text)
    assert gateway.rows("SELECT * FROM passkeys") == []
    assert (await alice.make_passkey(sent["code"])).status_code == 303


def sentence_of(page: str) -> str:
    """Return what a person's own page says."""
    return page.partition('id="told" role="alert">')[2].partition("</p>")[0]


@requirement("S-85")
async def test_an_invitation_makes_one_passkey_for_its_person_and_wrong_ones_are_counted(gateway: Gateway) -> None:
    alice, bob = await Home.of(gateway), await Home.of(gateway, BOB)
    code = await invited(gateway, ALICE)
    theirs = await bob.post("/me/passkeys/options", seal=await bob.seal(), code=code)
    assert (theirs.status_code, told_error(theirs)) == (409, told_error(theirs))
    assert "not your invitation" in told_error(theirs)
    assert (await alice.post("/me/passkeys/options", seal=await bob.seal(), code=code)).status_code == 401
    sent = {"seal": await alice.seal(), "code": code}
    foreign = await alice.post("/me/passkeys/options", **sent, origin="https://evil.example")
    assert foreign.status_code == 401
    first = (await alice.post("/me/passkeys/options", **sent)).json()
    answer = alice.device.make(first["options"])
    wrong = await alice.post("/me/passkeys", seal=sent["seal"], code="X", challenge=first["challenge"], answer=answer)
    assert "No passkey was made" in sentence_of(wrong.text)
    both = [await alice.post("/me/passkeys", **sent, challenge=first["challenge"], answer=answer) for _ in range(2)]
    assert [each.status_code for each in both] == [303, 409]
    for _ in range(2):
        await alice.post("/me/passkeys/options", **sent)
    locked = await alice.post("/me/passkeys/options", **sent)
    assert "Too many wrong tries" in told_error(locked)
    assert len(gateway.rows("SELECT * FROM passkeys")) == 1


@requirement("S-85")
@pytest.mark.parametrize(
    ("changed", "lies"),
    [
        ({"origin": "https://evil.example"}, {}),
        ({"site": "evil.example"}, {}),
        ({"flags": PRESENT}, {}),
        ({}, {"challenge": "AAAA"}),
        ({}, {"type": "webauthn.create"}),
    ],
)
@pytest.mark.sampled(3)
async def test_an_approval_takes_a_signature_of_this_site_by_its_person(
    gateway: Gateway, changed: dict[str, Any], lies: dict[str, Any]
) -> None:
    alice, request = await Home.of(gateway), await asked(gateway, "L3")
    await alice.make_passkey()
    for name, value in changed.items():
        setattr(alice.device, name, value)
    refused = await alice.approve(request, **lies)
    assert refused.status_code == 409
    assert "did not sign this very approval" in sentence(refused)
    assert gateway.trail(request)[-1] == ("click.refused", ALICE)
    assert (await gateway.read(request))["state"] == "pending"
    assert (await alice.sign_in(**lies)).status_code == 401


@requirement("S-85", "S-21")
async def test_what_was_signed_for_one_approval_is_good_for_no_other_and_not_twice(gateway: Gateway) -> None:
    alice, bob = await Home.of(gateway), await Home.of(gateway, BOB)
    alice.device.counts = False  # like most, which say 0 for ever
    one, other = await asked(gateway, "L4"), await asked(gateway, "L4", 1)
    for home in (alice, bob):
        await home.make_passkey()
    press, signed = await alice.asked(one)
    answer = alice.device.sign(signed["options"])
    given = {"verdict": "approve", "challenge": signed["challenge"], "answer": answer}

    async def sent(by: Home, request: dict[str, Any], page: str) -> int:
        return (await by.post(f"/r/{request['id']}", typed=request["code"], press=page, **given)).status_code

    assert await sent(alice, other, pressing((await alice.get(f"/r/{other['id']}")).text)) == 409
    assert await sent(bob, one, pressing((await bob.get(f"/r/{one['id']}")).text)) == 409
    assert (await alice.post("/sign-in/passkey", challenge=signed["challenge"], answer=answer)).status_code == 401
    assert (await gateway.read(one))["state"] == "pending"
    assert await sent(alice, one, press) == 303
    assert [row["person"] for row in gateway.rows("SELECT person FROM decisions")] == [ALICE]
    page = pressing((await alice.get(f"/r/{one['id']}")).text)
    assert (await alice.post(f"/r/{one['id']}", verdict="withdraw", press=page)).status_code == 303
    page = pressing((await alice.get(f"/r/{one['id']}")).text)
    assert await sent(alice, one, page) == 409  # it stands as it stood: only that it was used keeps it out
    assert gateway.rows("SELECT person FROM decisions") == []


@requirement("S-85")
async def test_an_answer_is_over_after_five_minutes_and_a_copied_device_is_found_out(gateway: Gateway) -> None:
    assert isinstance(gateway.clock, ManualClock)
    alice, request = await Home.of(gateway), await asked(gateway, "L3")
    await alice.make_passkey()
    press, signed = await alice.asked(request)
    given = {"verdict": "approve", "typed": request["code"], "press": press, "challenge": signed["challenge"]}
    gateway.clock.advance(timedelta(minutes=5))
    late = await alice.post(f"/r/{request['id']}", answer=alice.device.sign(signed["options"]), **given)
    assert late.status_code == 409
    assert (await alice.sign_in()).status_code == 303
    alice.device.signs -= 1  # its copy has signed before it
    assert (await alice.sign_in()).status_code == 401
    refused = [json.loads(row["facts"])["why"] for row in gateway.rows(
        "SELECT facts FROM audit_events WHERE kind = 'click.refused' ORDER BY seq")]  # fmt: skip
    assert refused == ["old_passkey_challenge", "copied_passkey"]
    assert (await alice.sign_in()).status_code == 303


@requirement("S-87")
async def test_a_person_sees_their_sessions_ends_one_and_signing_out_everywhere_ends_what_cards_opened(
    either_gateway: Gateway,
) -> None:
    gateway = either_gateway
    request = await asked(gateway, "L1")
    here, there, bob = await Home.of(gateway), await Home.of(gateway), await Home.of(gateway, BOB)
    link = (await gateway.call("POST", f"/v1/requests/{request['id']}/review-link", {}, who=ALICE)).json()["url"]
    card = Home(gateway=gateway)
    card.take(await card.post("/sign-in", t=token_of(link)))

    async def of_card() -> int:
        gateway.http.cookies.clear()
        headers = {"cookie": f"assent-link={card.session}"}
        return (await gateway.http.get(f"/r/{request['id']}", headers=headers)).status_code

    assert await of_card() == 200
    page = (await here.get("/me")).text
    assert page.count("by way of cli") == 2
    other = field_of(page, "session")
    assert (await bob.post("/me/sessions", seal=await bob.seal(), session=other)).status_code == 303
    assert (await there.get()).status_code == 200  # his seal ends none of hers
    assert (await here.post("/me/sessions", seal=await bob.seal(), session=other)).status_code == 401
    assert (await here.post("/me/sessions", seal=await here.seal(), session=other)).status_code == 303
    assert [(await each.get()).status_code for each in (there, here)] == [401, 200]
    assert await of_card() == 200
    assert (await here.post("/sign-out", seal=await here.seal(), where="everywhere")).status_code == 303
    assert [(await here.get()).status_code, await of_card(), (await bob.get()).status_code] == [401, 401, 200]


@requirement("S-09", "S-85")
async def test_whoever_is_alone_on_the_job_approves_their_own_call_with_a_passkey_and_the_page_says_so(
    gateway: Gateway,
) -> None:
    gateway.rewrite(
        "assurance: L3, stages: [{of: [finance]", f"assurance: L3, stages: [{{of: [{ALICE}], allow_alone: true"
    )
    await gateway.reload()
    arguments = {"payee": "Acme", "amount": "80000.50", "currency": "CNY", "ref": "INV-1"}
    alice, request = await Home.of(gateway), await gateway.ask("pay_L3", arguments, requester=ALICE)
    await alice.make_passkey()
    assert (await alice.approve(request)).status_code == 303
    page = (await alice.get(f"/r/{request['id']}")).text
    assert "alone: their own call, and nobody else may decide" in page
    assert (await gateway.read(request))["state"] == "approved"


@requirement("S-85", "S-39")
async def test_a_row_put_into_the_database_is_no_passkey_and_one_taken_away_works_no_more(gateway: Gateway) -> None:
    alice, bob, request = await Home.of(gateway), await Home.of(gateway, BOB), await asked(gateway, "L3")
    await alice.make_passkey()
    gateway.rows(f"UPDATE passkeys SET person = '{BOB}'")
    bob.device = alice.device
    assert (await bob.approve(request)).status_code == 409
    assert (await bob.sign_in()).status_code == 401
    gateway.rows(f"UPDATE passkeys SET person = '{ALICE}'")
    listed = (await gateway.call("GET", "/v1/factors", who="admin")).json()["passkeys"]
    [mine] = listed
    assert (mine["person"], mine["used_at"]) == (ALICE, None)
    gone = await gateway.call("DELETE", f"/v1/factors/{ALICE}/passkeys/{mine['id']}", who="admin")
    assert gone.status_code == 204
    assert (await gateway.call("DELETE", f"/v1/factors/{ALICE}/passkeys/{mine['id']}", who="admin")).status_code == 404
    assert (await alice.sign_in()).status_code == 401
    assert [kind for kind, _ in gateway.trail()[-2:]] == ["passkey.removed", "person.signed_out_by"]
    # Whoever has the device may be signed in on it: so nobody is any more; she comes back by another way.
    assert (await alice.get()).status_code == 401
    assert (await bob.get()).status_code == 200
    alice = await Home.of(gateway)
    assert "you have none" in (await alice.get(f"/r/{request['id']}")).text


@requirement("S-85")
async def test_what_no_database_can_be_asked_for_is_refused_as_any_other_that_is_none_of_ours(
    either_gateway: Gateway,
) -> None:
    gateway = either_gateway
    request = await asked(gateway, "L1")
    alice = await Home.of(gateway)
    press, seal = pressing((await alice.get(f"/r/{request['id']}")).text), await alice.seal()
    for name in ("\ud800", "a\0b", "ä", ""):
        refused = await Home(gateway=gateway).post("/sign-in/passkey", challenge="x", answer=json.dumps({"id": name}))
        assert refused.status_code == 401
    assert (await alice.post("/me/sessions", seal=seal, session="a\0b")).status_code == 401
    denied = await alice.post(f"/r/{request['id']}", verdict="deny", press=press, reason="no\0")
    assert denied.status_code == 401
    for path in ("/r/a%00b", "/console/requests/a%00b"):
        assert (await alice.get(path)).status_code == 404
    assert (await gateway.read(request))["state"] == "pending"


async def test_signing_out_everywhere_ends_what_a_card_opened_for_a_name_of_several_spellings(gateway: Gateway) -> None:
    gateway.rewrite("people:\n", "people:\n  straße@acme.example: {name: S}\n")
    await gateway.reload()
    request = await gateway.ask("by_api", requester="straße@acme.example")
    home, card = await Home.of(gateway, "straße@acme.example"), Home(gateway=gateway)
    way = await gateway.container.console.sessions._review.way("acme", request["id"], "strasse@acme.example")
    card.take(await card.post("/sign-in", t=token_of(way.url)))

    async def of_card() -> int:
        gateway.http.cookies.clear()
        headers = {"cookie": f"assent-link={card.session}"}
        return (await gateway.http.get(f"/r/{request['id']}", headers=headers)).status_code

    assert await of_card() == 200  # as a key of theirs opens it, whose name is folded
    assert (await home.post("/sign-out", seal=await home.seal(), where="everywhere")).status_code == 303
    assert await of_card() == 401
