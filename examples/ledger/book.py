"""The ledger's book: one SQLite file, one row for every idempotency key, in one transaction with the money it moves.

Amounts are decimal texts outside (`"80000.00"`) and whole cents inside; nothing here is ever a float.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_TABLES = """
CREATE TABLE IF NOT EXISTS balance (currency TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0)) STRICT;
CREATE TABLE IF NOT EXISTS payments (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, status TEXT NOT NULL,
  payee TEXT NOT NULL, cents INTEGER NOT NULL CHECK (cents > 0), currency TEXT NOT NULL, reference TEXT NOT NULL,
  reason TEXT, at TEXT NOT NULL) STRICT;
"""
_FIELDS = frozenset({"payee", "amount", "currency", "reference"})
_MOST = 10**15


class RefusedError(Exception):
    """The book does not take this payment at all: it is malformed, or its key stands for another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One payment: `paid` or `declined`, for good."""

    key: str
    receipt: str
    status: str
    payee: str
    amount: str
    currency: str
    reference: str
    reason: str | None
    at: str

    def as_json(self) -> dict[str, object]:
        """Return it as the API shows it."""
        return asdict(self)


class Book:
    """Payments and what is left, on the disk before any method returns."""

    def __init__(self, path: Path, *, funds: Mapping[str, str]) -> None:
        """Open the book; a new one begins with `funds`."""
        self._path = path
        with closing(self._connection()) as connection:
            connection.executescript(_TABLES)
        with self._change() as connection:
            for currency, amount in funds.items():
                connection.execute("INSERT OR IGNORE INTO balance VALUES (?, ?)", (currency, _cents(amount)))

    def pay(self, key: str, wanted: Mapping[str, object]) -> tuple[Payment, bool]:
        """Pay, or return what the same key got before (and False). Raises RefusedError."""
        payee, reference, currency = (_text(wanted, name) for name in ("payee", "reference", "currency"))
        cents = _cents(wanted.get("amount"))
        if wanted.keys() != _FIELDS:
            raise RefusedError(f"a payment has exactly {', '.join(sorted(_FIELDS))}")
        fingerprint = hashlib.sha256(json.dumps([payee, reference, currency, cents]).encode()).hexdigest()
        with self._change() as connection:
            before = connection.execute("SELECT * FROM payments WHERE key = ?", (key,)).fetchone()
            if before is not None:
                if before["fingerprint"] != fingerprint:
                    raise RefusedError("this idempotency key stands for another payment")
                return _payment(before), False
            left = connection.execute("SELECT cents FROM balance WHERE currency = ?", (currency,)).fetchone()
            covered = left is not None and left["cents"] >= cents
            if covered:
                connection.execute("UPDATE balance SET cents = cents - ? WHERE currency = ?", (cents, currency))
            status, reason = ("paid", None) if covered else ("declined", "the account does not cover it")
            at = datetime.now(UTC).isoformat(timespec="seconds")
            row = (key, fingerprint, status, payee, cents, currency, reference, reason, at)
            connection.execute(
                "INSERT INTO payments (key, fingerprint, status, payee, cents, currency, reference, reason, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            made = connection.execute("SELECT * FROM payments WHERE key = ?", (key,)).fetchone()
        return _payment(made), True

    def find(self, key: str) -> Payment | None:
        """Return what became of a key, if it was ever used."""
        with closing(self._connection()) as connection:
            row = connection.execute("SELECT * FROM payments WHERE key = ?", (key,)).fetchone()
        return None if row is None else _payment(row)

    def payments(self) -> list[Payment]:
        """Return all payments, in order."""
        with closing(self._connection()) as connection:
            return [_payment(row) for row in connection.execute("SELECT * FROM payments ORDER BY number")]

    def balance(self, currency: str) -> str:
        """Return what is left."""
        with closing(self._connection()) as connection:
            row = connection.execute("SELECT cents FROM balance WHERE currency = ?", (currency,)).fetchone()
        return _amount(0 if row is None else row["cents"])

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction that takes the lock before it reads: two payments of one key cannot both find nothing."""
        with closing(self._connection()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _text(wanted: Mapping[str, object], name: str) -> str:
    value = wanted.get(name)
    if not isinstance(value, str) or not value.strip() or len(value) > 200:
        raise RefusedError(f"{name} is a text of 1 to 200 characters")
    return value


def _cents(amount: object) -> int:
    if not isinstance(amount, str):  # a float has lost its cents before it came here
        raise RefusedError("amount is a decimal text such as '80000.00'")
    try:
        cents = Decimal(amount) * 100
    except InvalidOperation:
        raise RefusedError("amount is a decimal text such as '80000.00'") from None
    if not cents.is_finite() or cents != int(cents) or not 0 < cents < _MOST:
        raise RefusedError("amount is more than nothing, with two places at most")
    return int(cents)


def _amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _payment(row: sqlite3.Row) -> Payment:
    return Payment(
        key=row["key"],
        receipt=f"R-{row['number']:04}",
        status=row["status"],
        payee=row["payee"],
        amount=_amount(row["cents"]),
        currency=row["currency"],
        reference=row["reference"],
        reason=row["reason"],
        at=row["at"],
    )
