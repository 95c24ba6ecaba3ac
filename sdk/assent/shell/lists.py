"""Lists as data: words with blanks between."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    """Return the words of the text."""
    return frozenset(text.split())
