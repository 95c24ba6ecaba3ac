"""Whoever has the database alone makes nobody known, and counts no payment out of a budget, unseen."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.doctor.records import look_at_records
from app.domain.identity.api_key import Scope
from app.usecases.proving.verify_trail import VerifyTrail
from tests.fixtures.enforced import enforce
from tests.fixtures.spending import approve, pay, paying, payment, submit
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ONE, EVIL = "DE02 1203 0000 0000 4711", "DE02 1203 0000 0000 6666"


async def _told(g: Gateway) -> list[str]:
    found = await VerifyTrail(store=g.container.store, head_file=None)("acme")
    return [fault.text for fault in found.faults]


async def _knowing(g: Gateway) -> Stranger:
    """Know two payees by the register, and one by a payment that went well."""
    for name, account in (("Known Ltd", ONE), ("Evil Ltd", EVIL)):
        await g.container.services.payees.add("acme", name, account=account, by="cli")
    asked = (await submit(g, payment("10", "Globex", account=ONE)))["request"]
    await g.quiet()
    await approve(g, asked)
    assert (await g.claim(asked)).status_code == 200
    assert (await g.report(asked)).status_code == 200
    assert await pay(g, "11", "Known Ltd", account=ONE) == "allow"
    assert await pay(g, "11", "Globex", account=ONE) == "allow"
    assert await _told(g) == [], "no false alarm"
    return await to_thread(Stranger, g)


_EVILS = "(SELECT account_key FROM payees WHERE name = 'Evil Ltd')"


@requirement("S-64", "S-31")
@pytest.mark.parametrize(
    ("change", "to"),
    [
        (f"UPDATE payees SET account_key = {_EVILS} WHERE name = 'Known Ltd'", ("Known Ltd", EVIL)),
        (f"UPDATE payees SET account_key = {_EVILS}, seal = NULL WHERE name = 'Known Ltd'", ("Known Ltd", EVIL)),
        ("UPDATE payees SET name = 'Stranger', payee_key = 'stranger' WHERE name = 'Known Ltd'", ("Stranger", ONE)),
        ("UPDATE payees SET name = 'KNOWN LTD' WHERE name = 'Known Ltd'", ("KNOWN LTD", ONE)),
        (
            "INSERT INTO payee_history SELECT org, 'newbie', account_key, 'Newbie', account_tail, 1795795862298385, {} "
            "FROM payees WHERE name = 'Evil Ltd'".format("seal"),
            ("Newbie", EVIL),
        ),
        (
            "INSERT INTO payee_history SELECT org, 'newbie', account_key, 'Newbie', account_tail, 1795795862298385, {} "
            "FROM payees WHERE name = 'Evil Ltd'".format("NULL"),
            ("Newbie", EVIL),
        ),
        ("UPDATE spends SET payee = 'Stranger', payee_key = 'stranger' WHERE payee = 'Globex'", ("Stranger", ONE)),
        (f"UPDATE spends SET account_key = {_EVILS} WHERE payee = 'Globex'", ("Globex", EVIL)),
    ],
)
@pytest.mark.sampled(3)
async def test_nobody_is_known_by_a_row_that_no_gateway_wrote(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, change: str, to: tuple[str, str]
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        stranger = await _knowing(g)
        payee, account = to
        await to_thread(stranger, change)
        assert any("payee" in told or "payment" in told or "budgets" in told for told in await _told(g))
        assert await pay(g, "12", payee, account=account) == "ask"


@requirement("S-31")
async def test_who_is_not_as_they_were_put_in_is_taken_out_and_put_in_again(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        stranger = await _knowing(g)
        await to_thread(stranger, f"UPDATE payees SET account_key = {_EVILS} WHERE name = 'Known Ltd'")
        payees = g.container.services.payees
        assert "Known Ltd" not in {each.name for each in await payees.list("acme")}
        await payees.remove("acme", "Known Ltd", by="cli")
        await payees.add("acme", "Known Ltd", account=ONE, by="cli")
        assert await pay(g, "12", "Known Ltd", account=ONE) == "allow"
        assert await pay(g, "12", "Known Ltd", account=EVIL) == "ask"
        assert await _told(g) == []


@requirement("S-64", "S-24")
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM spends",
        "DELETE FROM spends WHERE request_id IS NULL",
        "DELETE FROM spends WHERE request_id IS NOT NULL",
        "UPDATE spends SET amount = 1",
        "UPDATE spends SET amount = 1, seal = NULL WHERE request_id IS NULL",
        "UPDATE spends SET amount = 1, seal = NULL WHERE request_id IS NOT NULL",
        "UPDATE spends SET at = 1, seal = NULL WHERE request_id IS NOT NULL",
        "UPDATE spends SET at = 1 WHERE request_id IS NULL",
        "UPDATE spends SET request_id = (SELECT max(request_id) FROM spends) WHERE request_id IS NULL",
        "UPDATE spends SET agent = 'other' WHERE request_id IS NOT NULL",
    ],
)
@pytest.mark.sampled(3)
async def test_no_payment_is_counted_out_of_the_budgets_unseen(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, change: str
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        stranger = await _knowing(g)
        await to_thread(stranger, change)
        assert await _told(g) != []


@requirement("S-64")
async def test_an_executors_key_that_may_run_more_is_named_and_is_not_live(either_gateway: Gateway) -> None:
    g = await enforce(either_gateway)
    made = await g.container.keys.create(
        org="acme", scope=Scope.EXECUTOR, label="runs", tools=["nothing", "by_api", "pay", "ping"]
    )
    stranger = await to_thread(Stranger, g)

    async def told() -> list[Any]:
        found = await look_at_records(g.container.store, g.container.book, "acme", head_file=None)
        return [each.what for each in found if "executor" in each.what]

    assert await _told(g) == []
    assert any("is live for each" in each for each in await told())
    await to_thread(stranger, "UPDATE api_keys SET tools = '[\"*\"]' WHERE scope = 'executor'")
    assert any(made.key.id in each and "tools" in each for each in await _told(g))
    said = await told()
    assert any(f"refused: the executor's keys {made.key.id}" in each for each in said), said
    assert not any("is live for each" in each for each in said)
    await to_thread(stranger, "UPDATE api_keys SET tools = NULL WHERE scope = 'executor'")
    assert any(made.key.id in each for each in await _told(g))


@requirement("S-64")
async def test_what_lost_its_seals_on_the_way_back_to_an_older_release_verifies_again_on_an_operators_word(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        stranger = await _knowing(g)
        await to_thread(
            stranger, "UPDATE payees SET seal = NULL", "DELETE FROM payee_history", "UPDATE spends SET seal = NULL"
        )
        for name in ("Acme Ltd", "Known Ltd", "Evil Ltd"):
            await g.container.services.payees.remove("acme", name, by="cli")
        assert any("payments at once" in text for text in await _told(g))
        await g.container.seal_standing.again("acme", by="olga@acme.example", reason="back on this release")
        assert await _told(g) == []
        assert await pay(g, "12", "Other Ltd") == "ask"
        assert await _told(g) == []
