"""What rows keep of an account is found again by the gateway, and guessed by nobody who has the database alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.domain.money.payment import account_key
from app.usecases.proving.destroy_values import DestroyValues
from tests.fixtures.gateway import query
from tests.fixtures.spending import approve, cautions, pay, paying, payment, submit
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ONE, OTHER = "DE02 1203 0000 0000 4711", "DE02 1203 0000 0000 0815"
BY_PAYEE = "{id: payee-day, per: payee, within: 1d, limit: {EUR: 1000}}"
TABLES = ("spends", "payees", "payee_history")


def kept(g: Gateway) -> list[str]:
    """Return what the rows keep of accounts, each once."""
    found = (row["account_key"] for table in TABLES for row in g.rows(f"SELECT account_key FROM {table}"))
    return sorted({each for each in found if each})


async def paid(g: Gateway, amount: str, account: str) -> None:
    said = await submit(g, payment(amount, "Globex", account=account))
    if said["decision"] == "ask":
        await g.quiet()
        await approve(g, said["request"])
        assert (await g.claim(said["request"])).status_code == 200
        assert (await g.report(said["request"])).status_code == 200


async def is_over(g: Gateway, amount: str, payee: str, account: str) -> bool:
    """Say whether the budget of a payee speaks against this payment: also that of another name with this account."""
    asked = (await submit(g, payment(amount, payee, account=account)))["request"]
    await g.quiet()
    told = cautions(g, asked)
    await g.decide(asked, "deny")
    await g.quiet()
    return any("over budget payee-day" in each for each in told)


@requirement("S-67")
async def test_the_database_has_no_hash_that_an_account_number_can_be_tried_against(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform, BY_PAYEE) as g:
        await g.container.services.payees.add("acme", "Initech", account=OTHER, by="cli")
        await paid(g, "10", ONE)
        assert await pay(g, "980", "Initech", account=OTHER) == "allow"
        marks = kept(g)
        assert len(marks) == 2
        assert all(re.fullmatch(r"k1\.[0-9a-f]{64}", each) for each in marks)
        assert not any(account_key(account) in each for account in (ONE, OTHER) for each in marks)
        assert await pay(g, "1", "Globex", account=ONE) == "allow"
        assert not await is_over(g, "20", "Initrode", OTHER)
        assert await is_over(g, "30", "Initrode", OTHER)


@requirement("S-67")
async def test_what_was_kept_before_is_found_meanwhile_and_marked_at_the_next_start(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    """As a gateway of before wrote it, which may go on beside one of these; and once both for one account."""
    async with paying(database_url, tmp_path / "orgs", platform, BY_PAYEE) as g:
        await paid(g, "10", ONE)
        await g.container.services.payees.add("acme", "Globex", account=ONE, by="cli")
        for table in TABLES:
            changed = f"account_key = '{account_key(ONE)}', seal = NULL WHERE account_key <> ''"
            query(database_url, f"UPDATE {table} SET {changed}")
        assert kept(g) == [account_key(ONE)]
        assert await pay(g, "980", "Globex", account=ONE) == "ask", "without a seal it counts, and vouches for nobody"
        assert len(kept(g)) == 2
        assert not await is_over(g, "10", "Initrode", ONE)
        assert await is_over(g, "11", "Initrode", ONE)
        again = await g.container.services.payees.add("acme", "Globex", account=ONE, by="cli")
        assert len(g.rows("SELECT name FROM payees WHERE name = 'Globex'")) == 1
    async with paying(database_url, tmp_path / "orgs", platform, BY_PAYEE) as g:
        [mark] = kept(g)
        assert mark.startswith("k1.")
        twin = f"payee_key, '{account_key(ONE)}', name, '0815', is_known, set_by, set_at, removed_at FROM payees"
        columns = "org, payee_key, account_key, name, account_tail, is_known, set_by, set_at, removed_at"
        query(database_url, f"INSERT INTO payees ({columns}) SELECT org, {twin} WHERE account_key = '{mark}'")
        assert len(kept(g)) == 2
    async with paying(database_url, tmp_path / "orgs", platform, BY_PAYEE) as g:
        assert kept(g) == [mark]
        assert [each.account_tail for each in await g.container.services.payees.list("acme") if each.account_key] == [
            again.account_tail
        ]
        assert await pay(g, "1", "Globex", account=ONE) == "allow"
        assert not await is_over(g, "9", "Initrode", ONE)
        assert await is_over(g, "9.01", "Initrode", ONE)


@requirement("S-67")
async def test_with_the_value_keys_the_accounts_are_forgotten_and_the_next_payment_is_a_new_one(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        await paid(g, "10", ONE)
        [before] = kept(g)
        assert await pay(g, "11", "Globex", account=ONE) == "allow"
        await DestroyValues(store=g.container.store)(org="acme", by="olga@acme.example", reason="they left")
        await g.container.seal_standing("acme")
        assert await pay(g, "12", "Globex", account=ONE) == "ask"
        assert [each[:3] for each in kept(g)] == ["k1.", "k2."]
        assert before in kept(g)
