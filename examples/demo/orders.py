"""What the demo's user asks of the agent: payments of every kind that the rules answer in their own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.domain.text.language import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One payment to ask for, from the agent's own ledger."""

    payee: str
    amount: int
    currency: str = "CNY"
    account: str
    why: str = ""
    zh: str = ""

    def part(self, invoice: str, language: Language = Language.EN) -> str:
        """Say it as one of several."""
        sum_ = f"{self.payee} {self.amount:,} {self.currency}"
        if language is Language.ZH:
            return f"{sum_}，发票 {invoice}，账号 {self.account}"
        return f"{sum_} for invoice {invoice}, account {self.account}"

    def order(self, invoice: str, language: Language = Language.EN) -> str:
        """Say it as a user would."""
        part = self.part(invoice, language)
        return f"付款：{part}。{self.zh}" if language is Language.ZH else f"Pay {part}. {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several payments in one call."""

    lines: tuple[Payment, ...]
    why: str
    zh: str

    @property
    def total(self) -> int:
        """What they come to."""
        return sum(line.amount for line in self.lines)

    def invoices(self, invoice: str) -> list[str]:
        """Return the invoice of each line."""
        return [f"{invoice}-{number}" for number in range(1, len(self.lines) + 1)]

    def order(self, invoice: str, language: Language = Language.EN) -> str:
        """Say it as a user would."""
        parts = [line.part(own, language) for line, own in zip(self.lines, self.invoices(invoice), strict=True)]
        if language is Language.ZH:
            return f"一并付款：{'；'.join(parts)}。{self.zh}"
        return f"Pay these together: {'; '.join(parts)}. {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A payment that only the executor can make."""

    payee: str
    amount: int
    why: str
    zh: str

    def order(self, invoice: str, language: Language = Language.EN) -> str:
        """Say it as a user would."""
        sum_ = f"{self.payee} {self.amount:,} CNY"
        if language is Language.ZH:
            return f"电汇：{sum_}，发票 {invoice}。{self.zh}"
        return f"Wire {sum_} for invoice {invoice}. {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """No payment at all: a table to drop, whose name ends like an invoice's number."""

    why: str
    zh: str

    def table(self, invoice: str) -> str:
        """Return which table."""
        return f"staging_{invoice.rpartition('-')[2]}"

    def order(self, invoice: str, language: Language = Language.EN) -> str:
        """Say it as a user would."""
        table = self.table(invoice)
        return f"删除数据表 {table}。{self.zh}" if language is Language.ZH else f"Drop the table {table}. {self.why}"


class Order(Protocol):
    """Something to ask of the agent."""

    def order(self, invoice: str, language: Language = Language.EN) -> str:
        """Say it as a user would."""
        ...


PAYMENTS = {
    "large": Payment(
        payee="恒通钢铁 Hengtong Steel",
        amount=80_000,
        account="6222020200112233445",
        why="Steel for the March delivery; due today.",
        zh="三月交付的钢材，今天到期。",
    ),
    "foreign": Payment(
        payee="Northwind Freight",
        amount=12_000,
        currency="USD",
        account="4000123412341234567",
        why="Sea freight, container 7.",
        zh="海运费，七号柜。",
    ),
    "small": Payment(
        payee="晨光文具 Chenguang", amount=3_200, account="6217000010012345678", why="Office paper.", zh="办公用纸。"
    ),
    "slice": Payment(
        payee="明德印刷 Mingde Print",
        amount=48_000,
        account="6217000010087654321",
        why="A part of the catalogue.",
        zh="产品目录的一部分。",
    ),
    "stranger": Payment(
        payee="极光设计 Aurora Design",
        amount=90_000,
        account="6214830100998877665",
        why="The new packaging.",
        zh="新包装设计。",
    ),
}
SLICES = 5
"""So many of ``slice``: each alone passes, and the last one is over the budget of its payee."""

BATCH = Batch(
    lines=(
        Payment(payee="华星包装 Huaxing Pack", amount=48_000, account="6217000010055511122"),
        Payment(payee="东海物流 Donghai Freight", amount=45_000, account="6217000010055533344"),
        Payment(payee="云帆软件 Yunfan Soft", amount=39_500, account="6217000010055555566"),
    ),
    why="All that is due this week.",
    zh="本周到期的全部款项。",
)
WIRE = Wire(payee="Meridian Tooling", amount=120_000, why="The press, second half.", zh="冲压机尾款。")
DROP = Drop(why="Nothing reads it any more.", zh="已无程序读取。")

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
    "large": Button(label="Pay ¥80,000 · people decide", zh="付 ¥80,000 · 由人决定", orders=(PAYMENTS["large"],)),
    "small": Button(label="Pay ¥3,200 · a rule allows it", zh="付 ¥3,200 · 规则放行", orders=(PAYMENTS["small"],)),
    "foreign": Button(label="Pay $12,000 · expires in 10 s", zh="付 $12,000 · 十秒过期", orders=(PAYMENTS["foreign"],)),
    "split": Button(
        label="Pay 5 × ¥48,000 · over a budget", zh="付 5 × ¥48,000 · 超出预算", orders=(PAYMENTS["slice"],) * SLICES
    ),
    "batch": Button(label=f"Pay 3 invoices · ¥{BATCH.total:,}", zh=f"付 3 张发票 · ¥{BATCH.total:,}", orders=(BATCH,)),
    "stranger": Button(label="Pay ¥90,000 · a new payee", zh="付 ¥90,000 · 首次收款方", orders=(PAYMENTS["stranger"],)),
    "wire": Button(label="Wire ¥120,000 · by the executor", zh="电汇 ¥120,000 · 由执行器", orders=(WIRE,)),
    "alone": Button(label="Drop a table · Li Lei, alone", zh="删除数据表 · 李雷独自决定", orders=(DROP,)),
}
