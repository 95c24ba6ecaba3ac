"""Ids: a prefix and 160 random bits. Unguessable, and with no time in them, so nothing can be learnt from an id."""

from __future__ import annotations

import base64
import secrets


class RandomIds:
    """The production `IdFactory`."""

    def new(self, prefix: str) -> str:
        """Return ``prefix_`` and 32 base32 characters."""
        return f"{prefix}_{base64.b32encode(secrets.token_bytes(20)).decode().lower()}"
