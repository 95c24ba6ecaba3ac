"""A request's payments in words: what speaks against it, and a batch as its total, its payees and a line for each.

Whatever the card's arguments hide is hidden here as well: a name or an account is written only where it stands among
them as it is.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from app.domain.call.tool import MISSING
from app.domain.card.card import Fact
from app.domain.money.amounts import amount_text
from app.domain.money.payment import plain, totals
from app.domain.request.caution import CautionKind
from app.domain.text.masking import HIDDEN, mask
from app.domain.text.paths import money_text
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.domain.words.span_text import span_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from app.domain.money.payment import Payment
    from app.domain.request.caution import Caution
    from app.domain.text.language import Language


_OF_BUDGETS = (("made", ".count"), ("spent", ""), ("currency", ".currency"))
"""Which sentence tells of a budget, by the first of these values that its caution has."""


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

    def cautions(self) -> tuple[str, ...]:
        """Say what speaks against the call, the weightiest first."""
        return tuple(map(self._caution, self._cautions))

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

    def _shown(self, text: str) -> str:
        """Return a text of the call on one line, or hidden as it is among the arguments."""
        if text not in self._texts:
            masked = mask(text)
            return masked if masked in self._texts else HIDDEN
        return on_one_line(text)

    def _caution(self, caution: Caution) -> str:
        values = caution.values
        match caution.kind:
            case CautionKind.NEW_ACCOUNT:
                said = self._new_account(values)
            case CautionKind.FIRST_PAYEE:
                said = self._say("first_payee", payee=self._payee(values))
            case CautionKind.DUPLICATE:
                said = self._duplicate(values)
            case CautionKind.OVER_BUDGET:
                said = self._over_budget(values)
            case kind:
                said = self._say(kind.value, **values)
        more = values.get("more")
        return f"{said} {self._say('more', count=more)}" if more else said

    def _new_account(self, values: Mapping[str, str]) -> str:
        before, now = on_one_line(values["before"]), on_one_line(values["now"])
        compared = bool(before and now) and before != now
        key = "new_account.none" if "none" in values else "new_account" if compared else "new_account.other"
        return self._say(key, payee=self._payee(values), before=before, now=now)

    def _duplicate(self, values: Mapping[str, str]) -> str:
        key = "duplicate" if "at" not in values else "duplicate.paid" if "paid" in values else "duplicate.asked"
        reference = values["reference"]
        return self._say(
            key,
            amount=f"{money_text(values['amount'])} {values['currency']}",
            payee=self._payee(values),
            reference=self._say("duplicate.reference", reference=self._shown(reference)) if reference else "",
            at=values.get("at", ""),
            request=f" ({on_one_line(values['request'])})" if values.get("request") else "",
        )

    def _over_budget(self, values: Mapping[str, str]) -> str:
        kind = next((kind for named, kind in _OF_BUDGETS if named in values), ".untold")
        told = {name: money_text(value) or on_one_line(value) for name, value in values.items()}
        told["payee"] = self._say("over_budget.payee", payee=self._payee(values)) if "payee" in values else ""
        told["budget"] = on_one_line(values["budget"])
        told["span"] = span_text(timedelta(seconds=int(values["span"])), self._language)
        return self._say(f"over_budget{kind}", **told)

    def _payee(self, values: Mapping[str, str]) -> str:
        return MISSING if values["payee"] == MISSING else self._shown(values["payee"])

    def _say(self, key: str, **values: object) -> str:
        return say(self._language, f"caution.{key}", **values)


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


def on_one_line(text: str) -> str:
    """Return a text of others made visible, so that no part of it looks like a line of ours."""
    return visible(text).replace("⏎\n", "⏎ ")
