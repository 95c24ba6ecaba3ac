"""Whom the org pays: a payee is known once people said so or a payment to them went well, under exactly that name."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.commands import app
from app.policies.file.policy_book import PolicyBook
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.fixtures.spending import approve, cautions, pay, paying, payment, submit
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ONE, OTHER = "DE02 1203 0000 0000 4711", "DE02 1203 0000 0000 0815"
FIRST = "Nobody here has paid Globex before."


async def asked(g: Gateway, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = await submit(g, arguments, **more)
    assert said["decision"] == "ask", said
    await g.quiet()
    return said["request"]


async def ran(g: Gateway, request: dict[str, Any], status: str = "succeeded") -> None:
    await approve(g, request)
    assert (await g.claim(request)).status_code == 200
    assert (await g.report(request, status)).status_code == 200


@requirement("S-31")
async def test_the_first_payment_asks_one_level_up_and_the_next_one_passes(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        first = await asked(g, payment("10", "Globex"))
        assert cautions(g, first) == [FIRST]
        above = await asked(g, payment("5000", "Globex"))
        levels = {row["id"]: row["assurance"] for row in g.rows("SELECT id, assurance FROM requests")}
        assert levels == {first["id"]: "L1", above["id"]: "L2"}  # the tier that would allow it has its next one ask
        await ran(g, first)
        assert await pay(g, "11", "Globex") == "allow"


@pytest.mark.parametrize("status", ["failed", "unknown", "pending_elsewhere"])
async def test_a_payment_that_did_not_go_well_makes_nobody_known(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, status: str
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        await ran(g, await asked(g, payment("10", "Globex")), status)
        assert cautions(g, await asked(g, payment("11", "Globex"))) == [FIRST]


async def test_a_name_that_only_looks_like_a_known_one_is_not_known(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, known=("Zoé Ltd",)) as g:
        for name in ("ZOÉ LTD", "Zoé  Ltd", "Zoé Ltd.", "Zoe Ltd", "Zo\u0435\u0301 Ltd"):
            assert await pay(g, "1", name) == "ask", name
        assert await pay(g, "1", "Zoe\u0301 Ltd") == "allow"  # the same letters, composed otherwise


@requirement("S-31")
async def test_new_bank_details_of_a_known_payee_ask_and_show_the_ends_of_both_accounts(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform) as g:
        await g.container.services.payees.add("acme", "Globex", account=ONE, by="cli")
        assert await pay(g, "1", "Globex", account=ONE.replace(" ", "").lower()) == "allow"
        changed = await asked(g, payment("5000", "Globex", account=OTHER))
        assert cautions(g, changed) == [
            "New bank details of Globex: …0815, last time …4711.",
        ]
        [row] = g.rows("SELECT assurance FROM requests")
        assert row["assurance"] == "L2"
        await ran(g, changed)
        assert await pay(g, "2", "Globex", account=OTHER) == "allow"
        assert cautions(g, await asked(g, payment("3", "Globex"))) == [
            "New bank details for Globex: they were paid into an account, and this names none.",
        ]


async def test_an_account_that_is_sensitive_is_not_shown_by_its_end_either(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        for number, iban in enumerate((ONE, OTHER)):
            wired = {"to": "Acme Ltd", "sum": str(number + 1), "ccy": "EUR", "iban": iban}
            request = await asked(g, wired, tool="wire")
            assert cautions(g, request) == [
                "New bank details for Acme Ltd: nobody here has paid into this account before.",
            ]
            await ran(g, request)
        assert {row["account_tail"] for row in g.rows("SELECT account_tail FROM spends")} == {""}
        assert not any("4711" in row["cautions"] for row in g.rows("SELECT cautions FROM requests"))


@requirement("S-31")
async def test_whoever_is_taken_out_is_a_stranger_again_whatever_was_paid_before(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        payees = g.container.services.payees
        await ran(g, await asked(g, payment("10", "Globex", account=ONE)))
        assert await pay(g, "11", "Globex", account=ONE) == "allow"
        await g.advance(timedelta(minutes=1))
        await payees.remove("acme", "Globex", by="cli")
        assert cautions(g, await asked(g, payment("12", "Globex", account=ONE))) == [FIRST]
        await payees.add("acme", "Globex", account=OTHER, by="cli")
        assert await pay(g, "13", "Globex", account=OTHER) == "allow"
        assert await pay(g, "14", "Globex", account=ONE) == "ask"  # that account was taken out with them
        await g.advance(timedelta(hours=1))
        await ran(g, await asked(g, payment("15", "Globex", account=ONE)))
        assert await pay(g, "16", "Globex", account=ONE) == "allow"


async def test_the_same_payment_again_is_warned_of_with_the_earlier_one(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, duplicates="10d") as g:
        first = await asked(g, payment("1200", reference="INV-7"))
        await ran(g, first)
        await g.advance(timedelta(days=10) - timedelta(seconds=1))
        again = await asked(g, payment("1200.00", "Acme Ltd", reference="inv 7"))
        told = "Looks like a duplicate: €1,200.00 EUR to Acme Ltd, reference inv 7, was paid on 2026-03-01 10:00"
        assert cautions(g, again) == [f"{told}."]
        assert first["id"] in [fact.value for fact in g.card(again).card.details]
        for other in (
            payment("1200", reference="INV-8"),
            payment("1200.01", reference="INV-7"),
            payment("1200", currency="CNY", reference="INV-7"),
        ):
            assert cautions(g, await asked(g, other)) == []
        unnamed = cautions(g, await asked(g, payment("1200")))
        assert unnamed[0].startswith("Looks like a duplicate: €1,200.00 EUR to Acme Ltd was asked for on 2026-03-11")
        await g.advance(timedelta(days=11))
        assert cautions(g, await asked(g, payment("1200", reference="INV-7"))) == []


async def test_a_duplicate_below_the_limit_is_not_allowed_by_itself_and_a_denied_one_is_none(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, duplicates="10d") as g:
        assert await pay(g, "10", reference="A") == "allow"
        again = await asked(g, payment("10", reference="A"))
        let_through = (
            "Looks like a duplicate: €10.00 EUR to Acme Ltd, reference A, was let through unasked on 2026-03-01 10:00"
        )
        assert cautions(g, again) == [f"{let_through}; whether it was paid is not known."]
        assert await pay(g, "10", reference="B") == "allow"
        [row] = g.rows(f"SELECT assurance FROM requests WHERE id = '{again['id']}'")
        assert row["assurance"] == "L1"
        denied = await asked(g, payment("2000", reference="C"))
        await g.decide(denied, "deny")
        again = await asked(g, payment("2000", reference="C", note="paid late"))
        assert [text for text in cautions(g, again) if "duplicate" in text] == []


async def test_a_payment_that_is_twice_in_one_call_is_warned_of(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, duplicates="10d") as g:
        item = {"payee": "Acme Ltd", "amount": "5", "currency": "EUR", "reference": "R"}
        batch = await asked(g, {"run": "may", "items": [item, {**item, "reference": "S"}, item]}, tool="payroll")
        assert cautions(g, batch) == [
            "Looks like a duplicate: €5.00 EUR to Acme Ltd, reference R, is twice in this call.",
        ]


CALENDAR = "calendar: {timezone: UTC, work: {mon-fri: 09:00-18:00}}"


async def test_a_payment_outside_of_working_hours_asks_and_says_so(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, more=CALENDAR) as g:  # it is a Sunday
        late = await asked(g, payment("10"))
        assert cautions(g, late) == ["This was asked outside of working hours."]
        assert (await submit(g, {}, tool="ping"))["decision"] == "allow"
        await g.advance(timedelta(days=1))
        assert await pay(g, "10") == "allow"


async def test_what_warns_most_stands_first_and_much_of_a_kind_is_counted(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    velocity = "{id: two, per: org, within: 1h, count: 2}"
    async with paying(sqlite_url, tmp_path / "orgs", platform, velocity, more=CALENDAR) as g:
        items = [{"payee": f"New {number}", "amount": "5", "currency": "EUR"} for number in range(7)]
        items += [{"payee": "Acme Ltd", "amount": "5", "currency": "EUR", "account": ONE}]
        batch = await asked(g, {"run": "may", "items": items}, tool="payroll")
        assert cautions(g, batch) == [
            "New bank details for Acme Ltd: nobody here has paid into this account before.",
            "Nobody here has paid New 0 before.",
            "Nobody here has paid New 1 before.",
            "Nobody here has paid New 2 before.",
            "Nobody here has paid New 3 before. And 3 more of this kind.",
            "6 over budget two: 0 of 2 payments asked for or made in 1 h, this adds 8.",
            "This was asked outside of working hours.",
        ]


async def put(g: Gateway, who: str = "admin", **body: Any) -> Any:
    return await g.call("PUT", "/v1/payees", body, who=who)


async def test_the_register_is_listed_changed_and_told_to_the_trail(either_gateway: Gateway) -> None:
    g = either_gateway
    said = await put(g, name=" Globex ", account=ONE)
    assert (said.status_code, said.json()["name"], said.json()["account"]) == (200, "Globex", "4711")
    assert (await put(g, name="Globex", account=ONE)).json() == said.json()
    assert (await put(g, name="Globex")).json()["account"] is None
    assert (await put(g, name="GLOBEX")).status_code == 409
    for who in ("auditor", "alice@acme.example", "admin"):
        items = (await g.call("GET", "/v1/payees", who=who)).json()["items"]
        assert [(each["name"], each["account"]) for each in items] == [("Globex", None), ("Globex", "4711")]
    assert (await g.call("DELETE", "/v1/payees?name=Globex", who="admin")).status_code == 204
    assert (await g.call("DELETE", "/v1/payees?name=Globex", who="admin")).status_code == 404
    assert (await g.call("GET", "/v1/payees", who="admin")).json() == {"items": []}
    assert (await g.call("GET", "/v1/payees", who="admin", org="globex")).json() == {"items": []}
    kinds = [kind for kind, _ in g.trail() if kind.startswith("payee.")]
    assert kinds == ["payee.added", "payee.added", "payee.removed"]


@pytest.mark.parametrize("body", [{"name": "  "}, {"name": ""}, {}, {"name": "A", "account": " - "}])
async def test_a_name_or_an_account_that_cannot_be_one_is_refused(gateway: Gateway, body: dict[str, Any]) -> None:
    said = await put(gateway, **body)
    assert said.status_code == 422, said.text
    assert (await gateway.call("DELETE", "/v1/payees", who="admin")).status_code == 422


def test_the_page_about_budgets_shows_a_file_that_loads(tmp_path: Path) -> None:
    page = (ROOT / "docs/budgets.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "acme.yaml").write_text(block, encoding="utf-8")
    policy = PolicyBook(tmp_path / "acme.yaml", environ={}, channel_types={}).current("acme").policy
    assert [budget.per.value for budget in policy.payments.budgets] == ["agent", "owner", "payee", "org"]


@pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else
def test_the_command_line_puts_in_lists_and_takes_out(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "acme.yaml"
    file.write_text("org: acme\ndefault: deny\n")
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["payees", *words, "--config", str(file)])

    assert run("list").stdout == "the register is empty\n"
    added = run("add", "Acme\u202eLtd", "--account", ONE)
    assert (added.exit_code, added.stdout.split("  ")[:2]) == (0, ["Acme\\u{202E}Ltd", "account …4711"])
    assert run("list").stdout == added.stdout
    assert run("remove", "Acme Ltd").exit_code == 0  # whatever is in the spelling, it is this payee
    assert run("remove", "Acme Ltd").exit_code == 1
    assert run("list").stdout == "the register is empty\n"


@requirement("S-16")
@pytest.mark.parametrize("who", ["agent:shop", "auditor", "alice@acme.example"])
async def test_only_an_administrator_changes_the_register_and_an_agent_does_not_even_read_it(
    gateway: Gateway, who: str
) -> None:
    assert (await put(gateway, who=who, name="Mallory")).status_code == 403
    assert (await gateway.call("DELETE", "/v1/payees?name=Mallory", who=who)).status_code == 403
    seen = (await gateway.call("GET", "/v1/payees", who=who)).status_code
    assert seen == (403 if who == "agent:shop" else 200)
