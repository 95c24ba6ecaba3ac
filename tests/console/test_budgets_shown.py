"""How much of each budget is used now, on the page that says how the gateway does: true, and for whom amounts are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from app.storage.payments import budget_use
from tests.console.signed_in import Home
from tests.console.test_office import give, rows_of
from tests.fixtures.review_visits import URL, ReadPage, with_url
from tests.fixtures.second_factors import ALICE, BOB
from tests.fixtures.spending import payments_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

OLGA = "olga@acme.example"
BUDGETS = (
    "{id: agent-day, per: agent, within: 1d, limit: {EUR: 2000, CNY: 15000}}",
    "{id: owner-week, per: owner, within: 7d, limit: {EUR: 4000}, tools: [pay]}",
    "{id: payee-day, per: payee, within: 1d, limit: {EUR: 1000}}",
    "{id: often, per: org, within: 1d, count: 4}",
    "{id: by-itself, per: org, within: 1d, limit: {EUR: 800}, counts: unasked}",
)


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(payments_file(*BUDGETS))
    return with_url(config)


def budgets_in(page: str) -> list[str]:
    """Return the table of the budgets, a line a row."""
    return rows_of(page.partition('id="budgets"')[2])


async def pay(gateway: Gateway, amount: str, payee: str = "Acme", *, tool: str = "pay", currency: str = "EUR") -> str:
    """Ask for a payment and return what was answered."""
    named = "cents" if tool == "cents" else "amount"
    arguments = {named: int(amount) * 100 if tool == "cents" else amount, "currency": currency, "payee": payee}
    said = await gateway.call("POST", "/v1/requests", {"tool": tool, "arguments": arguments})
    await gateway.quiet()
    return str(said.json()["decision"])


async def test_each_budget_says_how_much_of_it_is_used_by_whom_and_leads_to_the_trail(either_gateway: Gateway) -> None:
    gateway = either_gateway
    await give(gateway, auditor=BOB, operator=ALICE)
    assert [await pay(gateway, "600"), await pay(gateway, "1700", "Bolt")] == ["ask", "ask"]
    denied = (await gateway.call("GET", "/v1/requests?state=pending", who=ALICE)).json()["items"]
    for each in denied:
        if "600" in str(each["arguments"]):
            await gateway.decide(each, "deny")
    await pay(gateway, "300", "<b>Acme</b>")
    bob = await Home.of(gateway, BOB, origin=URL)
    page = (await bob.get("/console/pulse")).text
    told = [tuple(part.strip() for part in row.split("|") if part.strip()) for row in budgets_in(page)]
    assert ("agent-day", "1 d", "shop", "100%", "€2,000.00 EUR", "€2,000.00 EUR") in told
    assert ("agent-day", "1 d", "shop", "0%", "¥0.00 CNY", "¥15,000.00 CNY") in told
    assert ("owner-week", "7 d", "Olga", "50%", "€2,000.00 EUR", "€4,000.00 EUR") in told
    assert ("payee-day", "1 d", "Bolt", "170%", "€1,700.00 EUR", "€1,000.00 EUR") in told
    assert ("payee-day", "1 d", "<b>Acme</b>", "30%", "€300.00 EUR", "€1,000.00 EUR") in told
    assert ("often", "1 d", "acme", "50%", "2 payments", "4 payments") in told  # what was denied is free again
    assert ("by-itself", "1 d", "acme", "0%", "€0.00 EUR", "€800.00 EUR") in told
    assert "<b>Acme" not in page
    assert page.count('class="lanes use"') == len(told)
    links = [str(a["href"]) for name, a in ReadPage(page).elements if name == "a"]
    found = await bob.get(next(link for link in links if "agent=shop" in link))
    assert found.text.count('class="row"') == 3
    assert (await bob.get("/console/trail?agent=nobody")).text.count('class="row"') == 0
    zh = (await bob.get("/console/pulse", accept_language="zh")).text
    assert "额度目前的使用情况" in zh
    assert "2 笔付款" in zh
    alice = await Home.of(gateway, ALICE, origin=URL)
    theirs = await alice.get("/console/pulse")
    assert theirs.status_code == 200
    assert "Bolt" not in theirs.text  # an operator does not read what calls say
    assert "agent-day" not in theirs.text


async def test_of_a_tool_that_the_file_has_no_more_no_payee_is_told_and_sums_that_are_cut_say_so(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await give(gateway, auditor=BOB)
    for number in range(3):
        await pay(gateway, "1100", f"Gone {number}", tool="cents")
    text = (gateway.config / "acme.yaml").read_text()
    gone = re.sub(r"  cents:\n.*\n", "", text).replace("payroll, cents]", "payroll]")
    (gateway.config / "acme.yaml").write_text(gone)
    await gateway.reload()
    bob = await Home.of(gateway, BOB, origin=URL)
    page = (await bob.get("/console/pulse")).text
    assert "Gone" not in page
    assert "•••" in page
    assert "More was paid than is looked at" not in page
    monkeypatch.setattr(budget_use, "MOST", 2)
    monkeypatch.setattr(budget_use, "_COUNT", budget_use._counted(2))
    assert "More was paid than is looked at" in (await bob.get("/console/pulse")).text


async def test_a_currency_that_no_limit_names_comes_first_and_fills_no_bar(gateway: Gateway) -> None:
    await give(gateway, auditor=BOB)
    assert await pay(gateway, "1", currency="USD") == "ask"
    bob = await Home.of(gateway, BOB, origin=URL)
    rows = budgets_in((await bob.get("/console/pulse")).text)
    [row] = [row for row in rows if "agent-day" in row and "US$" in row]
    assert "none" in row
    assert "%" not in row  # of no limit there is no share
