"""Payments: how much, in what, to whom, read out of a call's arguments where the file says that they stand.

Amount and payee are what an approval is about (PSD2 calls it dynamic linking): they are read exactly, once, or the call
is refused. Amounts are decimals, in units of the currency; they never pass through a float.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.domain.errors import BadArgumentsError
from app.domain.money.amounts import CURRENCIES, currency_paths
from app.domain.text.canonical import path_text
from app.domain.text.paths import steps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from app.domain.text.canonical import JsonValue

FINEST = 4  # decimal places of a payment: no currency has more
LARGEST = Decimal(10) ** 12  # payments are smaller, so that sums of many fit the database's whole numbers
MOST = 500  # payments in one call
_AMOUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,4})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_LONGEST = 300
_SEPARATORS = "-./\u2010\u2011\u2012\u2013\u2014\u2212"  # within account numbers
_INEXACT = 'an amount must be a whole number above zero or a decimal text such as "12.50", with 4 decimals at most'
_NOT_MINOR = "an amount in minor units must be a whole number above zero"

Steps = tuple[str | int, ...]


class PaymentFields(Struct, frozen=True, kw_only=True):
    """Where in a tool's arguments its payments stand, as dotted paths.

    A path through a list makes a batch: one payment for each element, all paths through the same list; a path that
    stays outside of it (one currency for all) counts for each. `minor_units`: amounts are whole numbers of cents.
    """

    amount: str
    currency: str
    payee: str
    account: str | None = None
    reference: str | None = None
    minor_units: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """All of them: what must be seen before one may approve."""
        named = (self.payee, self.amount, self.currency, self.account, self.reference)
        return tuple(dict.fromkeys(path for path in named if path is not None))


class Payment(Struct, frozen=True, kw_only=True):
    """One payment: an exact amount in a currency (three capital letters), to a payee, into an account."""

    amount: Decimal
    currency: str
    payee: str
    account: str | None = None
    reference: str | None = None

    @property
    def payee_key(self) -> str:
        """The payee for counting: spellings that differ in case, width, spaces or signs are one."""
        return payee_key(self.payee)

    @property
    def account_key(self) -> str:
        """The account for comparing, hashed; "" where the call names none."""
        return account_key(self.account)


def payee_key(name: str) -> str:
    """Return a payee's name as it is counted."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if char.isalnum()) or name


def account_key(account: str | None) -> str:
    """Return an account as it is compared: SHA-256 in hex of it without case and blanks; "" for none.

    Of an account number the hyphens, dots and slashes do not count either; of an address or a name, every sign does.
    """
    if account is None:
        return ""
    plain = "".join(unicodedata.normalize("NFKC", account).casefold().split())
    number = "".join(char for char in plain if char not in _SEPARATORS)
    if number.isascii() and number.isalnum() and 2 * sum(map(str.isdigit, number)) > len(number):
        plain = number
    return hashlib.sha256((plain or account).encode()).hexdigest()


def totals(payments: Iterable[Payment]) -> dict[str, Decimal]:
    """Return the sum of each currency, by its code in the order of the alphabet."""
    sums: dict[str, Decimal] = {}
    for payment in payments:
        sums[payment.currency] = sums.get(payment.currency, Decimal(0)) + payment.amount
    return dict(sorted(sums.items()))


def bound_facts(payments: Sequence[Payment]) -> dict[str, JsonValue]:
    """Return what an approval of payments is bound to, besides the arguments: the totals and the payees."""
    return {
        "totals": {currency: plain(amount) for currency, amount in totals(payments).items()},
        "payees": list(dict.fromkeys(payment.payee for payment in payments)),
    }


def plain(amount: Decimal) -> str:
    """Write an amount as digits, without exponent and without trailing zeros after the point."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def payments_of(fields: PaymentFields, arguments: Mapping[str, JsonValue]) -> tuple[Payment, ...]:
    """Read the payments of a call, one at least. Raises BadArgumentsError with the `path` of what cannot be read."""
    steps = steps_of(fields.amount)
    node: JsonValue = cast("dict[str, JsonValue]", arguments)
    for depth, step in enumerate(steps):
        if isinstance(node, list):
            return _batch(fields, arguments, steps[:depth], node)
        node = node.get(step) if isinstance(node, dict) else None
    return (_payment(fields, arguments, (), None),)


def _batch(
    fields: PaymentFields, arguments: Mapping[str, JsonValue], listed: tuple[str, ...], items: list[JsonValue]
) -> tuple[Payment, ...]:
    if not items:
        raise _bad(listed, "has no payment in it")
    if len(items) > MOST:
        raise _bad(listed, f"has more than {MOST} payments")
    return tuple(_payment(fields, arguments, listed, index) for index in range(len(items)))


def _payment(
    fields: PaymentFields, arguments: Mapping[str, JsonValue], listed: tuple[str, ...], index: int | None
) -> Payment:
    at, currency = _read(arguments, fields.currency, listed, index)
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise _bad(at, "a currency must be its code of three capital letters")
    for other in _other_currencies(fields.amount, fields.currency):
        beside, named = _read(arguments, other, listed, index)
        if isinstance(named, str) and named != currency:
            raise _bad(beside, f"is another currency than {path_text(*at)}: a payment has one")
    at, payee = _read(arguments, fields.payee, listed, index)
    if not isinstance(payee, str) or not payee.strip() or len(payee) > _LONGEST:
        raise _bad(at, f"a payee must be a text of 1 to {_LONGEST} characters")
    at, amount = _read(arguments, fields.amount, listed, index)
    return Payment(
        amount=_minor(at, amount, currency) if fields.minor_units else _major(at, amount),
        currency=currency,
        payee=payee,
        account=_text(arguments, fields.account, listed, index),
        reference=_text(arguments, fields.reference, listed, index),
    )


@cache
def _other_currencies(amount: str, currency: str) -> tuple[str, ...]:
    """Return where else a tool might look for the currency of an amount: what stands there must not be another one."""
    named = currency_paths(amount, currency.rpartition(".")[2])
    return tuple(path for path in named if path != currency)


def _major(at: Steps, value: JsonValue) -> Decimal:
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text) or not Decimal(text):
        raise _bad(at, _INEXACT)
    return Decimal(text)


def _minor(at: Steps, value: JsonValue, currency: str) -> Decimal:
    known = CURRENCIES.get(currency)
    if known is None:
        raise _bad(at, f"how many minor units {currency} has is not known here: give the amount in whole units")
    if type(value) is not int or value <= 0:
        raise _bad(at, _NOT_MINOR)
    amount = Decimal(value).scaleb(-known.minor)
    if amount >= LARGEST:
        raise _bad(at, "the amount is too large")
    return amount


def _text(
    arguments: Mapping[str, JsonValue], dotted: str | None, listed: tuple[str, ...], index: int | None
) -> str | None:
    """Return an account or a reference; None where the call has none."""
    if dotted is None:
        return None
    at, value = _read(arguments, dotted, listed, index)
    if value is None or value == "":
        return None
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise _bad(at, f"must be a text of {_LONGEST} characters at most")
    return text


def _read(
    arguments: Mapping[str, JsonValue], dotted: str, listed: tuple[str, ...], index: int | None
) -> tuple[Steps, JsonValue]:
    """Return the exact path and the value of a field of one payment; None for a value that is not there."""
    steps = steps_of(dotted)
    inside = steps[: len(listed)] == listed
    path: list[str | int] = []
    node: JsonValue = cast("dict[str, JsonValue]", arguments)
    for depth, step in enumerate(steps):
        if index is not None and inside and depth == len(listed) and isinstance(node, list):
            node = node[index]
            path.append(index)
        if isinstance(node, list):
            raise _bad((*path,), "holds a list within a payment: each payment has one of each")
        path.append(step)
        node = node.get(step) if isinstance(node, dict) else None
    return (*path,), node


def _bad(at: Sequence[str | int], why: str) -> BadArgumentsError:
    path = path_text(*at)
    return BadArgumentsError(f"{path}: {why}", path=path, why=why)
