"""What the first screen says of a payment beside its amount: those before it, and the threshold that it passed."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.gateway import ACME, ManualClock
from tests.fixtures.review_visits import URL, ReadPage, Visitor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

WIRE = """\
  wire:
    title: "Pay {payee}"
    payment: {amount: amount, currency: currency, payee: payee, account: iban}
    sensitive: [iban]
  send: {pin: [amount], money: [amount], labels: {amount: {en: Amount, zh: 金额}}}
payments: {duplicates: 0s, step_up: []}
rules:
  - {id: wire, tools: [wire], reason: Large wires need finance., channels: [api], tiers: [
     {up_to: {CNY: 1000}, stages: [{of: [finance]}]}, {up_to: {CNY: 50000}, stages: [{of: [finance]}]},
     {stages: [{of: [finance]}]}]}
  - {id: send, tools: [send], when: args.amount > 500, then: ask, stages: [{of: [finance]}], channels: [api]}
"""


@pytest.fixture
def config(config: Path) -> Path:
    (config / "acme.yaml").write_text(f"url: {URL}\n" + ACME.replace("rules:\n", WIRE, 1))
    return config


async def paid(gateway: Gateway, number: int, payee: str, amount: str, iban: str) -> None:
    """Pay, and let it go well."""
    if isinstance(gateway.clock, ManualClock):
        gateway.clock.advance(timedelta(seconds=1))
    arguments = {"payee": payee, "amount": amount, "currency": "CNY", "iban": iban, "no": number}
    request = await gateway.ask("wire", arguments)
    await gateway.decide(request)
    assert (await gateway.claim(request)).status_code == 200
    assert (await gateway.report(request)).status_code == 200


async def told(gateway: Gateway, iban: str | None, *, query: str = "") -> str:
    """Return the line of history of a payment of 60,000 to Hengtong into an account."""
    arguments = {"payee": "Hengtong", "amount": "60000", "currency": "CNY", **({"iban": iban} if iban else {})}
    text = await Visitor(gateway=gateway).visit(await gateway.ask("wire", arguments), query=query)
    assert str(iban) not in text
    found = re.search(r'<p class="history">(.*?)</p>', text)
    return found[1] if found else ""


async def test_the_page_says_how_a_payment_compares_with_those_before_it(either_gateway: Gateway) -> None:
    gateway = either_gateway
    assert await told(gateway, "DE02100100100006820101") == ""  # the warning says it already
    await paid(gateway, 1, "Hengtong", "20000", "DE02100100100006820101")
    day = str(gateway.clock.now().date())
    same = await told(gateway, "DE02 1001 0010 0006 8201 01")
    assert same == f"Same account as the payment before · last ¥20,000.00 CNY on {day} · 3× the usual"
    await paid(gateway, 2, "Hengtong", "60000", "DE02100100100006820101")
    await paid(gateway, 3, "Other Ltd", "5", "DE02100100100006820101")
    assert (await told(gateway, "DE02100100100006820101")).split(" · ") == [
        "Same account as the last 2 payments",
        f"last ¥60,000.00 CNY on {day}",
        "2 payees share this account",
    ]
    assert (await told(gateway, "GB33BUKB20201555555555")).startswith("Paid 2 times before, never into this account")
    assert (await told(gateway, None)).startswith("Paid 2 times before · last")
    zh = await told(gateway, "DE02100100100006820101", query="?lang=zh")
    assert zh.startswith("与最近 2 笔付款为同一账户 · 最近一笔 ¥60,000.00 人民币")


async def test_why_people_are_asked_is_said_by_the_threshold_and_never_by_the_condition(gateway: Gateway) -> None:
    visitor = Visitor(gateway=gateway)
    wire = await gateway.ask("wire", {"payee": "A", "amount": "60000", "currency": "CNY", "iban": "X1"})
    sent = await gateway.ask("send", {"amount": 700})
    pages = ["\n".join(ReadPage(await visitor.visit(each, query=lang)).texts) for lang in ("", "?lang=zh")
             for each in (wire, sent)]  # fmt: skip
    assert "Above ¥50,000.00 CNY · Large wires need finance." in pages[0]
    assert "Amount above 500 · Rule send asks for approval." in pages[1]
    assert "超过 ¥50,000.00 人民币" in pages[2]
    assert "金额超过 500" in pages[3]
    first_screen = pages[1].partition("Everything that will run")[0]
    assert "args." not in first_screen
    assert "amount = 700" not in first_screen
    assert "send · amount = 700" in pages[1]  # the record has it
