"""The secrets of second factors at rest: sealed to their person, readable through a rotation, and to nobody else."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.identity.seals import BadTokenError, Seals
from app.usecases.proving.factors import Enrolment, Invitation, without_factor
from tests.fixtures.gateway import SECRET, START, ManualClock, open_gateway, query
from tests.fixtures.second_factors import ALICE, BOB, DAVE, STEPS_UP, Phone, asked, enrolled, forward, invited, redeemed
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

NEW = "another-master-secret-of-the-tests-98765"


@pytest.fixture
def acme(config: Path) -> Path:
    (config / "acme.yaml").write_text(STEPS_UP)
    return config


async def approved(g: Gateway, phone: Phone, number: int) -> dict[str, Any]:
    forward(g)
    request = await asked(g, "L3", number)
    return (await g.decide(request, typed=request["code"], totp=phone.next(g))).json()


def sealed(url: str, who: str = ALICE) -> str:
    return query(url, f"SELECT secret FROM factors WHERE person = '{who}'")[0]["secret"]


# --- sealed to one person ---------------------------------------------------------------------------------------------


@requirement("S-29", "S-37", "S-38")
def test_a_hidden_text_is_read_with_exactly_what_it_is_bound_to() -> None:
    seals = Seals([SECRET])
    hidden = seals.hide("the secret", bound=("factor", "acme", ALICE))
    assert "the secret" not in hidden
    assert seals.read_hidden(hidden, bound=("factor", "acme", ALICE)) == "the secret"
    others = [("factor", "acme", BOB), ("factor", "globex", ALICE), ("factor", "acme"), ("factor", f"acme{ALICE}"), ()]
    for bound in others:
        with pytest.raises(BadTokenError):
            seals.read_hidden(hidden, bound=bound)


@requirement("S-29", "S-38")
def test_not_a_bit_of_a_hidden_text_may_differ() -> None:
    seals, bound = Seals([SECRET]), ("factor", "acme", ALICE)
    hidden = seals.hide("the secret", bound=bound)
    head, _, body = hidden.rpartition(".")
    raw = base64.urlsafe_b64decode(body)
    for bit in range(len(raw) * 8):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadTokenError):
            seals.read_hidden(f"{head}.{base64.urlsafe_b64encode(flipped).decode()}", bound=bound)
    foreign = Seals([NEW]).hide("the secret", bound=bound)
    for text in ("", hidden[:-4], f"{hidden}!", hidden.replace("h1.", "h2.", 1), foreign, "h1..", "h1.é.ü"):
        with pytest.raises(BadTokenError):
            seals.read_hidden(text, bound=bound)


@requirement("S-29", "S-38")
async def test_a_secret_that_is_moved_to_another_person_proves_nothing(
    sqlite_url: str, acme: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(sqlite_url, acme, platform) as g:
        mine = await enrolled(g)
        await enrolled(g, BOB)
        g.rows(f"UPDATE factors SET secret = '{sealed(sqlite_url)}' WHERE person = '{BOB}'")
        forward(g)
        request = await asked(g, "L3")
        said = await g.decide(request, who=BOB, typed=request["code"], totp=mine.next(g))
        assert (said.status_code, said.json()["code"]) == (403, "step_up_needed")
        assert "cannot be read any more" in said.json()["detail"]
        assert (await g.read(request))["state"] == "pending"
        assert g.rows("SELECT * FROM attempts") == []
        assert "unreadable_factor" in repr(g.rows("SELECT facts FROM audit_events WHERE kind = 'click.refused'"))


def test_what_is_shown_once_is_in_no_repr() -> None:
    invitation = Invitation(person=ALICE, code="CANARY", expires_at=START)
    enrolment = Enrolment(secret="CANARY", uri="otpauth://CANARY", confirm_by=START)
    assert "CANARY" not in repr((invitation, enrolment))


# --- the master secret is rotated -------------------------------------------------------------------------------------


@requirement("S-29", "S-34", "S-38")
async def test_a_factor_outlives_the_master_secret_that_it_was_sealed_with(
    sqlite_url: str, acme: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock()
    async with open_gateway(sqlite_url, acme, platform, clock=clock) as g:
        phone = await enrolled(g)
        begun = await redeemed(g, BOB, await invited(g, BOB))
    before = sealed(sqlite_url)
    async with open_gateway(sqlite_url, acme, platform, clock=clock, secret=f"{NEW},{SECRET}") as g:
        assert sealed(sqlite_url) != before  # both are sealed anew when the gateway starts
        assert (await approved(g, phone, 1))["state"] == "approved"
    async with open_gateway(sqlite_url, acme, platform, clock=clock, secret=NEW) as g:
        assert (await approved(g, phone, 2))["state"] == "approved"
        said = await g.call("POST", "/v1/factors/confirm", {"totp": begun.next(g)}, who=BOB)
        assert said.status_code == 200
    async with open_gateway(sqlite_url, acme, platform, clock=clock, secret=SECRET) as g:
        await g.container.seal_standing.again("acme", by="olga@acme.example", reason="the newer secret is lost")
        refused = await approved(g, phone, 3)
        assert (refused["code"], "ask an administrator" in refused["detail"]) == ("step_up_needed", True)


# --- on both databases ------------------------------------------------------------------------------------------------


@requirement("S-29")
async def test_a_factor_is_set_up_and_used_on_either_database(
    database_url: str, acme: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, acme, platform) as g:
        phone = await enrolled(g)
        request = await asked(g, "L3")
        wrong = await g.decide(request, typed=request["code"], totp=phone.wrong(g))
        assert wrong.json()["left"] == 2
        right = await g.decide(request, typed=request["code"], totp=phone.next(g))
        assert right.json()["state"] == "approved", right.text
        assert [kind for kind, _ in g.trail(request)] == ["request.created", "click.refused", "request.approved"]


async def test_who_has_none_is_told_in_order_and_an_invitation_is_none(
    database_url: str, acme: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, acme, platform) as g:
        await enrolled(g)
        await invited(g, BOB)
        people = (DAVE, ALICE.upper(), BOB)
        found = await g.container.store.read(lambda tx: without_factor(tx, people), org="acme")
        assert found == [BOB, DAVE]
        assert await g.container.store.read(lambda tx: without_factor(tx, [ALICE]), org="globex") == [ALICE]
