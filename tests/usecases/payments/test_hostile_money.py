"""Payments under attack: another spelling of the same money, payee or account is no way around what was said before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.domain.request.redact import scrubbed
from tests.fixtures.spending import approve, cautions, pay, paying, payment, submit
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

DENIED = "Somebody denied"


async def asked(g: Gateway, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = await submit(g, arguments, **more)
    assert said["decision"] == "ask", said
    await g.quiet()
    return said["request"]


def kinds(request: dict[str, Any]) -> list[str]:
    return [each["kind"] for each in request["cautions"]]


@requirement("S-30")
@pytest.mark.parametrize(
    "spelled",
    [
        {"amount": "5000"},
        {"amount": "5000.0000"},
        {"amount": 5000},
        {"payee": "ACME LTD."},
        {"reference": "inv 7"},
        {"account": "de89 3704"},
    ],
)
@pytest.mark.sampled(3)
async def test_a_denied_payment_is_known_again_however_its_amount_and_names_are_spelled(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, spelled: dict[str, Any]
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, known=()) as g:
        first = payment("5000.00", reference="INV-7", account="DE893704")
        assert (await g.decide(await asked(g, first), "deny")).status_code == 200
        assert "near_denied" in kinds(await asked(g, {**first, **spelled}))


@requirement("S-30")
async def test_a_denied_batch_is_known_again_in_another_order(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        one, two = payment("900"), payment("800.50", "Globex")
        first = await asked(g, {"run": "may", "items": [one, two]}, tool="payroll")
        assert (await g.decide(first, "deny")).status_code == 200
        again = await asked(g, {"run": "june", "items": [{**two, "amount": "800.5"}, one]}, tool="payroll")
        assert "near_denied" in kinds(again)
        other = await asked(g, {"run": "may", "items": [two, {**one, "amount": "900.01"}]}, tool="payroll")
        assert "near_denied" not in kinds(other)


@requirement("S-31")
async def test_a_payment_without_a_reference_is_found_again_by_one_with_one(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, duplicates="10d") as g:
        assert await pay(g, "10") == "allow"
        assert kinds(await asked(g, payment("10", reference="A"))) == ["duplicate"]


@requirement("S-31")
@pytest.mark.parametrize(
    ("known", "other"),
    [
        ("billing@acme.example", "b.illing@acme.example"),
        ("acme_pay", "acmepay"),
        ("a-b@acme.example", "ab@acme.example"),
    ],
)
async def test_an_account_that_is_told_apart_by_its_signs_alone_is_another_account(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, known: str, other: str
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        await g.container.services.payees.add("acme", "Globex", account=known, by="cli")
        assert await pay(g, "1", "Globex", account=known.upper()) == "allow"
        assert kinds(await asked(g, payment("2", "Globex", account=other))) == ["new_account"]


async def test_bank_accounts_are_the_same_with_blanks_and_hyphens(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        await g.container.services.payees.add("acme", "Globex", account="DE89 3704 0044 0532", by="cli")
        for number, spelled in enumerate(("de89370400440532", "DE89-3704-0044-0532", "ＤＥ89 3704 0044 0532")):
            assert await pay(g, str(number + 1), "Globex", account=spelled) == "allow", spelled


@requirement("S-29")
async def test_what_was_typed_is_in_no_answer_row_or_line(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        request = await asked(g, payment("5000", "Nobody Known"))
        assert cautions(g, request)
        tried: list[dict[str, Any]] = [{"typed": "CANARY-1"}, {"typed": "CANARY-1" * 40}, {"totp": 777123}]
        for sent in (*tried, {"typed": "x", "totp": "CANARY"}):
            said = await g.decide(request, **sent)
            assert said.status_code in {403, 422}, said.text
            assert "CANARY" not in said.text
            assert "777123" not in said.text
        assert "CANARY" not in repr(g.content())
        assert (await approve(g, request))["state"] == "approved"
    told = capsys.readouterr()
    assert "CANARY" not in told.out + told.err


@requirement("S-31")
async def test_an_agent_is_not_told_into_which_account_a_payee_is_paid(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        await g.container.services.payees.add("acme", "Globex", account="DE89 3704 0044 4711", by="cli")
        request = await asked(g, payment("2", "Globex", account="DE02 1001 0010 0815"))
        assert kinds(request) == ["new_account"]
        assert "4711" not in repr(request)
        assert "4711" in repr(await g.read(request, who="alice@acme.example"))
        assert "4711" in cautions(g, request)[0]


@requirement("S-37")
@pytest.mark.parametrize("account", ["DE02100100100006820101", 82010199887755, "8201-0199-8877-55"])
def test_an_account_that_a_bank_gives_back_in_groups_or_capitals_is_hidden_all_the_same(account: str | int) -> None:
    plain = "".join(char for char in str(account) if char.isalnum())
    groups = " ".join(plain[at : at + 4] for at in range(0, len(plain), 4))
    for spelled in (plain, plain.lower(), groups, groups.replace(" ", "-"), groups.replace(" ", "\u00a0").lower()):
        told = scrubbed(f"paid into {spelled}, thanks", {"account": account, "n": 1}, ["account"])
        assert told == "paid into •••, thanks", spelled
    assert scrubbed("order 8201 of 2026", {"account": account}, ["account"]) == "order 8201 of 2026"
