"""What the demo's user asks of the agent: three kinds of payments, one for each way the rules answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One payment to ask for."""

    label: str
    payee: str
    amount: int
    currency: str
    account: str
    why: str

    def order(self, invoice: str) -> str:
        """Say it as a user would."""
        what = f"Pay {self.payee} {self.amount:,} {self.currency} for invoice {invoice}, account {self.account}."
        return f"{what} {self.why}"


PAYMENTS = {
    "large": Payment(
        label="¥80,000 · people decide",
        payee="恒通钢铁 Hengtong Steel",
        amount=80_000,
        currency="CNY",
        account="6222020200112233445",
        why="Steel for the March delivery; due today.",
    ),
    "foreign": Payment(
        label="$12,000 · expires in 10 s",
        payee="Northwind Freight",
        amount=12_000,
        currency="USD",
        account="4000123412341234567",
        why="Sea freight, container 7.",
    ),
    "small": Payment(
        label="¥3,200 · a rule allows it",
        payee="晨光文具 Chenguang",
        amount=3_200,
        currency="CNY",
        account="6217000010012345678",
        why="Office paper.",
    ),
}
