"""What the demo's user asks of the agent: payments of every kind that the rules answer in their own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One payment to ask for, from the agent's own ledger."""

    payee: str
    amount: int
    currency: str = "CNY"
    account: str
    why: str

    def part(self, invoice: str) -> str:
        """Say it as one of several."""
        return f"{self.payee} {self.amount:,} {self.currency} for invoice {invoice}, account {self.account}"

    def order(self, invoice: str) -> str:
        """Say it as a user would."""
        return f"Pay {self.part(invoice)}. {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several payments in one call."""

    lines: tuple[Payment, ...]
    why: str

    @property
    def total(self) -> int:
        """What they come to."""
        return sum(line.amount for line in self.lines)

    def invoices(self, invoice: str) -> list[str]:
        """Return the invoice of each line."""
        return [f"{invoice}-{number}" for number in range(1, len(self.lines) + 1)]

    def order(self, invoice: str) -> str:
        """Say it as a user would."""
        parts = [line.part(own) for line, own in zip(self.lines, self.invoices(invoice), strict=True)]
        return f"Pay these together: {'; '.join(parts)}. {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A payment that only the executor can make."""

    payee: str
    amount: int
    why: str

    def order(self, invoice: str) -> str:
        """Say it as a user would."""
        return f"Wire {self.payee} {self.amount:,} CNY for invoice {invoice}. {self.why}"


class Order(Protocol):
    """Something to ask of the agent."""

    def order(self, invoice: str) -> str:
        """Say it as a user would."""
        ...


PAYMENTS = {
    "large": Payment(
        payee="恒通钢铁 Hengtong Steel",
        amount=80_000,
        account="6222020200112233445",
        why="Steel for the March delivery; due today.",
    ),
    "foreign": Payment(
        payee="Northwind Freight",
        amount=12_000,
        currency="USD",
        account="4000123412341234567",
        why="Sea freight, container 7.",
    ),
    "small": Payment(payee="晨光文具 Chenguang", amount=3_200, account="6217000010012345678", why="Office paper."),
    "slice": Payment(
        payee="明德印刷 Mingde Print", amount=48_000, account="6217000010087654321", why="A part of the catalogue."
    ),
    "stranger": Payment(
        payee="极光设计 Aurora Design", amount=90_000, account="6214830100998877665", why="The new packaging."
    ),
}
SLICES = 5
"""So many of ``slice``: each alone passes, and the last one is over the budget of its payee."""

BATCH = Batch(
    lines=(
        Payment(payee="华星包装 Huaxing Pack", amount=48_000, account="6217000010055511122", why=""),
        Payment(payee="东海物流 Donghai Freight", amount=45_000, account="6217000010055533344", why=""),
        Payment(payee="云帆软件 Yunfan Soft", amount=39_500, account="6217000010055555566", why=""),
    ),
    why="All that is due this week.",
)
WIRE = Wire(payee="Meridian Tooling", amount=120_000, why="The press, second half.")

KNOWN = [
    *((each.payee, each.account) for key, each in PAYMENTS.items() if key != "stranger"),
    *((each.payee, each.account) for each in BATCH.lines),
    (WIRE.payee, None),
]
"""Whom the payee register knows from the start, and by which account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """What the page offers: a label in both languages, and what the user then says."""

    label: str
    zh: str
    orders: tuple[Order, ...]


BUTTONS = {
    "large": Button(label="¥80,000 · people decide", zh="由人决定", orders=(PAYMENTS["large"],)),
    "foreign": Button(label="$12,000 · expires in 10 s", zh="十秒过期", orders=(PAYMENTS["foreign"],)),
    "small": Button(label="¥3,200 · a rule allows it", zh="规则放行", orders=(PAYMENTS["small"],)),
    "split": Button(label="5 × ¥48,000 · splitting", zh="拆分付款", orders=(PAYMENTS["slice"],) * SLICES),
    "batch": Button(label=f"3 invoices · ¥{BATCH.total:,}", zh="批量付款", orders=(BATCH,)),
    "stranger": Button(label="¥90,000 · new payee", zh="首次收款方", orders=(PAYMENTS["stranger"],)),
    "wire": Button(label="¥120,000 · by executor", zh="由执行器电汇", orders=(WIRE,)),
}
