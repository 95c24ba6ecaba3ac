"""What may become of a call's headers on their way, or in a forger's hands."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Headers = tuple[tuple[str, str], ...]

FOREIGN: Final = "é²\u00ff"
"""What no header of ASCII has, and a digit that is none."""

_END: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_SPELLINGS: Final[tuple[Callable[[datetime], str], ...]] = (
    lambda at: str(int(at.timestamp())),
    lambda at: f"{at:%Y-%m-%dT%H:%M:%S}",
    lambda at: format_datetime(at, usegmt=True),
)


def put(headers: Headers, at: int, *values: str) -> Headers:
    """Return the headers with the one at this place having these values instead, each as a header of its own."""
    name = headers[at][0]
    return (*headers[:at], *((name, value) for value in values), *headers[at + 1 :])


def spoilt(value: str) -> Iterator[str]:
    """Yield what may become of a header's value on its way."""
    yield from ("", value[:-1], value[1:], value[: len(value) // 2], f"{value}0", value.swapcase())
    yield from (value + FOREIGN, FOREIGN + value, FOREIGN)
    digits = [at for at, sign in enumerate(value) if sign.isdigit()]
    for at in digits[:: max(1, len(digits) // 6)]:
        for other in (str((int(value[at]) + 1) % 10), "²", "x"):
            yield value[:at] + other + value[at + 1 :]


def shifted(headers: Headers) -> Iterator[tuple[Headers, datetime]]:
    """Yield the headers with digits of one pushed into another, and the instant that the first one then names.

    Where nothing stands between two headers in what is signed, the signature is still right.
    """
    for (at, to), few in itertools.product(itertools.permutations(range(len(headers)), 2), (1, 2)):
        value, beside = headers[at][1], headers[to][1]
        if not value.isdecimal():
            continue
        given = (value[:-few], value[-few:] + beside), (value[few:], beside + value[:few])
        for first, second in (*given, (value + beside[:few], beside[few:])):
            if first.isdecimal() and int(first) < _END:
                yield put(put(headers, at, first), to, second), datetime.fromtimestamp(int(first), UTC)


def moved(value: str, *, since: datetime, to: datetime) -> Iterator[str]:
    """Yield a header's value with the instant in it moved, however it may be spelt there."""
    for spelt in _SPELLINGS:
        if spelt(since) in value:
            yield value.replace(spelt(since), spelt(to))
