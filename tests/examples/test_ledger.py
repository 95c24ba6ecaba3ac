"""The example's ledger service: one payment for each idempotency key, in whole cents, for its token only."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from assent.executor.executor import ToolFailed, ToolSucceeded, ToolUnknown
from examples.ledger.__main__ import LedgerServer
from examples.ledger.book import Book
from examples.payment_executor import ledger_tool
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAY = {"payee": "Acme Ltd", "amount": "80.00", "currency": "CNY", "reference": "INV-1"}
TOKEN = "a-token-of-the-ledger"


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "ledger.db", funds={"CNY": "100.00"})


@pytest.fixture
def ledger(book: Book) -> Iterator[httpx2.Client]:
    server = LedgerServer(("127.0.0.1", 0), book, token=TOKEN)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url, headers = f"http://127.0.0.1:{server.server_port}", {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=HANGS) as client:
        yield client
    server.shutdown()
    server.server_close()
    thread.join(HANGS)


def pay(ledger: httpx2.Client, key: str = "gra_1", **changed: Any) -> httpx2.Response:
    return ledger.post("/payments", json={**PAY, **changed}, headers={"Idempotency-Key": key})


def test_a_key_pays_once_however_often_it_comes(ledger: httpx2.Client, book: Book) -> None:
    first, again = pay(ledger), pay(ledger)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == ledger.get("/payments/gra_1").json()
    assert len(ledger.get("/payments").json()["items"]) == 1
    assert book.balance("CNY") == "20.00"


def test_many_at_once_with_one_key_pay_once(ledger: httpx2.Client, book: Book) -> None:
    found = list[int]()
    threads = [threading.Thread(target=lambda: found.append(pay(ledger).status_code)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(found) == [200] * 7 + [201]
    assert len(book.payments()) == 1


def test_a_key_stands_for_one_payment_only(ledger: httpx2.Client, book: Book) -> None:
    pay(ledger)
    assert pay(ledger, amount="81.00").status_code == 422
    assert len(book.payments()) == 1


def test_what_the_account_does_not_cover_is_declined_for_good(ledger: httpx2.Client, book: Book) -> None:
    assert pay(ledger, amount="100.01").json()["status"] == "declined"
    assert pay(ledger, amount="100.01").json()["status"] == "declined"
    assert pay(ledger, key="gra_2", currency="EUR").json()["status"] == "declined"
    assert book.balance("CNY") == "100.00"


@pytest.mark.parametrize("amount", [80, 80.0, "1e3x", "0", "-1.00", "0.001", "NaN", "Infinity", "1e30", "", None])
def test_an_amount_is_a_decimal_text_with_cents(ledger: httpx2.Client, book: Book, amount: object) -> None:
    assert pay(ledger, amount=amount).status_code == 422
    assert book.payments() == []


def test_without_token_or_key_nothing_is_paid_or_shown(ledger: httpx2.Client, book: Book) -> None:
    wrong = {"Authorization": "Bearer another", "Idempotency-Key": "gra_1"}
    assert ledger.post("/payments", json=PAY, headers=wrong).status_code == 401
    assert ledger.get("/payments", headers=wrong).status_code == 401
    assert ledger.post("/payments", json=PAY).status_code == 400
    assert ledger.post("/payments", json=[1], headers={"Idempotency-Key": "k"}).status_code == 400
    assert ledger.get("/payments/never").status_code == 404
    assert book.payments() == []
    with pytest.raises(ValueError, match="LEDGER_TOKEN"):
        LedgerServer(("127.0.0.1", 0), book, token="")


async def test_the_executor_reads_what_the_ledger_says_and_nothing_more(ledger: httpx2.Client) -> None:
    url = str(ledger.base_url).rstrip("/")
    bank = ledger_tool(url, TOKEN)
    assert await bank.lookup("gra_1") is None
    paid = await bank(idempotency_key="gra_1", **PAY)
    assert paid == await bank.lookup("gra_1")
    assert isinstance(paid, ToolSucceeded)
    assert paid.result["receipt"] == "R-0001"
    declined = await bank(idempotency_key="gra_2", **PAY)
    assert (
        declined
        == await bank.lookup("gra_2")
        == ToolFailed(error="the ledger declined it: the account does not cover it")
    )
    refused = await bank(idempotency_key="gra_3", **{**PAY, "amount": 80})
    assert isinstance(refused, ToolFailed)
    assert "(422)" in refused.error
    assert isinstance(await ledger_tool(url, "another")(idempotency_key="gra_4", **PAY), ToolFailed)
    with pytest.raises(ConnectionError):
        await ledger_tool(url, "another").lookup("gra_1")


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b"{}"), (200, b"not json"), (302, b""), (409, b"{}"), (429, b""), (500, b""), (503, b"")],
)
async def test_an_answer_that_does_not_say_is_unknown(status: int, content: bytes) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, content=content, headers={"location": "/x"}))
    bank = ledger_tool("http://ledger.test", TOKEN, transport=transport)
    assert isinstance(await bank(idempotency_key="gra_1", **PAY), ToolUnknown)
    if status != 200:
        with pytest.raises(ConnectionError):
            await bank.lookup("gra_1")
    else:
        assert isinstance(await bank.lookup("gra_1"), ToolUnknown), "a record that is not clear is not none"
