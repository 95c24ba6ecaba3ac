"""What a person types before an approval counts: the card's code, or the amount. Pure.

A click can be made by accident, in passing, or by whoever holds an unlocked phone; whoever types what stands on the
card has looked at it. Case, blanks, hyphens and the full-width letters of a Chinese keyboard do not matter; every digit
does.
"""

from __future__ import annotations

import hmac
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from app.domain.card.form import Field, FieldKind
from app.domain.money.amounts import CURRENCIES
from app.domain.money.payment import plain, totals
from app.domain.words.say import say

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.language import Language

TYPED = "typed"
"""The field of the form that asks for it."""

_LONGEST = 60
_HALF = 4  # characters of a code on either side of its hyphen
_FULL_WIDTH = {full: full - 0xFEE0 for full in range(0xFF01, 0xFF5F)} | {0xFFE5: ord("¥"), 0xFFE1: ord("£")}
_HYPHENS = re.compile(r"[-\u2010-\u2015\u2212]")
_AMOUNT = re.compile(r"(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.[0-9]{1,4})?")
_YUAN = ("元", "RMB")  # what people write besides the sign, the code and the name


def typed_field(request: ConfirmationRequest, language: Language) -> Field:
    """Return the field in which it is typed."""
    key = "typed.either" if typed_total(request) else "typed.code"
    return Field(name=TYPED, label=say(language, key), kind=FieldKind.LINE, hint=say(language, "typed.hint"))


def is_typed_right(request: ConfirmationRequest, text: str) -> bool:
    """Say whether a text is the code of a request, or the total of its payments where that is one sum.

    The time that it takes tells nothing of how much of it was right.
    """
    folded = _folded(text)
    is_code = is_code_right(request.code, text)
    total = typed_total(request)
    is_amount = total is not None and _same(_amount(folded, total[0]), plain(total[1]))
    return is_code or is_amount


def is_code_right(code: str, text: str) -> bool:
    """Say whether a text is this code, as people type it."""
    return _same(_HYPHENS.sub("", _folded(text)), _HYPHENS.sub("", code))


def code_in(text: str) -> str:
    """Return a code as cards show it, of what somebody typed; what is none comes back in capitals."""
    letters = _HYPHENS.sub("", _folded(text))
    return f"{letters[:_HALF]}-{letters[_HALF:]}" if len(letters) == 2 * _HALF else letters


def _folded(text: str) -> str:
    return "".join(text.translate(_FULL_WIDTH).split()).upper() if len(text) <= _LONGEST else ""


def typed_total(request: ConfirmationRequest) -> tuple[str, Decimal] | None:
    """Return the currency and the sum of a request's payments; None without payments, and for several currencies."""
    sums = totals(request.payments)
    return next(iter(sums.items())) if len(sums) == 1 else None


def _amount(text: str, currency: str) -> str:
    """Return an amount as `plain` writes it, without the currency before or behind it; "" for what is none."""
    known = CURRENCIES.get(currency)
    sign, name_zh = (known.sign.strip().upper(), known.name_zh) if known else ("", "")
    yuan = _YUAN if currency == "CNY" else ()
    for name in filter(None, (currency, sign, sign[-1:] if sign.endswith("$") else "", name_zh, *yuan)):
        text = text.removeprefix(name).removesuffix(name)
    return plain(Decimal(text.replace(",", ""))) if _AMOUNT.fullmatch(text) else ""


def _same(text: str, expected: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), expected.encode())
