"""Texts of people and agents, without secrets."""

from __future__ import annotations

from assent.hooks.ready.redact import redact


def clean(text: str) -> str:
    """Return a text of people or agents without what has the shape of a secret."""
    return str(redact(text)[0])
