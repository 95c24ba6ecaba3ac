"""Exact money in conditions: whole numbers and decimal texts as a type that meets only its own kind.

The expression library has no decimals. Its spans of time are exact, can be added and compared, and refuse every other
type: an amount is such a span, one second for one unit of the currency. A bare number beside an amount, a product or a
fraction thereby makes the evaluation fail, where a scaled integer would compare as something else.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

AMOUNT = "amount"
"""The function's name in conditions."""
FINEST = 6  # decimal places of an amount
LARGEST = Decimal(10) ** 13  # amounts are smaller: they and their sums fit the library's spans

_DECIMAL = re.compile(r"-?[0-9]{1,16}(?:\.[0-9]{1,12})?")  # 28 digits: as many as decimals here keep
_INEXACT = object()  # nothing that the library can take: the evaluation fails, and (unlike a raise) in silence


def amount(value: object, places: object = 0) -> object:
    """Return exact money for a condition: of a whole number or decimal text, in units of 10^-places of the currency.

    Anything else (a fraction that was never exact, more digits than an amount has) makes the evaluation fail.
    """
    exact = exact_amount(value, places)
    return _INEXACT if exact is None else timedelta(microseconds=int(exact.scaleb(FINEST)))


def exact_amount(value: object, places: object = 0) -> Decimal | None:
    """Return what `amount` compares, or None for what is no exact amount."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        return None
    if type(places) is not int or not 0 <= places <= FINEST:
        return None
    exact = Decimal(text).scaleb(-places).normalize()
    exponent = exact.as_tuple().exponent
    fits = abs(exact) < LARGEST and isinstance(exponent, int) and exponent >= -FINEST
    return exact if fits else None
