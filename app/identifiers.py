"""Ids: a prefix, 25 random bits that all ids of one moment share, and 135 that are an id's own.

Unguessable, whichever others one knows; and no time can be read from them, nor an order: only that two were made at
once, which whoever may see both is told anyway. What is made at once stands side by side in every index of ids, and a
commit rewrites a few pages of each where wholly random ids would touch one for each row.
"""

from __future__ import annotations

import secrets
import time

_MOMENT = 0.05
"""Seconds. A few commits of a busy gateway; of 5 to 200 ms none was measured to be better."""

_SHARED = 5
_OWN = 27
_AT_ONCE = 128
_LETTER = bytes(b"abcdefghijklmnopqrstuvwxyz234567"[byte % 32] for byte in range(256))
"""Base32's letters, eight bytes for each: every letter says five random bits."""


class RandomIds:
    """The production `IdFactory`.

    Randomness is drawn for many ids at a time: each call of the kernel gives up the interpreter's lock, and getting it
    back costs a busy process far more than the random bytes.
    """

    def __init__(self) -> None:
        """Begin with none in store, and with no moment."""
        self._drawn: list[str] = []
        self._shared = ""
        self._ends = 0.0  # by the monotonic clock: one that steps back would make its moment last

    def new(self, prefix: str) -> str:
        """Return ``prefix_`` and 32 base32 letters. Any thread may call it: `list.pop` hands each id out once."""
        if (now := time.monotonic()) >= self._ends:
            self._shared, self._ends = _letters(_SHARED), now + _MOMENT
        while True:
            try:
                return f"{prefix}_{self._shared}{self._drawn.pop()}"
            except IndexError:
                drawn = _letters(_OWN * _AT_ONCE)
                self._drawn.extend(drawn[at : at + _OWN] for at in range(0, len(drawn), _OWN))


def _letters(count: int) -> str:
    return secrets.token_bytes(count).translate(_LETTER).decode("ascii")
