"""Whom a call pays: payees whom nobody here has paid, known ones with new bank details, and what was paid before."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.domain.call.tool import MISSING
from app.domain.card.card_for import instant_text
from app.domain.money.payment import payee_key, plain
from app.domain.request.caution import Caution, CautionKind
from app.storage.payments.payees import find_payees
from app.storage.payments.spends import list_alike, list_paid, units_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.money.payment import Payment
    from app.storage.engine.transaction import Tx
    from app.storage.payments.spends import Earlier
    from app.usecases.judging.judge_call import Judged

_TAIL = 4
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Known:
    """The accounts of one payee that are known, each with its last characters and since when."""

    accounts: dict[str, tuple[datetime, str]] = field(default_factory=dict[str, "tuple[datetime, str]"])

    def add(self, account_key: str, tail: str, at: datetime) -> None:
        """Keep an account, with the latest instant at which it proved right."""
        self.accounts[account_key] = max(self.accounts.get(account_key, (at, tail)), (at, tail))

    def last(self) -> str:
        """Return the last characters of the account that proved right last; "" where none is known or shown."""
        named = [at for key, at in self.accounts.items() if key]
        return max(named)[1] if named else ""


def strangers(tx: Tx, judged: Judged) -> Iterator[Caution]:
    """Yield a caution for each payee, and each account of a payee, that nobody here has paid or put in the register."""
    known = _known(tx, judged.payments)
    fields = judged.tool.payment
    new: set[str] = set()
    for payment in {(each.payee, each.account_key): each for each in judged.payments}.values():
        of_payee = known.get(_exact(payment.payee))
        if of_payee is None:
            if _exact(payment.payee) not in new:
                new.add(_exact(payment.payee))
                yield Caution(kind=CautionKind.FIRST_PAYEE, values={"payee": payee_told(judged, payment)})
        elif fields is not None and fields.account is not None and payment.account_key not in of_payee.accounts:
            values = {
                "payee": payee_told(judged, payment),
                "before": "" if judged.tool.hides(fields.account) else of_payee.last(),
                "now": account_tail(judged, payment),
                **({"none": "yes"} if payment.account is None else {}),
            }
            yield Caution(kind=CautionKind.NEW_ACCOUNT, values=values)


def duplicates(tx: Tx, judged: Judged, *, now: datetime, instead_of: str) -> Iterator[Caution]:
    """Yield a caution for each payment that was made or asked for lately, and for each that is twice in the call."""
    within = judged.policy.payments.duplicates
    if not within:
        return
    earlier = defaultdict[tuple[str, int, str], "list[Earlier]"](list)
    for each in list_alike(tx, judged.payments, since=now - within, instead_of=instead_of):
        earlier[each.payee_key, each.units, each.currency].append(each)
    seen = defaultdict[tuple[str, int, str], "list[Payment]"](list)
    for payment in judged.payments:
        key = (payment.payee_key, units_of(payment.amount), payment.currency)
        before = next((each for each in earlier[key] if _is_same(payment.reference, each.reference)), None)
        if before is not None:
            values = {
                "at": instant_text(before.at.replace(second=0, microsecond=0), judged.policy.zone),
                "request": before.request_id or "",
                **({"paid": "yes"} if before.succeeded else {"allowed": "yes"} if before.request_id is None else {}),
            }
            yield Caution(kind=CautionKind.DUPLICATE, values={**_told(judged, payment), **values})
        elif any(_is_same(payment.reference, each.reference) for each in seen[key]):
            yield Caution(kind=CautionKind.DUPLICATE, values=_told(judged, payment))
        seen[key].append(payment)


def account_tail(judged: Judged, payment: Payment) -> str:
    """Return the last characters of a payment's account, to compare by; "" where there is none or it is sensitive."""
    fields = judged.tool.payment
    if payment.account is None or fields is None or fields.account is None or judged.tool.hides(fields.account):
        return ""
    return tail_of(payment.account)


def tail_of(account: str) -> str:
    """Return the last letters and digits of an account."""
    return "".join(char for char in account if char.isalnum())[-_TAIL:]


def _known(tx: Tx, payments: tuple[Payment, ...]) -> dict[str, _Known]:
    """Return the payees who are known by exactly their names: put in by people, or paid well since taken out."""
    keys = list(dict.fromkeys(payment.payee_key for payment in payments))
    accounts = list(dict.fromkeys(payment.account_key for payment in payments))
    known: dict[str, _Known] = {}
    removed: dict[str, datetime] = {}
    for entry in find_payees(tx, keys, accounts):
        if entry.removed_at is not None:
            removed[entry.payee_key] = max(removed.get(entry.payee_key, _NEVER), entry.removed_at)
        if entry.is_known:
            # An entry without an account vouches for calls that name none, and for no account.
            known.setdefault(_exact(entry.name), _Known()).add(entry.account_key, entry.account_tail, entry.set_at)
    for paid in list_paid(tx, keys, accounts):
        if paid.at > removed.get(paid.payee_key, _NEVER):
            known.setdefault(_exact(paid.payee), _Known()).add(paid.account_key, paid.account_tail, paid.at)
    return known


def _exact(payee: str) -> str:
    return unicodedata.normalize("NFC", payee)


def payee_told(judged: Judged, payment: Payment) -> str:
    """Return a payment's payee for people; "?" where the file hides it."""
    fields = judged.tool.payment
    return MISSING if fields is None or judged.tool.hides(fields.payee) else payment.payee


def _told(judged: Judged, payment: Payment) -> dict[str, str]:
    fields = judged.tool.payment
    hidden = fields is None or fields.reference is None or judged.tool.hides(fields.reference)
    return {
        "payee": payee_told(judged, payment),
        "amount": plain(payment.amount),
        "currency": payment.currency,
        "reference": "" if hidden or payment.reference is None else payment.reference,
    }


def _is_same(reference: str | None, earlier: str | None) -> bool:
    """Say whether two payments have one reference; one without a reference is like any."""
    return reference is None or earlier is None or payee_key(reference) == payee_key(earlier)
