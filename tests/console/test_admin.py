"""The administrators' page: who may open it, what it says, and what is done on it, by name and with a second factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.console.passkey_device import ORIGIN
from tests.console.signed_in import Home, field_of, told_error
from tests.fixtures.gateway import ManualClock
from tests.fixtures.review_visits import ReadPage, with_url
from tests.fixtures.second_factors import ALICE, BOB, DAVE, OLGA, enrolled, forward
from tests.requirements import requirement
from tests.usecases.voters.test_approvers import facts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

PAGE = "/console/admin"
ACTS = ("invite", "take", "sign-out", "revoke", "invite/options")


@pytest.fixture
def config(config: Path) -> Path:
    with_url(config, ORIGIN)
    file = config / "acme.yaml"
    roles = f'roles: {{admin: [{OLGA}, "claim:assent-admins"], operator: [{BOB}], auditor: [{DAVE}]}}\n'
    corp = (
        'sign_in: {corp: {issuer: "https://login.acme.example", client_id: a, client_secret: "${CORP}", groups: g}}\n'
    )
    file.write_text(file.read_text().replace("org: acme\n", f"org: acme\n{corp}{roles}"))
    return config


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fixtures import gateway as fixture

    opened = fixture.open_gateway
    monkeypatch.setattr(fixture, "open_gateway", lambda *given: opened(*given, environ={"CORP": "s3cret"}))


def texts(page: str) -> str:
    return " | ".join(ReadPage(page).texts)


@requirement("S-39", "S-89")
async def test_it_opens_to_administrators_alone_and_takes_forms_of_its_own_alone(gateway: Gateway) -> None:
    olga, bob, dave, alice = [await Home.of(gateway, who) for who in (OLGA, BOB, DAVE, ALICE)]
    assert [(await each.get(PAGE)).status_code for each in (olga, bob, dave, alice)] == [200, 403, 403, 403]
    assert (await gateway.http.get(PAGE)).status_code == 401
    key = (await gateway.container.keys.list("acme"))[0].id if gateway.keys else await made_key(gateway)
    before = gateway.content()
    for act in ACTS:
        sent = {"person": ALICE, "key": key, "sure": "yes", "totp": "000000"}
        for other in (bob, dave, alice):
            said = await other.post(f"{PAGE}/{act}", seal=await other.seal(), **sent)
            assert said.status_code in {401, 403, 409}, (act, said.text)
        assert (await olga.post(f"{PAGE}/{act}", seal=await bob.seal(), **sent)).status_code == 401
        assert (await olga.post(f"{PAGE}/{act}", seal=await olga.seal(), **sent, origin="https://evil.example")
                ).status_code == 401  # fmt: skip
    assert gateway.content() == before
    gateway.rewrite(f"admin: [{OLGA}, ", "admin: [")
    await gateway.reload()
    assert (await olga.get(PAGE)).status_code == 403


async def made_key(gateway: Gateway) -> str:
    await gateway.key("agent:shop")
    return (await gateway.container.keys.list("acme"))[0].id


@requirement("S-89")
async def test_it_says_who_has_what_and_a_key_without_its_secret(gateway: Gateway) -> None:
    key, olga = await made_key(gateway), await Home.of(gateway, OLGA)
    await enrolled(gateway, ALICE)
    await Home.of(gateway, ALICE)
    page = await olga.get(PAGE)
    said = texts(page.text)
    for told in ("administrator", "operator", "auditor", "app since", "assent-admins", key, "shop", "agent"):
        assert told in said
    assert gateway.keys["acme/agent:shop"] not in page.text
    await gateway.key("admin")
    assert "of –" not in (everything := texts((await olga.get(PAGE)).text))  # a key of nobody is said without an owner
    assert "admin; made 2026-" in everything
    assert "ends: never; last used: no use noted" in everything
    assert "last used is noted every 5 minutes" in everything
    await gateway.call("GET", "/v1/requests", who="agent:shop")
    await gateway.container.keys.note_uses()
    assert "last used: 2026-03-01 10:00 UTC" in texts((await olga.get(PAGE)).text)
    assert len(page.content) < 60_000
    found = texts((await olga.get(f"{PAGE}?q=ALICE")).text)
    assert ("alice@acme.example" in found, "dave@acme.example" in found, key in found) == (True, False, False)
    assert "Nobody and nothing of this name." in texts((await olga.get(f"{PAGE}?q=<b>x")).text)
    chinese = texts((await olga.get(f"{PAGE}?lang=zh")).text)
    assert "人员与密钥" in chinese
    assert "People" not in chinese


async def test_the_inbox_says_whose_it_is_by_name_and_leads_administrators_here(gateway: Gateway) -> None:
    alice, olga = await Home.of(gateway, ALICE), await Home.of(gateway, OLGA)
    hers, theirs = ReadPage((await alice.get("/")).text), ReadPage((await olga.get("/")).text)
    assert "Alice" in hers.texts
    assert ALICE not in hers.texts
    assert "Olga" in theirs.texts
    assert (PAGE in hers.values("href"), PAGE in theirs.values("href")) == (False, True)


async def test_of_a_large_org_it_shows_a_page_and_says_how_many_more(gateway: Gateway) -> None:
    more = "".join(
        f"  person{number:03}@acme.example: {{name: Person of a long name {number}}}\n" for number in range(300)
    )
    gateway.rewrite("people:\n", f"people:\n{more}")
    await gateway.reload()
    for number in range(30):
        await gateway.key(f"agent:shop-{number}")
    olga = await Home.of(gateway, OLGA)
    await olga.make_passkey()
    await enrolled(gateway, OLGA)
    page = await olga.get(PAGE)
    assert len(page.content) < 60_000
    assert "286 more: look for one by name." in page.text
    assert "person299@acme.example" in (await olga.get(f"{PAGE}?q=person299")).text


@requirement("S-89")
async def test_what_is_taken_away_works_no_more_and_stands_in_the_trail_by_name(gateway: Gateway) -> None:
    key, olga, alice = await made_key(gateway), await Home.of(gateway, OLGA), await Home.of(gateway)
    await alice.make_passkey()
    seal = field_of((await olga.get(PAGE)).text, "seal")

    async def done(act: str, **sent: str) -> int:
        return (await olga.post(f"{PAGE}/{act}", seal=seal, **sent)).status_code

    assert await done("revoke", key=key) == 409  # not sure
    assert await done("revoke", key=key, sure="yes") == 303
    assert await done("revoke", key=key, sure="yes") == 409
    assert (await gateway.call("GET", "/v1/requests")).status_code == 401
    [passkey] = gateway.rows("SELECT id FROM passkeys")
    assert await done("take", person=ALICE, passkey=passkey["id"]) == 409
    assert await done("take", person=ALICE, passkey=passkey["id"], sure="yes") == 303
    assert gateway.rows("SELECT id FROM passkeys") == []
    assert (await alice.get("/me")).status_code == 401  # whoever has the device was signed in
    again = await Home.of(gateway)
    assert await done("sign-out", person=ALICE, sure="yes") == 303
    assert (await again.get("/me")).status_code == 401
    assert await done("sign-out", person="zoe@acme.example", sure="yes") == 409
    for kind in ("key.revoked", "passkey.removed", "person.signed_out_by"):
        assert (kind, OLGA) in gateway.trail()
    assert (await gateway.verify())[1] is None


@requirement("S-89")
async def test_inviting_takes_a_fresh_second_factor_of_the_administrators_own(gateway: Gateway) -> None:
    assert isinstance(gateway.clock, ManualClock)
    olga = await Home.of(gateway, OLGA)
    seal = field_of((await olga.get(PAGE)).text, "seal")

    async def invite(**sent: str) -> Any:
        return await olga.post(f"{PAGE}/invite", seal=seal, person=BOB, **sent)

    assert "no second factor of your own" in (await olga.get(PAGE)).text
    assert (await invite()).status_code == 409
    phone = await enrolled(gateway, OLGA)
    forward(gateway)
    assert (await invite(totp=phone.wrong(gateway))).status_code == 409
    assert facts(gateway, "factor.invited")[-1]["person"] == OLGA
    code = phone.next(gateway)
    invited = await invite(totp=code)
    assert invited.status_code == 200
    assert facts(gateway, "factor.invited")[-1]["person"] == BOB
    assert ("factor.invited", OLGA) in gateway.trail()
    [given] = [each for each in ReadPage(invited.text).texts if each.count("-") == 3 and each.isupper()]
    assert (await invite(totp=code)).status_code == 409  # each code is spent
    assert given not in (await olga.get(PAGE)).text
    bob = await Home.of(gateway, BOB)
    assert (await bob.make_passkey(given)).status_code == 303
    wrong = [await invite(totp=phone.wrong(gateway)) for _ in range(3)]
    assert "Too many wrong tries" in wrong[-1].text


@requirement("S-85", "S-89")
async def test_a_passkey_signs_one_invitation_for_one_person(gateway: Gateway) -> None:
    olga = await Home.of(gateway, OLGA)
    await olga.make_passkey()
    seal = field_of((await olga.get(PAGE)).text, "seal")

    async def signed(person: str) -> dict[str, str]:
        asked = (await olga.post(f"{PAGE}/invite/options", seal=seal, person=person)).json()
        return {"challenge": asked["challenge"], "answer": olga.device.sign(asked["options"])}

    async def invite(person: str, sent: dict[str, str]) -> int:
        return (await olga.post(f"{PAGE}/invite", seal=seal, person=person, **sent)).status_code

    good = await signed(BOB)
    assert await invite(DAVE, good) == 409
    good = await signed(BOB)
    assert await invite(BOB, good) == 200
    assert await invite(BOB, good) == 409
    assert (await olga.post("/sign-in/passkey", **await signed(BOB))).status_code == 401  # and is good for nothing else
    asked = (await olga.post("/sign-in/passkey/options")).json()
    way_in = {"challenge": asked["challenge"], "answer": olga.device.sign(asked["options"])}
    assert await invite(BOB, way_in) == 409
    nobody = await olga.post(f"{PAGE}/invite/options", seal="x", person=BOB)
    assert (nobody.status_code, told_error(nobody)) == (401, told_error(nobody))
