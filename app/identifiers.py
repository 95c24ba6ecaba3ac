"""Ids: a prefix and 160 random bits. Unguessable, and with no time in them, so nothing can be learnt from an id."""

from __future__ import annotations

import base64
import secrets

_AT_ONCE = 128
_BYTES = 20
_LETTERS = 32  # base32 writes five bytes as eight letters


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
                letters = base64.b32encode(secrets.token_bytes(_BYTES * _AT_ONCE)).decode().lower()
                self._drawn.extend(letters[at : at + _LETTERS] for at in range(0, len(letters), _LETTERS))
