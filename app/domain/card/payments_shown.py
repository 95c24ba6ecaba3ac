"""A request's payments in words: a batch as its total, its payees and a line for each; and its cautions, masked.

Whatever the card's arguments hide is hidden here as well: a name or an account is written only where it stands among
them as it is.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.call.tool import MISSING
from app.domain.card.card import Fact
from app.domain.money.amounts import amount_text
from app.domain.money.payment import plain, totals
from app.domain.text.masking import HIDDEN, mask
from app.domain.text.visible import on_one_line
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from app.domain.money.payment import Payment
    from app.domain.request.caution import Caution
    from app.domain.text.language import Language


_OF_PAYMENTS = ("payee", "reference")
"""Texts of a caution that come from a payment."""


class ShownPayments:
    """What one card says of a request's payments. `texts` are all that its arguments show."""

    def __init__(
        self, payments: Sequence[Payment], cautions: Sequence[Caution], language: Language, texts: Collection[str]
    ) -> None:
        self._payments = payments
        self._cautions = cautions
        self._language = language
        self._texts = texts

    @property
    def is_batch(self) -> bool:
        """Whether there are several."""
        return len(self._payments) > 1

    def cautions(self) -> tuple[Caution, ...]:
        """Return what speaks against the call, the weightiest first; what the arguments hide is hidden in its texts."""
        return tuple(map(self._seen, self._cautions))

    def total(self) -> Fact:
        """Say how many there are, and what they come to in each currency."""
        sums = " + ".join(self._amount(amount, currency) for currency, amount in totals(self._payments).items())
        return Fact(label=say(self._language, "batch.total", count=len(self._payments)), value=sums)

    def facts(self) -> tuple[Fact, ...]:
        """List all payees, and then each payment on a line of its own."""
        payees = list(dict.fromkeys(payment.payee for payment in self._payments))
        listed = say(self._language, "batch.separator").join(map(self._shown, payees))
        lines = "\n".join(f"{number}. {self._line(payment)}" for number, payment in enumerate(self._payments, start=1))
        return (
            Fact(label=say(self._language, "batch.payees", count=len(payees)), value=listed),
            Fact(label=say(self._language, "batch.payments"), value=lines),
        )

    def tells(self, values: Sequence[object]) -> bool:
        """Say whether values, one for each payment, stand in their lines already."""
        return len(values) == len(self._payments) and all(
            str(value) in {HIDDEN, each.payee, each.currency, each.account, each.reference}
            for value, each in zip(values, self._payments, strict=True)
        )

    def tell_rows(self, rows: Sequence[Mapping[str, object]], parts: Collection[str]) -> bool:
        """Say whether rows, one for each payment, have nothing but these parts of it, and all stand in its line."""
        return len(rows) == len(self._payments) and all(
            row.keys() <= set(parts) and all(_is_said(value, each) for value in row.values())
            for row, each in zip(rows, self._payments, strict=True)
        )

    def _line(self, payment: Payment) -> str:
        more = [self._shown(text) for text in (payment.account, payment.reference) if text is not None]
        return " · ".join((f"{self._amount(payment.amount, payment.currency)} → {self._shown(payment.payee)}", *more))

    def _amount(self, amount: Decimal, currency: str) -> str:
        text = amount_text(plain(amount), currency, self._language) or plain(amount)
        return text if text[-1:].isalpha() else f"{text} {currency}"

    def _seen(self, caution: Caution) -> Caution:
        told = {name: text for name in _OF_PAYMENTS if (text := caution.values.get(name)) and text != MISSING}
        return replace(caution, values={**caution.values, **{name: self._shown(text) for name, text in told.items()}})

    def _shown(self, text: str) -> str:
        """Return a text of the call on one line, or hidden as it is among the arguments."""
        if text not in self._texts:
            masked = mask(text)
            return masked if masked in self._texts else HIDDEN
        return on_one_line(text)


def _is_said(value: object, payment: Payment) -> bool:
    """Say whether a part of a payment, masked where it is sensitive, stands in the payment's line."""
    if not isinstance(value, str | int):
        return False
    texts = [text for text in (payment.payee, payment.currency, payment.account, payment.reference) if text]
    if str(value) in {HIDDEN, *texts, *map(mask, texts)}:
        return True
    try:
        return Decimal(value) == payment.amount
    except ArithmeticError:
        return False
