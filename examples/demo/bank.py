"""The bank's stand-in: the example's ledger service, which pays at once and is slow to say so.

Only its answer is late. Whoever is killed while waiting for it has paid, and does not know.
"""

from __future__ import annotations

import secrets
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Self

from examples.ledger.__main__ import LedgerServer
from examples.ledger.book import Book

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from examples.ledger.book import Payment

ANSWERS_AFTER = 5.0
"""Seconds: time enough to press `kill -9`, and less than what the executor waits."""


class Bank:
    """The service on a thread of this process. A context manager; inside it, it serves."""

    def __init__(self, path: Path) -> None:
        """Keep the payments in `path`."""
        self.token = secrets.token_urlsafe(32)
        self._ended = threading.Event()
        self._book = _SlowBook(path, self._ended)
        self._server = _Server(("127.0.0.1", 0), self._book, token=self.token)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def entries(self) -> list[dict[str, object]]:
        """Return all payments, as the agent's own ledger shows its."""
        return [
            {
                "receipt": payment.receipt, "grant": payment.key, "payee": payment.payee,
                "amount": f"{Decimal(payment.amount):,}", "currency": payment.currency, "invoice": payment.reference,
                "at": payment.at,
            }
            for payment in self._book.payments()
            if payment.status == "paid"
        ]  # fmt: skip

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer whoever still waits, and end."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(3)


class _SlowBook(Book):
    def __init__(self, path: Path, ended: threading.Event) -> None:
        super().__init__(path, funds={"CNY": "10000000.00"})
        self._ended = ended

    def pay(self, key: str, wanted: Mapping[str, object]) -> tuple[Payment, bool]:
        paid = super().pay(key, wanted)
        self._ended.wait(ANSWERS_AFTER)
        return paid


class _Server(LedgerServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: whoever is killed takes no answer."""
