"""Budgets and velocity: what an org allows by itself is allowed up to a sum in a time, however it is split."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.identity.api_key import Scope
from tests.fixtures.gateway import ManualClock
from tests.fixtures.spending import approve, cautions, owned_key, pay, paying, payment, submit
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

BY_AGENT = "{id: agent-day, per: agent, within: 1d, limit: {EUR: 1000}}"
BY_OWNER = "{id: owner-day, per: owner, within: 1d, limit: {EUR: 1000}}"
BY_PAYEE = "{id: payee-day, per: payee, within: 1d, limit: {EUR: 1000}}"
BY_ORG = "{id: org-day, per: org, within: 1d, limit: {EUR: 1000}}"
TEN = tuple(f"Payee {number}" for number in range(10))
ALL_BUT_THE_FIRST = ["allow", *["ask"] * 9]


@requirement("S-31")
@pytest.mark.parametrize("budget", [BY_AGENT, BY_OWNER, BY_PAYEE, BY_ORG])
async def test_ten_payments_to_one_payee_under_the_single_limit_ask_from_the_second_on(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, budget: str
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform, budget) as g:
        assert [await pay(g, "999") for _ in range(10)] == ALL_BUT_THE_FIRST


@requirement("S-31")
@pytest.mark.parametrize("budget", [BY_AGENT, BY_OWNER, BY_ORG])
async def test_ten_payments_to_ten_payees_ask_from_the_second_on(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, budget: str
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform, budget, known=TEN) as g:
        assert [await pay(g, "999", payee) for payee in TEN] == ALL_BUT_THE_FIRST


@requirement("S-31")
@pytest.mark.parametrize("budget", [BY_OWNER, BY_PAYEE, BY_ORG])
async def test_three_agents_of_one_owner_share_what_may_be_spent(
    database_url: str, tmp_path: Path, platform: MemoryPlatform, budget: str
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform, budget) as g:
        agents = [await owned_key(g, name, "olga@acme.example") for name in ("one", "two", "three")]
        assert [await pay(g, "999", who=agents[turn % 3]) for turn in range(10)] == ALL_BUT_THE_FIRST


@requirement("S-31")
async def test_agents_that_nobody_answers_for_have_a_budget_each(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_OWNER) as g:
        one, two = [await owned_key(g, name, None) for name in ("one", "two")]
        assert [await pay(g, "600", who=who) for who in (one, two, one, two)] == ["allow", "allow", "ask", "ask"]


@requirement("S-31")
async def test_one_account_under_ten_names_is_one_payee(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform, BY_PAYEE, known=()) as g:
        for name in TEN:
            await g.container.services.payees.add("acme", name, account="DE02 1203 0000", by="cli")
        assert [await pay(g, "999", name, account="DE0212030000") for name in TEN] == ALL_BUT_THE_FIRST


@requirement("S-31")
async def test_a_restart_forgets_nothing(sqlite_url: str, tmp_path: Path, platform: MemoryPlatform) -> None:
    clock = ManualClock()
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT, clock=clock) as g:
        assert [await pay(g, "999"), await pay(g, "1")] == ["allow", "allow"]
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT, clock=clock) as g:
        assert await pay(g, "0.01") == "ask"


@requirement("S-31")
async def test_the_window_slides_and_has_no_midnight(sqlite_url: str, tmp_path: Path, platform: MemoryPlatform) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        assert await pay(g, "600") == "allow"
        await g.advance(timedelta(hours=14))
        assert await pay(g, "400") == "allow"
        await g.advance(timedelta(hours=10) - timedelta(seconds=1))
        assert await pay(g, "0.01", reference="early") == "ask"
        await g.advance(timedelta(seconds=1))
        assert await pay(g, "599.99") == "allow"  # what was asked for waits still, and is reserved
        assert await pay(g, "0.01", reference="late") == "ask"


@requirement("S-31")
@pytest.mark.parametrize("ends", ["deny", "cancel", "expire", "lapse"])
async def test_what_ends_without_being_run_gives_its_place_back(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, ends: str
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        asked = (await submit(g, payment("1500")))["request"]
        assert await pay(g, "1") == "ask"
        match ends:
            case "deny":
                await g.decide(asked, "deny")
            case "cancel":
                await g.call("POST", f"/v1/requests/{asked['id']}/cancel", {})
            case "lapse":
                await approve(g, asked)
                await g.advance(timedelta(minutes=11))
                assert (await g.read(asked))["state"] == "lapsed"
            case _:
                await g.advance(timedelta(minutes=31))
        if ends in {"deny", "cancel"}:
            assert await pay(g, "999") == "allow"  # the small one waits still
        else:
            await g.advance(timedelta(minutes=31))
            assert await pay(g, "1000") == "allow"


@requirement("S-31", "S-72")
@pytest.mark.parametrize("status", ["succeeded", "failed", "unknown", "pending_elsewhere", None])
async def test_what_ran_counts_whatever_the_agent_says_of_it(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, status: str | None
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        asked = (await submit(g, payment("1500")))["request"]
        await approve(g, asked)
        assert (await g.claim(asked)).status_code == 200
        if status is not None:
            await g.report(asked, status)
        await g.advance(timedelta(hours=2))
        assert await pay(g, "1") == "ask"


async def test_velocity_counts_payments_and_not_what_they_come_to(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    three = "{id: three, per: agent, within: 1h, count: 3}"
    async with paying(database_url, tmp_path / "orgs", platform, three, known=TEN) as g:
        items = [{"payee": name, "amount": "1", "currency": "EUR"} for name in TEN[:2]]
        assert (await submit(g, {"run": "may", "items": items}, tool="payroll"))["decision"] == "allow"
        assert await pay(g, "1", TEN[2]) == "allow"
        assert await pay(g, "1", TEN[3]) == "ask"


@requirement("S-31")
async def test_a_budget_of_what_runs_unasked_is_used_up_by_nothing_that_people_approve(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    unasked = "{id: unasked, per: agent, within: 1d, limit: {EUR: 1000}, counts: unasked}"
    async with paying(database_url, tmp_path / "orgs", platform, unasked) as g:
        for _ in range(2):  # above the tier: people are asked anyway, and nothing of the budget has to do with it
            asked = (await submit(g, {"payee": "Acme Ltd", "amount": "5000", "currency": "EUR"}))["request"]
            assert [each["kind"] for each in asked["cautions"]] == []
            assert (await g.decide(asked)).json()["state"] == "approved"
        assert [await pay(g, amount) for amount in ("600", "400", "0.01")] == ["allow", "allow", "ask"]


async def test_an_agent_is_not_told_how_much_of_a_budget_is_left(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        await pay(g, "700")
        asked = (await submit(g, {"payee": "Acme Ltd", "amount": "400", "currency": "EUR"}))["request"]
        [told] = asked["cautions"]
        assert told["text"] == f"Over budget {told['values']['budget']}."
        assert set(told["values"]) == {"budget", "span"}
        [seen] = (await g.read(asked, who="alice@acme.example"))["cautions"]
        assert (seen["values"]["spent"], seen["values"]["limit"]) == ("700", "1000")


@requirement("S-16")
async def test_an_evaluation_run_pays_nothing_about_which_people_would_be_asked(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform) as g:
        made = await g.container.keys.create(org="acme", scope=Scope.EVALUATION, label="eval", agent="shop")
        g.keys["acme/evaluation"] = made.text
        call = {"payee": "Acme Ltd", "amount": "5000", "currency": "EUR"}
        body = {"tool": "pay", "arguments": call, "evaluation": True}
        said = (await g.call("POST", "/v1/requests", body, who="evaluation")).json()
        assert (said["decision"], said["rule"]) == ("deny", "caller")
        assert "money is never paid unasked" in said["reason"]


async def test_a_currency_that_the_budget_does_not_name_is_above_it(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        asked = (await submit(g, payment("1", currency="CNY")))["request"]
        await g.quiet()
        assert cautions(g, asked) == ["Over budget agent-day: it has no limit for CNY."]
        assert await pay(g, "1000") == "allow"  # each currency is counted by itself


async def test_a_budget_of_some_tools_counts_no_other(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    budget = "{id: wires, per: agent, within: 1d, limit: {EUR: 1000}, tools: ['wi*']}"
    wired = {"to": "Acme Ltd", "sum": "900", "ccy": "EUR"}
    async with paying(sqlite_url, tmp_path / "orgs", platform, budget) as g:
        assert [await pay(g, "900"), await pay(g, "900")] == ["allow", "allow"]
        said = [await submit(g, {**wired, "memo": memo}, tool="wire") for memo in ("a", "b")]
        assert [each["decision"] for each in said] == ["allow", "ask"]


async def test_the_payments_of_one_call_are_counted_together(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(database_url, tmp_path / "orgs", platform, BY_PAYEE, known=TEN) as g:
        apart = [{"payee": name, "amount": "500", "currency": "EUR"} for name in TEN[:2]]
        assert (await submit(g, {"run": "a", "items": apart}, tool="payroll"))["decision"] == "allow"
        together = [{"payee": TEN[3], "amount": amount, "currency": "EUR"} for amount in ("500", "500.01")]
        said = await submit(g, {"run": "b", "items": together}, tool="payroll")
        assert said["decision"] == "ask"


async def test_what_is_over_a_budget_takes_one_level_more_and_says_so_on_the_card(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        assert await pay(g, "800") == "allow"
        asked = (await submit(g, payment("1500.50")))["request"]
        await g.quiet()
        assert cautions(g, asked) == [
            "€1,300.50 EUR over budget agent-day: 800.00 of 1,000.00 asked for or paid in 1 d, this adds 1,500.50.",
        ]
        [row] = g.rows(f"SELECT assurance, cautions FROM requests WHERE id = '{asked['id']}'")
        assert row["assurance"] == "L2"


async def edit(g: Gateway, request: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    said = await g.decide(request, arguments={**request["arguments"], **arguments}, typed=request["code"])
    assert said.status_code == 200, said.text
    return said.json()


async def test_a_payment_that_people_change_is_counted_as_they_leave_it(
    database_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    wide = "{id: agent-day, per: agent, within: 1d, limit: {EUR: 5000}}"
    async with paying(database_url, tmp_path / "orgs", platform, wide) as g:
        asked = (await submit(g, payment("4500")))["request"]
        assert await pay(g, "600") == "ask"
        lower = await edit(g, asked, amount="4300")
        assert await pay(g, "100", reference="fits") == "allow"
        assert lower["state"] == "approved"
        rows = g.rows(f"SELECT amount, currency FROM spends WHERE request_id = '{asked['id']}'")
        assert [(row["amount"], row["currency"]) for row in rows] == [(43_000_000, "EUR")]


async def test_a_payment_changed_upwards_is_weighed_anew_and_its_own_place_is_not_in_its_way(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    wide = "{id: agent-day, per: agent, within: 1d, limit: {EUR: 5000}}"
    async with paying(sqlite_url, tmp_path / "orgs", platform, wide, need=2) as g:
        asked = (await submit(g, payment("4500")))["request"]
        within = await edit(g, asked, amount="5000")
        [row] = g.rows("SELECT assurance, cautions FROM requests")
        assert (row["assurance"], row["cautions"]) == ("L1", "[]")
        over = await edit(g, within, amount="5000.01")
        [row] = g.rows("SELECT assurance, cautions FROM requests")
        assert (over["state"], row["assurance"]) == ("pending", "L2")
        assert over["digest"] != within["digest"]
        await g.quiet()
        assert cautions(g, asked)[0].startswith(
            "€0.01 EUR over budget agent-day: 0.00 of 5,000.00 asked for or paid in 1 d"
        )
        await edit(g, over, amount="100")
        [row] = g.rows("SELECT assurance FROM requests")
        assert row["assurance"] == "L2"  # the rules would allow it by themselves: what it took so far stays
        assert [payment["amount"] for payment in g.kept("payments")] == ["100"]


async def test_what_cannot_be_paid_is_not_looked_at_with_the_spending(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    async with paying(sqlite_url, tmp_path / "orgs", platform, BY_AGENT) as g:
        assert (await submit(g, {}, tool="ping"))["decision"] == "allow"
        assert g.rows("SELECT id FROM spends") == []
