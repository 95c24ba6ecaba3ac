"""Amounts of `assent.yaml`: exact, by currency, and told in words where they are not."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, cast

from pydantic import BeforeValidator

from app.domain.money.payment import FINEST, LARGEST

_CURRENCY = re.compile(r"[A-Z]{3}")
_AMOUNT = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,8})?")
_BELOW = re.compile(r"-\s*[0-9][0-9.]*")
_GROUPED = re.compile(r"[0-9]+(?:[_,. '][0-9]+)+")


def parse_limit(value: object) -> dict[str, Decimal]:
    """Turn ``{CNY: 200000}`` or ``"200000 CNY"`` into exact amounts by currency. Raises ValueError."""
    if isinstance(value, str):
        amount, _, currency = value.partition(" ")
        value = {currency: amount}
    pairs = cast("dict[object, object]", value) if isinstance(value, dict) else {}
    limits: dict[str, Decimal] = {}
    for currency, amount in pairs.items():
        text = str(amount) if type(amount) is int else amount
        if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
            raise ValueError("must name its currency by three capital letters, such as {CNY: 200000}")
        if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
            raise ValueError(_inexact(text))
        limits[currency] = Decimal(text)
    if not limits:
        raise ValueError('must be a limit such as {CNY: 200000} or "200000 CNY"')
    return limits


def parse_sums(value: object) -> dict[str, Decimal]:
    """Turn the same into amounts that sums of payments can be held against. Raises ValueError."""
    sums = parse_limit(value)
    for amount in sums.values():
        if amount >= LARGEST or amount != round(amount, FINEST):
            raise ValueError(f"must be below {LARGEST:,}, with {FINEST} decimals at most: payments are")
    return sums


def _inexact(amount: object) -> str:
    """Say why something is no amount, and how it is written."""
    exact = 'must be exact: a whole number, or a decimal text such as "1500.50"'
    if isinstance(amount, (int, float)) and not isinstance(amount, bool) and amount < 0:
        return "is below 0: no amount is"
    if isinstance(amount, str) and _BELOW.fullmatch(amount):
        return "is below 0: no amount is"
    if isinstance(amount, float) and amount.is_integer():
        return f"{exact}; this one is a number with a point or an exponent: write {amount:.0f}"
    if isinstance(amount, str) and _GROUPED.fullmatch(amount):
        return f"{exact}, with no marks between its digits but a point before decimals"
    return exact


Limit = Annotated[dict[str, Decimal], BeforeValidator(parse_limit)]
Sums = Annotated[dict[str, Decimal], BeforeValidator(parse_sums)]
