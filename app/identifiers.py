"""Ids: a prefix and 160 random bits. Unguessable, and with no time in them, so nothing can be learnt from an id."""

from __future__ import annotations

import secrets

_AT_ONCE = 128
_LETTERS = 32
_LETTER = bytes(b"abcdefghijklmnopqrstuvwxyz234567"[byte % 32] for byte in range(256))
"""Base32's letters, eight bytes for each: every letter says five random bits."""


class RandomIds:
    """The production `IdFactory`.

    Randomness is drawn for many ids at a time: each call of the kernel gives up the interpreter's lock, and getting it
    back costs a busy process far more than the random bytes.
    """

    def __init__(self) -> None:
        """Begin with none in store."""
        self._drawn: list[str] = []

    def new(self, prefix: str) -> str:
        """Return ``prefix_`` and 32 base32 letters. Any thread may call it: `list.pop` hands each id out once."""
        while True:
            try:
                return f"{prefix}_{self._drawn.pop()}"
            except IndexError:
                letters = secrets.token_bytes(_LETTERS * _AT_ONCE).translate(_LETTER).decode("ascii")
                self._drawn.extend(letters[at : at + _LETTERS] for at in range(0, len(letters), _LETTERS))
