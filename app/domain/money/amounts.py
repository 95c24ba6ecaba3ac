"""Amounts of money as people of a language write them: every digit kept, never through a float.

The currency's code or name always stands beside its sign: ``¥`` may be yuan or yen, ``$`` one of twenty dollars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.text.language import Language
from app.domain.text.paths import money_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from app.domain.text.canonical import JsonValue


_CURRENCY_NAMES = ("currency", "currency_code", "ccy")


class Currency(Struct, frozen=True):
    """How a currency is written. `minor` is the number of digits after its point (ISO 4217)."""

    sign: str  # before the number; "" where the code or name alone is usual
    name_zh: str
    minor: int = 2


CURRENCIES: Mapping[str, Currency] = {
    "AED": Currency("", "阿联酋迪拉姆"),
    "AUD": Currency("A$", "澳元"),
    "BHD": Currency("", "巴林第纳尔", 3),
    "BRL": Currency("R$", "巴西雷亚尔"),
    "CAD": Currency("C$", "加元"),
    "CHF": Currency("", "瑞士法郎"),
    "CLP": Currency("", "智利比索", 0),
    "CNH": Currency("¥", "离岸人民币"),
    "CNY": Currency("¥", "人民币"),
    "CZK": Currency("", "捷克克朗"),
    "DKK": Currency("", "丹麦克朗"),
    "EUR": Currency("€", "欧元"),
    "GBP": Currency("£", "英镑"),
    "HKD": Currency("HK$", "港元"),
    "IDR": Currency("Rp ", "印尼盾"),
    "INR": Currency("₹", "印度卢比"),
    "JOD": Currency("", "约旦第纳尔", 3),
    "JPY": Currency("¥", "日元", 0),
    "KRW": Currency("₩", "韩元", 0),
    "KWD": Currency("", "科威特第纳尔", 3),
    "MOP": Currency("", "澳门元"),
    "MXN": Currency("", "墨西哥比索"),
    "MYR": Currency("RM ", "马来西亚林吉特"),
    "NOK": Currency("", "挪威克朗"),
    "NZD": Currency("NZ$", "新西兰元"),
    "OMR": Currency("", "阿曼里亚尔", 3),
    "PHP": Currency("₱", "菲律宾比索"),
    "PLN": Currency("", "波兰兹罗提"),
    "RUB": Currency("₽", "俄罗斯卢布"),
    "SAR": Currency("", "沙特里亚尔"),
    "SEK": Currency("", "瑞典克朗"),
    "SGD": Currency("S$", "新加坡元"),
    "THB": Currency("฿", "泰铢"),
    "TND": Currency("", "突尼斯第纳尔", 3),
    "TRY": Currency("₺", "土耳其里拉"),
    "TWD": Currency("NT$", "新台币"),
    "USD": Currency("US$", "美元"),
    "VND": Currency("₫", "越南盾", 0),
    "ZAR": Currency("R ", "南非兰特"),
}


def amount_text(value: JsonValue, code: JsonValue, language: Language) -> str | None:
    """Write an amount in a currency: ``US$12,000.00 USD``, in Chinese ``US$12,000.00 美元``.

    The fraction is filled up to the currency's minor digits; digits beyond them stay. A currency that the table does
    not know, in any other spelling than its capital code, is no currency: the bare number is returned. None for what
    is no exact amount.
    """
    number = digits_text(value, code)
    currency = CURRENCIES.get(code) if isinstance(code, str) else None
    if number is None or currency is None:
        return number
    digits = number.removeprefix("-")
    name = currency.name_zh if language is Language.ZH else code
    return f"{'-' if digits != number else ''}{currency.sign}{digits} {name}"


def digits_text(value: JsonValue, code: JsonValue) -> str | None:
    """Write an amount as `amount_text` does, without what stands around the number."""
    number = money_text(value)
    currency = CURRENCIES.get(code) if isinstance(code, str) else None
    if number is None or currency is None:
        return number
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(currency.minor, "0")
    return f"{whole}.{fraction}" if fraction else whole


def with_currency(value: str, code: str, language: Language) -> str:
    """Write an amount with its currency, also one that no table knows: ``12,000.00 QQQ``."""
    shown = amount_text(value, code, language) or value
    return shown if code in CURRENCIES else f"{shown} {code}"


def has_too_many_decimals(value: JsonValue, code: JsonValue) -> bool:
    """Say whether an amount has more digits after the point than its currency has coins for."""
    currency = CURRENCIES.get(code) if isinstance(code, str) else None
    if currency is None or not isinstance(value, str) or money_text(value) is None:
        return False
    return len(value.partition(".")[2]) > currency.minor


def currency_paths(amount: str, *more: str) -> tuple[str, ...]:
    """Return where the currency of an amount may stand: beside it first, then over each level that holds it.

    `more` are names that it may have besides the usual ones.
    """
    levels = amount.split(".")[:-1]
    prefixes = (f"{'.'.join(levels[:depth])}." if depth else "" for depth in range(len(levels), -1, -1))
    names = dict.fromkeys((*_CURRENCY_NAMES, *more))
    return tuple(prefix + name for prefix in prefixes for name in names)


def currency_of(amount: str, values_at: Callable[[str], Iterable[tuple[str, JsonValue]]]) -> str | None:
    """Return the currency of the amount at a path; None if none stands there, or not one and the same.

    Of an inner one and an outer one that differ nobody knows which the tool goes by.
    """
    found = [value for path in currency_paths(amount) for _, value in values_at(path)]
    return found[0] if found and isinstance(found[0], str) and all(value == found[0] for value in found) else None
