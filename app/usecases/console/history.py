"""How a payment compares with those before it, in words: whether this account is known, what was paid last."""

from __future__ import annotations

import unicodedata
from statistics import median
from typing import TYPE_CHECKING

from app.domain.card.card_for import instant_text
from app.domain.money.amounts import amount_text
from app.domain.money.payment import plain
from app.domain.words.say import say
from app.storage.payments.history import MOST, count_sharing, list_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.domain.card.shown_call import Terms
    from app.domain.money.payment import Payment
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.engine.transaction import Tx
    from app.storage.payments.history import Before

_MUCH = 2  # times the usual that are worth a word
_USUAL = 20  # of the last payments


def history_of(tx: Tx, request: ConfirmationRequest, policy: Policy, terms: Terms) -> tuple[str, ...]:
    """Say what was paid to the payee before; nothing of a batch, of a stranger, or where the file hides the payee."""
    tool = policy.tools.get(request.call.tool)
    fields = tool.payment if tool else None
    if tool is None or fields is None or len(request.payments) != 1 or tool.hides(fields.payee):
        return ()
    payment = request.payments[0]
    name = unicodedata.normalize("NFC", payment.payee)
    before = list_before(tx, payment.payee_key, name, account_key=payment.account_key)
    shared = count_sharing(tx, payment.account_key) if payment.account_key else 0
    return tuple(_told(before, payment, shared, terms))


def _told(before: Sequence[Before], payment: Payment, shared: int, terms: Terms) -> Iterator[str]:
    language = terms.language
    if before:
        yield _accounts(before, payment, terms)
        last = before[0]
        amount = amount_text(plain(last.amount), last.currency, language) or plain(last.amount)
        day = instant_text(last.at, terms.zone).partition(" ")[0]
        yield say(language, "console.history.last", amount=amount, date=day)
    usual = [each.amount for each in before[:_USUAL] if each.currency == payment.currency]
    if usual and payment.amount >= _MUCH * median(usual):
        times = f"{payment.amount / median(usual):.1f}".removesuffix(".0")
        yield say(language, "console.history.usual", times=times)
    if shared > 1:
        yield say(language, "console.history.shared", count=shared)


def _accounts(before: Sequence[Before], payment: Payment, terms: Terms) -> str:
    count = f"{len(before)}+" if len(before) == MOST else str(len(before))
    one = ".one" if len(before) == 1 else ""
    if not payment.account_key:
        return say(terms.language, f"console.history.paid{one}", count=count)
    same = [each for each in before if each.account_key == payment.account_key]
    if not same:
        return say(terms.language, f"console.history.other{one}", count=count)
    if len(same) == 1:
        return say(terms.language, "console.history.one")
    count = f"{len(same)}+" if len(same) == MOST else str(len(same))
    return say(terms.language, "console.history.same", count=count)
