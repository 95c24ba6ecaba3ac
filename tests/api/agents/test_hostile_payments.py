"""Amounts that could be read in two ways are not read at all: 422, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

RULES = """\
  wire: {payment: {amount: amount, currency: currency, payee: payee, account: iban}}
  coins: {payment: {amount: amount, currency: currency, payee: payee, minor_units: true}}
  batch: {payment: {amount: items.amount, currency: currency, payee: items.payee}}
rules:
  - {id: wire, tools: [wire, coins, batch], then: ask, stages: [{of: [finance]}], channels: [api]}
"""
AMOUNTS = {
    "a float": b"12.5",
    "a whole float": b"12.0",
    "an exponent": b"1e3",
    "a negative exponent": b"1000e-1",
    "a text with an exponent": b'"1e3"',
    "NaN": b"NaN",
    "NaN as a text": b'"NaN"',
    "Infinity": b"Infinity",
    "minus Infinity": b"-Infinity",
    "Infinity as a text": b'"Infinity"',
    "beyond every float": b"1e400",
    "full-width digits": '"１２"'.encode(),
    "Arabic digits": '"١٢"'.encode(),
    "a thousands separator": b'"1,000"',
    "an underscore": b'"1_000"',
    "a comma for the point": b'"1000,50"',
    "below zero": b"-5",
    "a text below zero": b'"-5"',
    "a sign": b'"+5"',
    "zero": b"0",
    "zero as a text": b'"0"',
    "zero with decimals": b'"0.00"',
    "minus zero": b"-0",
    "an unsafe integer": b"9007199254740993",
    "more than a payment is": b'"1000000000000000"',
    "too fine": b'"0.00001"',
    "a space behind": b'"5 "',
    "a space before": b'" 5"',
    "a line break behind": b'"5\\n"',
    "hexadecimal": b'"0x10"',
    "a bare point": b'".5"',
    "a point behind": b'"5."',
    "nothing": b'""',
    "null": b"null",
    "true": b"true",
    "a list": b"[5]",
    "an object": b'{"value":5}',
    "twice": b'5,"amount":5',
    "twice, once escaped": b'5,"am\\u006funt":6',
}
WHOLE = {
    "wire": b'{"tool":"wire","arguments":{"payee":"Acme","currency":"CHF","iban":"CH93","amount":%s}}',
    "coins": b'{"tool":"coins","arguments":{"payee":"Acme","currency":"CHF","amount":%s}}',
    "batch": b'{"tool":"batch","arguments":{"currency":"CHF","items":[{"payee":"A","amount":1},'
    b'{"payee":"B","amount":%s}]}}',
}


@pytest.fixture(autouse=True)
def paying(config: Path) -> None:
    path = config / "acme.yaml"
    path.write_text(path.read_text().replace("rules:\n", RULES, 1))


@requirement("S-41", "S-25")
@pytest.mark.parametrize("tool", WHOLE)
async def test_an_amount_that_is_not_exact_is_refused_before_anything_is_written(
    either_gateway: Gateway, tool: str
) -> None:
    g = either_gateway
    headers = await g.key("agent:shop")
    before = g.content()
    for name, amount in AMOUNTS.items():
        said = await g.http.post("/v1/requests", content=WHOLE[tool] % amount, headers=headers)
        assert said.status_code == 422, (name, said.text[:300])
        assert said.headers["content-type"] == "application/problem+json", name
    assert g.content() == before
    good = await g.http.post("/v1/requests", content=WHOLE[tool] % b"5", headers=headers)
    assert good.status_code == 202, good.text


@requirement("S-41")
@pytest.mark.parametrize(
    "amount", [b'"5"', b'"5.00"', b'"0.0001"', b'"999999999999.9999"', b"999999999999"], ids=lambda raw: raw.decode()
)
async def test_what_is_exact_is_taken_to_the_letter(gateway: Gateway, amount: bytes) -> None:
    headers = await gateway.key("agent:shop")
    said = await gateway.http.post("/v1/requests", content=WHOLE["wire"] % amount, headers=headers)
    assert said.status_code == 202, said.text
    kept = (await gateway.read(said.json()["request"]))["arguments"]["amount"]
    assert str(kept) == amount.decode().strip('"')


@requirement("S-41")
@pytest.mark.parametrize(
    "other",
    [
        b'"currency":"chf"',
        b'"currency":"CHFX"',
        b'"currency":""',
        b'"currency":["CHF"]',
        '"currency":"ＣＨＦ"'.encode(),
        b'"currency":"CHF","currency":"CHF"',
        b'"currency":"CHF","payee":"x","payee":"y"',
    ],
    ids=lambda raw: raw.decode(),
)
@pytest.mark.sampled(3)
async def test_a_currency_or_payee_that_is_not_plain_is_refused_too(gateway: Gateway, other: bytes) -> None:
    headers = await gateway.key("agent:shop")
    before = gateway.content()
    body = b'{"tool":"wire","arguments":{"amount":5,"iban":"CH93",%s}}' % (
        other if b'"payee"' in other else other + b',"payee":"Acme"'
    )
    said = await gateway.http.post("/v1/requests", content=body, headers=headers)
    assert said.status_code == 422, said.text
    assert gateway.content() == before
